// Journals in memory: for tests, and for runs that need not outlive their process.
#pragma once

#include <atomic>

#include "journal/store.hpp"

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

}  // namespace soma
