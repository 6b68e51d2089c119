// Journals that somebody else keeps, wherever it likes: a host's database, a service, a test.
#pragma once

#include <mutex>
#include <set>

#include "journal/journals.hpp"

namespace soma {

// Keeps for each run a row of entries, numbered from 0. It need not know what they mean, and is not
// believed: what it gives back is checked (entry.hpp). From any thread, for one run one call at a
// time.
class EntryKeeper {
 public:
  virtual ~EntryKeeper() = default;

  // Hands over a run's entries in their order, none if there is no such run. False: no more is
  // wanted.
  using Take = bool (*)(void* user, std::string_view entry);
  virtual Status load(std::string_view run, Take take, void* user) = 0;
  // Durable when it returns, whole or not at all. Fails if the run has an entry of that number, or
  // lacks the one before it: journal_locked, as somebody else must have written.
  virtual Status append(std::string_view run, u64 number, std::string_view entry) = 0;
  virtual Result<std::vector<std::string>> runs() = 0;
  virtual Status remove(std::string_view run) = 0;  // there is one

  // Around all else that is asked of a run, but for runs(). A keeper that others use as well lets
  // one of them in: journal_locked for the rest.
  virtual Status lock(std::string_view run) = 0;
  virtual void unlock(std::string_view run) = 0;
};

// A run is open once at a time in this object. Where two of them, or two processes, share what is
// kept, it is the keeper's lock that keeps them apart. If that fails, the keeper refuses the append
// of one of them, which ends there.
class HostedJournals final : public Journals {
 public:
  explicit HostedJournals(std::unique_ptr<EntryKeeper> keeper) : keeper_(std::move(keeper)) {}

  Result<std::unique_ptr<JournalStore>> store(std::string_view run) override;
  Result<std::unique_ptr<JournalStore>> existing(std::string_view run) override;
  Status remove(std::string_view run) override;
  Result<std::vector<JournalSummary>> list() override;

  static constexpr size_t runs_max = 1'000'000;  // that are listed

 private:
  class Use;
  class Store;

  const std::unique_ptr<EntryKeeper> keeper_;
  std::mutex mutex_;  // guards:
  std::set<std::string, std::less<>> open_;
};

}  // namespace soma
