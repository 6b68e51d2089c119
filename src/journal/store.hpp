// Where the records of one run are kept. A store knows nothing of what they mean.
#pragma once

#include "journal/record.hpp"

namespace soma {

class JournalStore {
 public:
  virtual ~JournalStore() = default;

  // What it was made for; nothing, if it is new.
  virtual Result<std::optional<RunIdentity>> identity() = 0;
  // Of a new one, once. Durable when it returns.
  virtual Status bind(const RunIdentity& identity) = 0;
  // All records in the order of append, one after the other. Stops at the taker's first failure.
  using Take = Status (*)(void* user, Record record);
  virtual Status load(Take take, void* user) = 0;
  // Durable when it returns, all of them or none. After a failure nothing more is appended: what
  // the disk holds is not known any more (fail-stop). One call at a time, on any thread.
  virtual Status append(std::span<const Record> records) = 0;
};

}  // namespace soma
