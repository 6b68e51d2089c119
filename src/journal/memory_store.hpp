// Journals in memory: for tests, and for runs that need not outlive their process.
#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include "journal/journals.hpp"

namespace soma {

// What a store leaves behind. It outlives the stores, one at a time, that are opened on it, so that
// a run that was broken off can be resumed.
class JournalMemory {
 public:
  Result<std::unique_ptr<JournalStore>> open();  // journal_locked

 private:
  class Store;
  std::atomic<bool> is_open_{false};
  std::optional<RunIdentity> identity_;
  std::vector<Record> records_;
};

// The journals of many runs.
class MemoryJournals final : public Journals {
 public:
  Result<std::unique_ptr<JournalStore>> store(std::string_view run) override;
  Result<std::unique_ptr<JournalStore>> existing(std::string_view run) override;
  Status remove(std::string_view run) override;
  Result<std::vector<JournalSummary>> list() override;

 private:
  std::mutex mutex_;  // guards:
  std::map<std::string, std::unique_ptr<JournalMemory>, std::less<>> runs_;
};

}  // namespace soma
