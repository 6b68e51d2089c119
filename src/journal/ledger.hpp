// What a run's records mean: which may follow which at a site, and what became of each effect.
#pragma once

#include <map>

#include "journal/journal.hpp"

namespace soma {

// Records come in two steps. Staged, they take their place in the order, and what would contradict
// them is refused; settled, they are durable, and count. Not for several threads at once.
class Ledger {
 public:
  // All of a run's records: what a journal may cost in memory.
  static constexpr u64 bytes_max = u64{1} << 30;

  // All or none. Fails without a change if they can't follow what was staged before:
  // journal_not_waiting, journal_limit; all else is a bug of who records.
  Status stage(std::span<const Record> records);
  // Those that were staged first and are not settled, in that order. Allocates nothing.
  void settle(std::vector<Record> records);

  u64 staged() const { return staged_; }
  u64 settled() const { return records_.size(); }
  const std::vector<Record>& records() const { return records_; }

  Result<Journal::Recorded> find(const Record& attempted) const;
  Status check_rest(const Site& from, std::string_view does) const;
  const Record* end() const;
  bool is_waiting(const Site& site) const;

 private:
  static constexpr u64 none = ~u64{0};
  // What was recorded last at a site: numbers of records, and what they are, settled or not.
  struct Visit {
    u64 asked = none;      // an Intent, Suspension, Output or End
    u64 outcome = none;    // of an Intent or a Suspension; a Suspension after an Intent
    Record::Kind asked_kind = Record::Kind::Intent;
    Record::Kind outcome_kind = Record::Kind::Result;

    bool is_in_doubt() const {
      return asked != none && asked_kind == Record::Kind::Intent && outcome == none;
    }
    bool is_waiting() const {
      if (outcome != none) return outcome_kind == Record::Kind::Suspension;
      return asked != none && asked_kind == Record::Kind::Suspension;
    }
  };

  Status take(Visit& visit, const Record& record, u64 number) const;
  Status take_outcome(Visit& visit, const Record& record, u64 number) const;
  const Record* settled_record(u64 number) const;
  const Visit* visit(const Site& site) const;

  std::vector<Record> records_;            // settled
  std::map<Site, Visit> visits_;
  u64 staged_ = 0;
  u64 bytes_ = 0;
  bool has_end_ = false;
};

}  // namespace soma
