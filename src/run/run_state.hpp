// What all threads of a run share.
#pragma once

#include <mutex>

#include "base/cancel.hpp"
#include "base/fence.hpp"
#include "base/tick_clock.hpp"
#include "run/binding.hpp"
#include "run/crew.hpp"
#include "run/forecast.hpp"
#include "run/observe.hpp"
#include "run/streams.hpp"

namespace soma {

class Journal;
class Prepared;
class Tape;

struct RunState {
  RunState(const Plan& the_plan, Pool* pool, LaunchMode launch, i32 threads)
      : plan(the_plan),
        course(plan),
        values(plan, course),
        streams(*this, values),
        passes(course.constructs().size()),
        crew(*this, pool, launch, threads) {}

  const Plan& plan;
  Course course;
  Values values;
  Streams streams;
  std::optional<Binding> binding;
  std::vector<u64> passes;          // by construct: in which pass a loop is
  const Cancel never;               // in place of none
  const Cancel* cancel = &never;
  Journal* journal = nullptr;       // of this execution
  std::string id;                   // of this execution, which no other has
  Tape* tape = nullptr;             // of all executions; null: none is kept
  Prepared* prepared = nullptr;     // null: no op prepares states
  Crew crew;                        // goes first, as it looks into all of the above

  // What every other thread than the one that waits for the run asks of `cancel`.
  Status check_elsewhere() const;
  // Between a strand's note where it is and its look at the bell (expose.cpp).
  void fence() const {
    if (crew.has_light_fence()) {
      fence_lightly();
    } else {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
  }

  // Where a node is: the passes of the loops around it, those with their ids as the beginning of a
  // path ("refine[3]/"), and the whole path.
  std::vector<u64> passes_around(u32 node) const;
  std::string loops_around(u32 node) const;
  std::string path(u32 node) const;
  // A node's failure, as the run reports it.
  Error failure(u32 node, Error cause) const;
  // Called in a catch clause.
  Error exception(u32 node) const;
  // The caller's wish, which was heard at this node.
  Error asked_to_stop(u32 node) const;
  // The same error with details "node" and "path".
  Error at(u32 node, Error error) const;

  // Whether code between nodes has more to do than to look at a flag.
  bool needs_watch() const {
    return observer.notify || cancel->needs_clock() || crew.is_measuring() ||
           !crew.has_light_fence();
  }

  // ---- Events; none are made unless somebody watches
  Observer observer, probe;         // change between executions only
  TickOrigin probed_since;          // by which clocks tell the probe when something happened
  std::unique_ptr<Forecast> forecast;  // while somebody watches
  std::atomic<u64> done{0};         // nodes
  bool is_watched() const { return observer.notify || probe.notify; }
  void notify(Event event);

 private:
  std::mutex observing_;            // guards the observer's calls, and:
  i64 last_event_ns_ = 0;
};

}  // namespace soma
