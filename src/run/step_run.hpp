// A step while it runs: turn by turn its code says what it wants, and is told what came of it.
#pragma once

#include "run/effect.hpp"
#include "run/ops.hpp"

namespace soma {

class Strand;
struct RunState;

// What the code of a step sees in one turn.
class StepCall {
 public:
  const PlanNode& node() const;
  std::string path() const;
  u32 turn() const;                     // counted from 0
  const Value& input() const;           // the same in all turns
  // What came of the effects of the turn before, in the order in which they were asked for; and of
  // all turns before.
  std::span<const Value> results() const;
  std::span<const std::vector<Value>> history() const;
  // Whether to go on, as in NodeCall.
  Status check() const;

  // What comes next. The last one counts; none: the step is done and yields null.
  void done(Value value);
  void await(std::vector<EffectRequest> requests);   // all at the same time; then another turn
  void hand_over(std::string target, Value value);   // to one of the node's hand-offs

 private:
  friend class StepRun;
  explicit StepCall(class StepRun& run) : run_(run) {}
  StepRun& run_;
};

class StepRun {
 public:
  static constexpr i64 turns_max = 24;  // of a node that does not say

  // The strand waits for it, and is woken when what it waits for has happened.
  StepRun(RunState& run, Strand& strand, u32 node, StepCode code, Value input);
  StepRun(const StepRun&) = delete;
  StepRun& operator=(const StepRun&) = delete;
  ~StepRun();                           // nobody is told of effects that are under way

  enum class State : u8 { Waiting, Done, HandedOver };
  // As far as it can. Waiting: again once the strand has been woken. step_turns, step_no_effects,
  // step_no_handler, and what the code or an effect fails with.
  Result<State> go_on();
  // Done, HandedOver.
  Value take_value() { return std::move(decision_.value); }
  const std::string& target() const { return decision_.target; }

 private:
  friend class StepCall;
  struct Decision {
    enum class Kind : u8 { Done, Await, HandOver } kind = Kind::Done;
    Value value;
    std::string target;
    std::vector<EffectRequest> requests;
  };

  Status take_turn();
  Status begin_effects();
  Status collect();
  void drop_effects();
  static void ended(void* self, Effect& effect);

  RunState& run_;
  Strand& strand_;
  const u32 node_;
  const StepCode code_;
  const Value input_;
  Decision decision_;
  std::vector<std::vector<Value>> history_;
  std::vector<Effect*> effects_;        // of this turn
  std::atomic<u32> pending_{0};         // of them
};

}  // namespace soma
