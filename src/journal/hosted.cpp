// Opens journals whose entries somebody else keeps.
//
// Problem. The keeper is code of a host: it may fail, throw entries away, or give back anything.
//
// Idea. Every reading begins with the first entry and goes through the chain of seals, so that what
// is taken is what was written, in its order. Every entry is appended with its number; who keeps
// several writers apart by that alone (a key that must be new, a file that must not be there) needs
// no locks. A failed append may have taken place or not: nothing is appended after it, and the next
// opening finds out.
//
// The identity is asked for before the records are, and then read again with them: it costs one
// entry twice, and no memory for records that nobody may want.
#include "journal/hosted.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "journal/entry.hpp"

namespace soma {

// That a run is open.
class HostedJournals::Use {
 public:
  static Result<Use> begin(HostedJournals& all, std::string_view run) {
    SOMA_TRY(check_run_id(run));
    SOMA_ASSIGN(Use use, enter(all, run));
    SOMA_TRY(use.keeper().lock(use.run()));
    use.is_locked_ = true;
    return use;
  }
  Use(Use&& other) noexcept
      : all_(std::exchange(other.all_, nullptr)), place_(other.place_),
        is_locked_(other.is_locked_) {}
  Use& operator=(Use&&) = delete;
  ~Use() {
    if (!all_) return;
    if (is_locked_) keeper().unlock(run());
    const std::lock_guard lock(all_->mutex_);
    all_->open_.erase(place_);
  }
  const std::string& run() const { return *place_; }
  EntryKeeper& keeper() const { return *all_->keeper_; }

 private:
  using Place = std::set<std::string, std::less<>>::iterator;
  Use(HostedJournals& all, Place place) : all_(&all), place_(place) {}
  static Result<Use> enter(HostedJournals& all, std::string_view run) {
    const std::lock_guard lock(all.mutex_);
    const auto [place, is_new] = all.open_.emplace(run);
    if (is_new) return Use(all, place);
    return fail(Reason::journal_locked, "the journal of run {} is open already; a run has one "
                "writer", quoted(run, 200));
  }

  HostedJournals* all_;
  Place place_;
  bool is_locked_ = false;
};

class HostedJournals::Store final : public JournalStore {
 public:
  explicit Store(Use use) : use_(std::move(use)) {}

  Result<std::optional<RunIdentity>> identity() override;
  Status bind(const RunIdentity& identity) override;
  Status load(Take take, void* user) override;
  Status append(std::span<const Record> records) override;

 private:
  class Reading;
  Status append_entry(std::string entry);

  Use use_;
  std::optional<RunIdentity> identity_;  // none: new, or not looked at yet
  // Of what has been read and written; none: not all has been read, or an append failed.
  std::optional<EntryChain> chain_;
};

// One way through a run's entries.
class HostedJournals::Store::Reading {
 public:
  // Without a taker, only up to the first entry.
  Reading(const Store& store, Take taker, void* user)
      : store_(store), take_(taker), user_(user) {}

  Status read() {
    Status loaded = store_.use_.keeper().load(store_.use_.run(), take_entry, this);
    if (is_out_of_memory_) throw std::bad_alloc();
    if (!outcome_.ok()) return std::move(outcome_).error();
    return loaded;
  }
  std::optional<RunIdentity> identity;
  EntryChain chain;

 private:
  // A failure must not be lost in the keeper, which may be code that can't pass it on.
  static bool take_entry(void* self, std::string_view entry) {
    auto& reading = *static_cast<Reading*>(self);
    if (reading.is_over_) return false;
    try {
      reading.outcome_ = reading.take(entry);
    } catch (const std::bad_alloc&) {
      reading.is_out_of_memory_ = true;
    }
    reading.is_over_ = !reading.outcome_.ok() || reading.is_out_of_memory_ || !reading.take_;
    return !reading.is_over_;
  }

  Status take(std::string_view entry) {
    const bool is_first = chain.entries() == 0;
    Status taken = is_first ? take_first(entry) : chain.read_next(entry, take_, user_);
    if (taken.ok()) return taken;
    return std::move(taken).error().context(
        text("entry {} of run {}", chain.entries(), quoted(store_.use_.run(), 200)));
  }

  Status take_first(std::string_view entry) {
    SOMA_ASSIGN(identity, chain.read_first(entry));
    if (identity->run != store_.use_.run()) {
      return fail(Reason::journal_corrupt, "it is of the journal of run {}; each entry must come "
                  "back under the name that it was given with", quoted(identity->run, 200));
    }
    if (!store_.identity_ || store_.identity_ == identity) return {};
    return fail(Reason::journal_corrupt, "it is not what it was a moment ago; somebody has changed "
                "the journal, so begin again");
  }

  const Store& store_;
  const Take take_;
  void* const user_;
  Status outcome_;
  bool is_over_ = false, is_out_of_memory_ = false;
};

Result<std::optional<RunIdentity>> HostedJournals::Store::identity() {
  if (identity_) return identity_;
  Reading reading(*this, nullptr, nullptr);
  SOMA_TRY(reading.read());
  identity_ = std::move(reading.identity);
  return identity_;
}

Status HostedJournals::Store::bind(const RunIdentity& wanted) {
  SOMA_ASSIGN(const std::optional<RunIdentity> bound, identity());
  if (bound || wanted.run != use_.run()) {
    return fail(Reason::internal, "a journal is bound to one run, its own, once");
  }
  chain_.emplace();
  SOMA_TRY(append_entry(chain_->write_first(wanted)));
  identity_ = wanted;
  return {};
}

Status HostedJournals::Store::load(Take take, void* user) {
  chain_.reset();
  Reading reading(*this, take, user);
  SOMA_TRY(reading.read());
  if (!reading.identity) {
    return fail(Reason::journal_corrupt, "the journal of run {} has no entries; each must be there "
                "until it is removed", quoted(use_.run(), 200));
  }
  identity_ = std::move(reading.identity);
  chain_ = std::move(reading.chain);
  return {};
}

Status HostedJournals::Store::append(std::span<const Record> records) {
  if (!chain_) return fail(Reason::internal, "a journal is read before it is written, and closed "
                           "after a failure");
  if (records.empty()) return {};
  return append_entry(chain_->write_next(records));
}

// The last that was written.
Status HostedJournals::Store::append_entry(std::string entry) {
  const u64 number = chain_->entries() - 1;
  // Until it is known to be there.
  std::optional<EntryChain> written = std::exchange(chain_, std::nullopt);
  SOMA_TRY(use_.keeper().append(use_.run(), number, entry));
  chain_ = std::move(written);
  return {};
}

Result<std::unique_ptr<JournalStore>> HostedJournals::store(std::string_view run) {
  SOMA_ASSIGN(Use use, Use::begin(*this, run));
  return std::unique_ptr<JournalStore>(std::make_unique<Store>(std::move(use)));
}

Result<std::unique_ptr<JournalStore>> HostedJournals::existing(std::string_view run) {
  SOMA_ASSIGN(std::unique_ptr<JournalStore> opened, store(run));
  SOMA_ASSIGN(const std::optional<RunIdentity> identity, opened->identity());
  if (identity) return opened;
  return fail(Reason::journal_not_found, "there is no journal of run {}", quoted(run, 200));
}

// Also one that can't be read.
Status HostedJournals::remove(std::string_view run) {
  SOMA_ASSIGN(const Use use, Use::begin(*this, run));
  bool is_there = false;
  Status looked = keeper_->load(run, [](void* found, std::string_view) {
    *static_cast<bool*>(found) = true;
    return false;
  }, &is_there);
  if (!looked.ok()) return looked;
  if (is_there) return keeper_->remove(run);
  return fail(Reason::journal_not_found, "there is no journal of run {} to remove",
              quoted(run, 200));
}

Result<std::vector<JournalSummary>> HostedJournals::list() {
  SOMA_ASSIGN(std::vector<std::string> names, keeper_->runs());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() > runs_max) {
    return fail(Reason::journal_limit, "there are {} journals, and at most {} are listed; remove "
                "those of runs that have ended", names.size(), runs_max);
  }
  std::vector<JournalSummary> runs;
  for (const std::string& name : names) runs.push_back(summary_of(name, existing(name)));
  return runs;
}

}  // namespace soma
