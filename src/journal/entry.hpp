// A run's journal as entries: bytes that somebody else keeps, one entry for each append.
#pragma once

#include "journal/record.hpp"

namespace soma {

// Writes the entries of one journal in their order, or reads them, the first with `first`. After an
// error it is of no use any more.
class EntryChain {
 public:
  // The entry that says whose journal it is.
  std::string write_first(const RunIdentity& identity);
  // One that holds these, at least one: whoever keeps it keeps all of them or none.
  std::string write_next(std::span<const Record> records);

  // journal_corrupt for whatever write would not have written at this place, journal_version.
  Result<RunIdentity> read_first(std::string_view entry);
  // Its records one by one. Stops at the taker's first failure.
  using Take = Status (*)(void* user, Record record);
  Status read_next(std::string_view entry, Take take, void* user);

  u64 entries() const { return entries_; }  // that were written or read

 private:
  std::string seal_;   // of the last record, or of the identity
  u64 entries_ = 0;
  u64 records_ = 0;
};

}  // namespace soma
