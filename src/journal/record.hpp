// What a journal holds: what a run has done, and is about to do, that must not be done twice.
#pragma once

#include "base/core.hpp"

namespace soma {

// A place in a run where something with an effect happens, the same in every attempt at the run.
struct Site {
  std::string path;     // of the node, with the passes of the loops around it: "refine[3]/judge"
  u32 turn = 0;         // of the step, counted from 0; of an output in a stream: its chunk
  u32 index = 0;        // of the effect in its turn
  auto operator<=>(const Site&) const = default;
};
std::string place_text(const Site& site);  // "refine[3]/judge#0.2": turn and index
std::string site_text(const Site& site);  // for messages: "'refine[3]/judge' (turn 0, effect 2)"

struct Record {
  enum class Kind : u8 {
    Intent,      // an effect is about to be performed; content: what is asked for
    Result,      // it was performed; content: what came of it
    Failure,     // it was attempted and did not happen, so it may be asked for again; content: why
    Suspension,  // the run waits for an answer; content: the reason. Also after an Intent in doubt
    Answer,      // content: the answer
    Output,      // what a node yielded that would yield something else another time; content: that
    End,         // of the run, at a site without path; content: what it yielded
  };

  Kind kind = Kind::Intent;
  Site site;
  std::string effect;   // Intent, Output: its name, "std.exec"
  std::string digest;   // Intent, Suspension, Output: of name and what is asked for (hash.hpp)
  std::string content;  // canonical JSON
  i64 at_ns = 0;        // wall clock, since 1970: to show, never to decide by
  bool operator==(const Record&) const = default;

  // Path, effect, digest and content together: what one record may cost a run that reads it.
  static constexpr u64 bytes_max = u64{64} << 20;
  u64 bytes() const { return site.path.size() + effect.size() + digest.size() + content.size(); }
};
i64 wall_clock_ns();  // for at_ns
std::string_view record_kind_name(Record::Kind kind);  // "intent", …
std::optional<Record::Kind> record_kind_by_name(std::string_view name);

// Which run a journal belongs to, for good.
struct RunIdentity {
  std::string run;      // its id: 1 to 200 bytes of UTF-8 without control characters
  std::string plan;     // digests of the plan and of the input
  std::string input;
  bool operator==(const RunIdentity&) const = default;
};
Status check_run_id(std::string_view run);  // journal_run_id

}  // namespace soma
