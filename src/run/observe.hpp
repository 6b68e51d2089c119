// What a run tells whoever watches it.
#pragma once

#include "base/core.hpp"

namespace soma {

struct Event {
  enum class Kind : u8 {
    RunStarted,
    RunFinished,
    RunFailed,     // error
    RunSuspended,  // error: what it waits for
    NodeStarted,
    NodeFinished,
    NodeFailed,    // error
    NodeSuspended,  // error
    EffectStarted,  // of a step: effect, turn
    EffectFinished,
    EffectFailed,   // error
    ChunkStarted,  // of a stream's node: chunk, chunks
    ChunkFinished,
    PassFinished,  // of the loop `node`: pass, ended
    ArmChosen,     // `node` decided: arm
    CacheHit,      // `node` did not run, its value came from the cache: key
    CacheMiss,     // `node` has to run: key
    NodeSkipped,   // `node` did not run, as nobody needs its value
    CacheFailed,   // the value of `node` could not be written: key, error
  };
  enum class Ended : u8 { No, BySignal, ByBound };

  Kind kind = Kind::RunStarted;
  Ended ended = Ended::No;
  i64 at_ns = 0;                    // monotonic (base/clock.hpp), on one thread never less
  u32 node = ~u32{0};               // of the plan; none: the run
  std::string_view path;            // "refine[3]/judge": the node, with passes of loops around it
  std::string_view effect;          // its name
  u32 turn = 0;                     // counted from 0
  u64 pass = 0;                     // counted from 1
  u64 chunk = 0, chunks = 0;        // counted from 0; how many, up to the next barrier
  u32 arm = 0;                      // in the order of the plan
  std::string_view key;             // of the cache, 64 hexadecimal digits
  u32 thread = 0;                   // 0: the one that waits for the run
  u64 done = 0, total = 0;          // nodes; a loop's body counts once, when the loop ends
  std::optional<i64> eta_ns;        // until the run has ended, about (forecast.hpp); none: unknown
  const Error* error = nullptr;
};
std::string_view event_name(Event::Kind kind);  // "run_started", …

// Called on the thread on which it happens. Failures of branches that a wave overrules are told as
// well. What an event points to lives until the call returns.
//
// There are two ways to be told. A run's observer is called by one thread at a time, in the order
// of times, and gets all of an event. Its probe is called on several threads at once, right where
// it happens, and gets neither `done`, `total` nor `eta_ns`; its times are the strand's own, equal
// between a node's end and the beginning of the next one behind it, and two threads' agree to about
// a tenth of a microsecond. So it adds to a node the time of two calls and of one look at a
// counter.
struct Observer {
  void (*notify)(void* user, const Event& event) = nullptr;
  void* user = nullptr;
};

}  // namespace soma
