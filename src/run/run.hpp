// A run of a plan.
//
//   SOMA_ASSIGN(std::unique_ptr<Run> run, Run::create(plan, ops, {}));
//   SOMA_TRY(run->start(Value::integer(3), nullptr));
//   SOMA_ASSIGN(Value value, run->finish());   // and so on, as often as one likes
//
// All that a run needs is made by create; a run of code that allocates nothing allocates nothing.
// A run is a state machine with a stack of its own: a host may drive it piece by piece, and however
// deep a plan nests, no thread's stack grows.
#pragma once

#include "base/cancel.hpp"
#include "base/pool.hpp"
#include "run/observe.hpp"
#include "run/ops.hpp"

namespace soma {

class Cache;
class Journal;

enum class LaunchMode : u8 {
  Adaptive,  // branches are shared if that pays, or if they may wait for each other
  Always,    // each branch of a wave has a thread of its own at once, as far as the bound goes
};

struct RunOptions {
  bool remote_inline = false;   // runs remote parts here
  Observer observer = {};
  Observer probe = {};
  Pool* pool = nullptr;         // outlives the run; none: the caller is alone
  i32 threads = 0;              // at most, the caller included; 0: the pool's bound
  LaunchMode launch = LaunchMode::Adaptive;
  Cache* cache = nullptr;       // as for use_cache
};

class Run {
 public:
  // The plan and the ops must outlive it. run_unbound_op, run_unsupported and run_no_transport,
  // each of all places at once; and what the ops say of their nodes' settings.
  static Result<std::unique_ptr<Run>> create(const Plan& plan, const Ops& ops,
                                             const RunOptions& options);
  ~Run();

  // Who is told from the next start on: one at a time, or at once (observe.hpp). busy, if the last
  // run has not ended.
  Status observe(Observer observer);
  Status probe(Observer probe);
  // From the next start on; nullptr: none. It outlives the run, or its replacement. Plans of mode
  // inference use it for values and prepared states, differentiable ones for states. busy, if the
  // last run has not ended.
  Status use_cache(Cache* cache);
  // Begins; nothing is called yet, but the cache is looked through. `cancel` and `journal` may be
  // null, and outlive the run's end. busy, if the last run has not ended.
  //
  // With a journal (one of run_identity, recording.hpp) effects are announced there before they
  // begin, and what comes of them is recorded, as is what nodes yield that may yield something else
  // another time. What is there already is not done again; a run that has ended yields its value.
  Status start(Value input, const Cancel* cancel, Journal* journal = nullptr);
  // Goes on for about so long, and for one node at least, on this thread alone, but for branches
  // that may wait for each other. True: the run has ended. Once driven so, a run does not change to
  // help.
  bool step(i64 budget_ns);
  // Runs to the end, and says how it ended. run_node_failed, run_exception, run_no_arm, run_signal,
  // run_predicate, run_input, cancelled, deadline: with details "node" and "path"; run_suspended,
  // if a step waits for an answer and nothing else is left to do. Then all values are let go of,
  // and start may be called again.
  Result<Value> finish();
  // The gradient of the last execution's input, from that of what it yielded (of several leaves a
  // map by their ids), if the plan's mode is differentiable: as often as one likes until the next
  // start, on this thread. `cancel` may be null. What is not declared as differentiable, and steps,
  // let no gradient through; null is zero. run_no_gradient, if no tape was kept, or for all nodes
  // that a gradient reaches and that have no vjp; run_gradient; of a vjp what finish says of nodes.
  Result<Value> backward(Value gradient, const Cancel* cancel);
  // Ends what has been started, at once: what steps wait for is of no interest any more, and values
  // are let go of, also those that the last execution left for backward. Calls on other threads are
  // told to stop and waited for. Fine if nothing has been started.
  void abandon();

 private:
  struct State;
  explicit Run(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace soma
