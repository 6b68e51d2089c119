// A strand: one thread's way through a part of a plan.
#pragma once

#include "run/node_call.hpp"
#include "run/run_state.hpp"
#include "run/step_run.hpp"

namespace soma {

class Strand {
 public:
  // `thread`: for events; 0 is the one that waits for the run.
  Strand(RunState& run, u32 thread);

  // What it has heard of the bell, before the part to walk through was claimed; then that part.
  void listen_to(u32 rings);
  // How many walks wait for this one on its thread's stack.
  void set_depth(u32 depth) { depth_ = depth; }
  void begin(const Region& region, bool in_loop);

  enum class Outcome : u8 {
    Done,     // behind the part
    Paused,   // the time is over
    Parked,   // it waits for something, and will be woken (crew.hpp); then it walks on
    Failed,   // take_failure()
    Dropped,  // a branch before this part failed: nobody needs it any more
  };
  // `pause_at_ns`: by the monotonic clock; 0: never. `is_caller`: on the thread that waits for the
  // run.
  Outcome walk(i64 pause_at_ns, bool is_caller);
  // In the middle, for good; also what it was reading, if it ended by an exception.
  void abandon() {
    step_.reset();
    call_.let_go();
  }
  // Its node is the first of which the failure depends, for the order of errors.
  Wave::Failure take_failure() { return *std::exchange(failure_, std::nullopt); }

  // ---- expose.cpp: for the sentinel, from another thread
  // True: it is in the same call as the last time, as far as one can tell.
  bool expose_if_calling();

  // ---- The crew's, about strands that work on a share of another strand's wave
  struct Job {
    Wave* wave = nullptr;
    Share share = {};
    Hand hand = Hand::Caller;       // a caller's strand is walked by the caller only
  };
  Job job = {};
  // Guarded by the crew's mutex, all four.
  enum class Parking : u8 { No, Parked, Ready } parking = Parking::No;
  bool is_woken = false;
  u32 list_place = 0;               // in the list of those that are parked, or at work
  Strand* next_ready = nullptr;

 private:
  friend class NodeCall;
  friend class StepCall;
  // A region that the walk is in; the innermost last.
  struct Frame {
    Region region;
    u32 construct = Course::whole;  // whose region it is, if it is one's
    u32 stop = 0;                   // the construct's or the wave's own
    Wave* wave = nullptr;           // that it is a share of
    Share share = {};               // … and is at work on, unless that has ended
    bool has_share = false;
    const Wave* dropped_for = nullptr;  // the wave has been dropped, as that one failed
  };
  enum class Next : u8 { Go, Paused, Parked, Ended };

  // ---- strand.cpp
  Next step();
  Next call_until(u32 end);
  u32 call_all(u32 node, u32 end, Status& failed);
  u32 call_all_probed(u32 node, u32 end, Status& failed);
  Next call_watched_until(u32 end);
  bool attend();                    // whether the bell has rung; afterwards frames may change
  Next answer_bell();
  Next stop_as_told();
  Next stop_as_asked();
  Next enter(const Stop& stop);
  Next leave_region();
  Next fail_at(u32 node, Error error);
  Next suspend_at(u32 node, Error error);
  Next end_at(Event::Kind kind, u32 told, Wave::Failure failure);
  Next drop_for(const Wave& failed);
  Next stop_walk(const Wave* failed);
  Next exception();
  Status check() const;             // whether the caller wants it to go on
  Status check_at(u32 node) const;  // and all others
  Status check_in_call();           // the same for a node, which may stop because of it
  void tell(Event::Kind kind, u32 node, const Error* error = nullptr);
  void settle(u64 nodes);           // counts them as done, unless a loop will
  void push(const Region& region, u32 construct, u32 stop, u32 first_stop);
  u32 place() const;                // a node of the region that the walk is in
  const Course& course() const { return run_.course; }

  // ---- loop.cpp
  Next enter_loop(const Stop& stop);
  Next finish_pass();
  Result<bool> wants_to_stop(const Construct& loop, u64 pass) const;

  // ---- branch.cpp
  Next enter_branch(const Stop& stop);

  // ---- step.cpp
  Next enter_step(const Stop& stop);
  Next leave_step(const Stop& stop, u32 chosen);

  // ---- share.cpp
  Next enter_wave(const Stop& stop);
  Next enter_stream(const Stop& stop);
  Next share(const Stop& stop);
  Next next_share();
  Next leave_wave(Crew::Closed closed);

  // ---- expose.cpp
  void expose(u32 node);

  RunState& run_;
  NodeCall call_;
  const u32 thread_;
  TickClock clock_;                 // of what the probe is told
  std::mutex mutex_;                // guards the frames against the sentinel: see expose.cpp
  std::vector<Frame> frames_;
  u32 node_ = 0;                    // the next to call
  u32 next_ = 0;                    // the next stop
  u32 loops_ = 0;                   // around the walk, as far as it matters
  u32 heard_ = 0;                   // rings of the bell
  u32 depth_ = 0;
  u32 told_node_ = no_node;         // that was told to stop
  u32 seen_node_ = no_node;         // the sentinel's: that was being called at its last look
  i64 pause_at_ns_ = 0;
  bool is_caller_ = false;
  std::unique_ptr<StepRun> step_;   // the one that the walk is in
  Outcome outcome_ = Outcome::Done;
  std::optional<Wave::Failure> failure_;
};

}  // namespace soma
