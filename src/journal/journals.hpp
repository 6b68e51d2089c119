// Where many runs have their journals, each under its run's id.
#pragma once

#include "journal/journal.hpp"

namespace soma {

// How a run stands, for who looks from outside.
struct JournalSummary {
  enum class State : u8 {
    InUse,       // somebody has it open: nothing more is known
    Broken,      // it neither ended nor waits: it was broken off, and can be resumed
    Waiting,     // for answers
    Ended,
    Unreadable,  // problem says why
  };
  State state = State::Unreadable;
  RunIdentity identity;           // InUse, Unreadable: only the run's id
  std::string problem;            // as an error says it
  u64 records = 0;
  i64 last_ns = 0;                // when the last of them was made
  std::vector<Record> waiting;    // suspensions without an answer
};
std::string_view journal_state_name(JournalSummary::State state);  // "in_use", "broken", …

// From any thread.
class Journals {
 public:
  virtual ~Journals() = default;

  virtual Result<std::unique_ptr<JournalStore>> store(std::string_view run) = 0;  // new, if missing
  virtual Result<std::unique_ptr<JournalStore>> existing(std::string_view run) = 0;  // or
                                                                                // journal_not_found
  virtual Status remove(std::string_view run) = 0;  // journal_not_found, journal_locked
  virtual Result<std::vector<JournalSummary>> list() = 0;  // in the order of their ids
};

// Of a store that could be opened, or of why it could not.
JournalSummary summary_of(std::string_view run, Result<std::unique_ptr<JournalStore>> store);

// Appends an answer to what waits at `path`, or at a place there ("refine[3]/ask#0.1", turn and
// index); empty: at the only place where something does.
// journal_not_waiting.
Status answer_journal(Journal& journal, std::string_view path, const std::string& content);

// A run's journal as lines of JSON, and summaries as JSON: see soma/journal.h.
std::string journal_lines(const Journal& journal);
std::string summaries_json(std::span<const JournalSummary> runs);

}  // namespace soma
