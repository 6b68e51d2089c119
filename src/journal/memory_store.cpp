// Keeps a run's records in a vector.
#include "journal/memory_store.hpp"

#include <algorithm>

#include "base/text.hpp"

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

// ---- Many runs

namespace {

Error no_run(std::string_view run) {
  return fail(Reason::journal_not_found, "there is no journal of run {}", quoted(run, 200));
}

}  // namespace

Result<std::unique_ptr<JournalStore>> MemoryJournals::store(std::string_view run) {
  SOMA_TRY(check_run_id(run));
  const std::lock_guard lock(mutex_);
  std::unique_ptr<JournalMemory>& memory = runs_[std::string(run)];
  if (!memory) memory = std::make_unique<JournalMemory>();
  return memory->open();
}

Result<std::unique_ptr<JournalStore>> MemoryJournals::existing(std::string_view run) {
  const std::lock_guard lock(mutex_);
  const auto at = runs_.find(run);
  if (at == runs_.end()) return no_run(run);
  return at->second->open();
}

Status MemoryJournals::remove(std::string_view run) {
  const std::lock_guard lock(mutex_);
  const auto at = runs_.find(run);
  if (at == runs_.end()) return no_run(run);
  SOMA_ASSIGN(std::unique_ptr<JournalStore> alone, at->second->open());
  alone.reset();
  runs_.erase(at);
  return {};
}

Result<std::vector<JournalSummary>> MemoryJournals::list() {
  const std::lock_guard lock(mutex_);
  std::vector<JournalSummary> runs;
  for (const auto& [run, memory] : runs_) runs.push_back(summary_of(run, memory->open()));
  return runs;
}

}  // namespace soma
