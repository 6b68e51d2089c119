// Keeps a run's records in a vector.
#include "journal/memory_store.hpp"

#include <algorithm>

namespace soma {

class JournalMemory::Store final : public JournalStore {
 public:
  explicit Store(JournalMemory& memory)
      : memory_(memory), is_first_(!memory.is_open_.exchange(true)) {}
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store() override {
    if (is_first_) memory_.is_open_.store(false);
  }
  bool is_first() const { return is_first_; }

  Result<std::optional<RunIdentity>> identity() override { return memory_.identity_; }

  Status bind(const RunIdentity& identity) override {
    if (memory_.identity_) return fail(Reason::internal, "a journal is bound to one run, once");
    memory_.identity_ = identity;
    return {};
  }

  Status load(Take take, void* user) override {
    for (const Record& record : memory_.records_) SOMA_TRY(take(user, record));
    return {};
  }

  // All are copied before any is kept: there may be no memory for one of them.
  Status append(std::span<const Record> records) override {
    std::vector<Record> copies(records.begin(), records.end());
    std::vector<Record>& kept = memory_.records_;
    const size_t needed = kept.size() + copies.size();
    if (kept.capacity() < needed) kept.reserve(std::max(needed, 2 * kept.capacity()));
    for (Record& record : copies) kept.push_back(std::move(record));
    return {};
  }

 private:
  JournalMemory& memory_;
  const bool is_first_;
};

Result<std::unique_ptr<JournalStore>> JournalMemory::open() {
  auto store = std::make_unique<Store>(*this);
  if (!store->is_first()) {
    return fail(Reason::journal_locked, "the journal is open already; a run has one writer");
  }
  return std::unique_ptr<JournalStore>(std::move(store));
}

}  // namespace soma
