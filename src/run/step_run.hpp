// A step while it runs: turn by turn its code says what it wants, and is told what came of it.
#pragma once

#include "run/countdown.hpp"
#include "run/observe.hpp"
#include "run/ops.hpp"
#include "run/recording.hpp"

namespace soma {

class StepRun;
class Strand;
struct RunState;

// A step that another one has begun.
struct ChildRequest {
  std::string label;                    // its name among its siblings: an id
  std::string op;                       // one that works in turns
  u32 op_version = 1;
  Value config;
  Value input;
  std::optional<i64> max_turns = {};
};
enum class ChildJoin : u8 {
  All,    // the results are what each of them yielded; the first declared that fails is the failure
  First,  // the result is {"child": label, "value": …} of the first that yields: it is enough
};

// What the code of a step sees in one turn.
class StepCall {
 public:
  const PlanNode& node() const;         // of a child: what was asked for, with its label as id
  const std::string& path() const;      // "refine[3]/ask", of a child "refine[3]/ask/label"
  u32 turn() const;                     // counted from 0
  const Value& input() const;           // the same in all turns
  // What came of the turn before: of its effects or children, in the order in which they were asked
  // for, or the answer; and of all turns before.
  std::span<const Value> results() const;
  std::span<const std::vector<Value>> history() const;
  // Whether to go on, as in NodeCall.
  Status check() const;

  // What comes next. The last one counts; none: the step is done and yields null.
  void done(Value value);
  void await(std::vector<EffectRequest> requests);   // all at the same time; then another turn
  void spawn(std::vector<ChildRequest> children, ChildJoin join);  // the same with steps
  void suspend(Value reason);                        // until somebody answers; then another turn
  void hand_over(std::string target, Value value);   // to one of the node's hand-offs

 private:
  friend class StepRun;
  explicit StepCall(StepRun& run) : run_(run) {}
  StepRun& run_;
};

class StepRun {
 public:
  static constexpr i64 turns_max = 24;  // of a node that does not say
  static constexpr u32 depth_max = 8;   // children of children

  // Who asks for what: a node of the plan, or a child of one.
  struct Who {
    u32 index = no_node;                // of the plan's node, also for a child
    const PlanNode* node = nullptr;
    std::string path;
    u32 depth = 0;
  };
  // The strand waits for it, and is woken when what it waits for has happened.
  StepRun(RunState& run, Strand& strand, Who who, StepCode code, Value input);
  StepRun(const StepRun&) = delete;
  StepRun& operator=(const StepRun&) = delete;
  ~StepRun();                           // nobody is told of effects that are under way

  enum class State : u8 { Waiting, Done, HandedOver, Suspended };
  // As far as it can. Waiting: again once the strand has been woken. step_* and journal_* reasons,
  // and what the code or an effect fails with.
  Result<State> go_on();
  // Done, HandedOver.
  Value take_value() { return std::move(decision_.value); }
  const std::string& target() const { return decision_.target; }
  // Suspended: why. run_suspended.
  Error suspension() const;

 private:
  friend class StepCall;
  struct Decision {
    enum class Kind : u8 { Done, Await, Spawn, Suspend, HandOver } kind = Kind::Done;
    Value value;                        // or the reason to wait
    std::string target;
    std::vector<EffectRequest> requests;
    std::vector<ChildRequest> children;
    ChildJoin join = ChildJoin::All;
  };
  enum class Phase : u8 {
    Turn,        // the code is asked what comes next
    Announcing,  // the journal is being told which effects begin
    Performing,  // they are under way
    Asking,      // the journal is being told that somebody has to answer
    Suspended,
    Children,    // are at work
    Choosing,    // the journal is being told which of them was the first
    Ended,       // Done, HandedOver
  };
  // An effect of this turn: under way, or known from the journal.
  struct Asked {
    Effect* effect = nullptr;
    const EffectHandler* handler = nullptr;
    Value recorded;
  };
  struct Child;
  using Recorded = Journal::Recorded;

  // ---- step_run.cpp
  Status take_turn();
  Status suspend();
  Status check_rest() const;
  Site site(u32 index) const;
  u32 turn() const { return static_cast<u32>(history_.size()); }
  void conclude(std::vector<Value> results);  // of this turn
  Status record(std::vector<Record> records);
  static void settled(void* countdown, const Error* failure);

  // ---- step_effects.cpp
  Status begin_effects();
  Status find_handlers(std::span<const EffectRequest> requests);
  Status announce(std::span<EffectRequest> requests);
  Status ask_about(std::span<const EffectRequest> doubtful, std::vector<Record> questions);
  void perform();
  Status collect();
  void drop_effects();
  Status record_outcome(const Effect& effect, const Error* error, const Value& result);
  static void effect_ended(void* self, Effect& effect, const Error* error, const Value& result);
  void tell_effect(const Effect& effect, Event::Kind kind, const Error* error) const;

  // ---- step_children.cpp
  Status begin_children();
  Status check_children(std::span<const ChildRequest> requests) const;
  Status make_child(ChildRequest request);
  Result<State> go_on_with_children();
  Status go_on_with(Child& child);
  Status choose(Child& child);
  Record choice() const;

  RunState& run_;
  Strand& strand_;
  const Who who_;
  const StepCode code_;
  const Value input_;
  Countdown* const countdown_;
  Phase phase_ = Phase::Turn;
  Decision decision_;
  std::vector<std::vector<Value>> history_;
  std::vector<Asked> asked_;
  std::vector<std::unique_ptr<Child>> children_;
  ChildJoin join_ = ChildJoin::All;
  Value chosen_;                        // Choosing
  std::optional<Error> doubt_;          // Asking: what the run then fails with
};

}  // namespace soma
