// Who may open a run's journal: a lock that belongs to an open file, not to a process.
#pragma once

#include "base/core.hpp"

namespace soma {

// Held until destruction, or until the process ends however it ends.
class JournalLock {
 public:
  enum class Use : u8 {
    Write,  // one at a time
    Look,   // also one at a time, and not while somebody writes; a writer waits for it
  };
  // `path` is a file for this alone; it is made if it is missing. journal_locked, journal_store.
  static Result<JournalLock> take(const std::string& path, Use use);
  JournalLock(JournalLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  JournalLock& operator=(JournalLock&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~JournalLock();

 private:
  explicit JournalLock(int file) : file_(file) {}
  int file_;
};

}  // namespace soma
