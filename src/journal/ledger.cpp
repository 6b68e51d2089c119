// Keeps a run's records in order and by site, and holds them to the order in which they make sense.
//
// Problem. What is being written must not be answered with yet: a result is a result once it is on
// the disk. But what comes meanwhile must be checked against it, or two answers to one question
// could both be taken.
//
// Idea. Each record gets its number when it is staged, and the table of sites is brought up to date
// at once. Reading it back ignores all numbers that are not settled. Nothing is ever undone: if a
// write fails, nothing is staged after it, and what was staged stays invisible.
//
// At a site follow each other: Intent, then Result or Failure, and after a Failure, or if the
// outcome was never recorded, the same Intent again; or Suspension, then Answer; or one Output. If
// the outcome of an Intent was never recorded, a Suspension may follow it: somebody is asked what
// it was. End is the last record of all. Journals come from files, so what is read is held to that
// as well.
#include "journal/ledger.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace soma {

namespace {

using Kind = Record::Kind;
using Recorded = Journal::Recorded;

constexpr size_t shown_bytes = 160;

bool is_outcome(Kind kind) {
  return kind == Kind::Result || kind == Kind::Failure || kind == Kind::Answer;
}

Error misplaced(const Record& record, std::string_view why) {
  return fail(Reason::internal, "at {} a record '{}' {}", site_text(record.site),
              record_kind_name(record.kind), why);
}

// An effect, a suspension or an output, as a message names it.
std::string described(const Record& record) {
  std::string words;
  if (record.kind == Kind::Suspension) {
    words = text("a suspension, {}", quoted(record.content, shown_bytes));
  } else if (record.kind == Kind::Output) {
    words = text("an output of {}", quoted(record.effect));
    if (!record.content.empty()) words += text(", {}", quoted(record.content, shown_bytes));
  } else {
    words = text("the effect {} with {}", quoted(record.effect),
                 quoted(record.content, shown_bytes));
  }
  return text("{} (digest {})", words, quoted(record.digest));
}

// `attempted`, and how a sentence about the run says it.
Error diverged(const Record& recorded, std::string_view attempted, std::string_view says) {
  const std::string was = described(recorded);
  return fail(Reason::journal_divergence,
              "at {} the journal has {}, and now the run {}; a step has to ask for the same "
              "whenever it is given the same: undo what has changed, or start a new run",
              site_text(recorded.site), was, says)
      .with("site", site_text(recorded.site))
      .with("recorded", was)
      .with("attempted", attempted);
}

}  // namespace

Status Ledger::stage(std::span<const Record> records) {
  std::map<Site, Visit> changed;
  u64 number = staged_, bytes = bytes_;
  bool has_end = has_end_;
  for (const Record& record : records) {
    if (record.bytes() > Record::bytes_max) {
      return fail(Reason::journal_limit,
                  "a record at {} has {} bytes, a journal takes {}; keep what is so large in a "
                  "file, and record its name",
                  site_text(record.site), record.bytes(), Record::bytes_max);
    }
    bytes += record.bytes() + sizeof(Record);
    if (bytes > bytes_max) {
      return fail(Reason::journal_limit,
                  "the records of this run have {} bytes with the one at {}, and a journal holds "
                  "{}; split the work into several runs",
                  bytes, site_text(record.site), bytes_max);
    }
    if (has_end) {
      if (record.kind != Kind::Answer) return misplaced(record, "follows the end of the run");
      return fail(Reason::journal_not_waiting, "the run has ended, so nothing waits at {}",
                  site_text(record.site));
    }
    const auto [place, is_new] = changed.try_emplace(record.site);
    if (const Visit* before = is_new ? visit(record.site) : nullptr) place->second = *before;
    SOMA_TRY(take(place->second, record, number));
    has_end = record.kind == Kind::End;
    ++number;
  }
  if (records_.capacity() < number) {
    records_.reserve(std::max(static_cast<size_t>(number), 2 * records_.capacity()));
  }

  // From here on nothing fails.
  while (!changed.empty()) {
    auto node = changed.extract(changed.begin());
    const auto place = visits_.find(node.key());
    if (place == visits_.end()) {
      visits_.insert(std::move(node));
    } else {
      place->second = node.mapped();
    }
  }
  staged_ = number;
  bytes_ = bytes;
  has_end_ = has_end;
  return {};
}

Status Ledger::take(Visit& visit, const Record& record, u64 number) const {
  if ((record.kind == Kind::End) != record.site.path.empty()) {
    return misplaced(record, "has a path, or lacks one, where it may not");
  }
  if (is_outcome(record.kind)) return take_outcome(visit, record, number);
  if (record.kind == Kind::Suspension && visit.is_in_doubt()) {
    visit.outcome = number;
    visit.outcome_kind = Kind::Suspension;
    return {};
  }
  if (visit.asked != none) {
    const bool is_open = visit.is_in_doubt() || visit.outcome_kind == Kind::Failure ||
                         visit.outcome_kind == Kind::Suspension;
    const bool is_again = record.kind == Kind::Intent && visit.asked_kind == Kind::Intent;
    if (!is_again || !is_open) return misplaced(record, "follows others");
    const Record* before = settled_record(visit.asked);
    if (before && (before->effect != record.effect || before->digest != record.digest)) {
      return misplaced(record, "differs from the one before");
    }
  }
  visit = {.asked = number, .asked_kind = record.kind};
  return {};
}

Status Ledger::take_outcome(Visit& visit, const Record& record, u64 number) const {
  const bool is_answer = record.kind == Kind::Answer;
  const bool is_open = is_answer ? visit.is_waiting() : visit.is_in_doubt();
  if (!is_open && is_answer) {
    const bool was_answered = visit.outcome != none && visit.outcome_kind == Kind::Answer;
    return fail(Reason::journal_not_waiting,
                "nothing waits for an answer at {}: it was {}; see where the run waits",
                site_text(record.site), was_answered ? "answered before" : "never suspended there");
  }
  if (!is_open) return misplaced(record, "follows no intent");
  visit.outcome = number;
  visit.outcome_kind = record.kind;
  return {};
}

void Ledger::settle(std::vector<Record> records) {
  for (Record& record : records) records_.push_back(std::move(record));
}

const Record* Ledger::settled_record(u64 number) const {
  return number < records_.size() ? &records_[static_cast<size_t>(number)] : nullptr;
}

const Ledger::Visit* Ledger::visit(const Site& site) const {
  const auto place = visits_.find(site);
  return place == visits_.end() ? nullptr : &place->second;
}

Result<Recorded> Ledger::find(const Record& attempted) const {
  const Visit* seen = visit(attempted.site);
  const Record* asked = seen ? settled_record(seen->asked) : nullptr;
  if (!asked) return Recorded{};
  if (asked->kind != attempted.kind || asked->effect != attempted.effect ||
      asked->digest != attempted.digest) {
    const std::string is = described(attempted);
    return diverged(*asked, is, "asks for " + is);
  }
  if (asked->kind == Kind::Output) return Recorded{Recorded::State::Done, asked->content};
  const Record* outcome = settled_record(seen->outcome);
  if (outcome && outcome->kind == Kind::Failure) return Recorded{};
  const bool is_answered = outcome && outcome->kind != Kind::Suspension;
  if (is_answered) return Recorded{Recorded::State::Done, outcome->content};
  const bool waits = outcome || asked->kind == Kind::Suspension;
  return Recorded{waits ? Recorded::State::Waiting : Recorded::State::InDoubt, asked->content};
}

Status Ledger::check_rest(const Site& from, std::string_view does) const {
  const auto place = visits_.lower_bound(from);
  if (place == visits_.end() || place->first.path != from.path || place->first.turn != from.turn) {
    return {};
  }
  const Record* asked = settled_record(place->second.asked);
  if (!asked) return {};
  return diverged(*asked, does, text("{} there", does));
}

// It is the last record, and nothing follows it.
const Record* Ledger::end() const {
  if (records_.empty() || records_.back().kind != Kind::End) return nullptr;
  return &records_.back();
}

bool Ledger::is_waiting(const Site& site) const {
  const Visit* seen = visit(site);
  if (!seen || !seen->is_waiting()) return false;
  return settled_record(seen->outcome != none ? seen->outcome : seen->asked) != nullptr;
}

}  // namespace soma
