// Drives the turns of a step.
//
// A turn asks for effects, all of which are begun before any is waited for. Each may end on any
// thread, also while others are still being begun: the count of those under way has one more for
// the beginning itself, so that the strand is woken exactly once, by whoever ends last, and not at
// all if that is the beginning. A strand that has gone on or failed meanwhile forgets its effects:
// afterwards nobody calls back, whenever they end.
#include "run/step_run.hpp"

#include <new>

#include "base/problems.hpp"
#include "base/text.hpp"
#include "run/strand.hpp"

namespace soma {

// ---- What the code sees

const PlanNode& StepCall::node() const { return run_.run_.plan.nodes[run_.node_]; }
std::string StepCall::path() const { return run_.run_.path(run_.node_); }
u32 StepCall::turn() const { return static_cast<u32>(run_.history_.size()); }
const Value& StepCall::input() const { return run_.input_; }
std::span<const std::vector<Value>> StepCall::history() const { return run_.history_; }
Status StepCall::check() const { return run_.strand_.check_in_call(); }

std::span<const Value> StepCall::results() const {
  if (run_.history_.empty()) return {};
  return run_.history_.back();
}

void StepCall::done(Value value) {
  run_.decision_ = {StepRun::Decision::Kind::Done, std::move(value), {}, {}};
}
void StepCall::await(std::vector<EffectRequest> requests) {
  run_.decision_ = {StepRun::Decision::Kind::Await, {}, {}, std::move(requests)};
}
void StepCall::hand_over(std::string target, Value value) {
  run_.decision_ = {StepRun::Decision::Kind::HandOver, std::move(value), std::move(target), {}};
}

// ---- Turns

StepRun::StepRun(RunState& run, Strand& strand, u32 node, StepCode code, Value input)
    : run_(run), strand_(strand), node_(node), code_(code), input_(std::move(input)) {}

StepRun::~StepRun() { drop_effects(); }

Result<StepRun::State> StepRun::go_on() {
  while (true) {
    if (!effects_.empty()) {
      if (pending_.load(std::memory_order_acquire) > 0) return State::Waiting;
      SOMA_TRY(collect());
    }
    SOMA_TRY(take_turn());
    switch (decision_.kind) {
      case Decision::Kind::Done: return State::Done;
      case Decision::Kind::HandOver: return State::HandedOver;
      case Decision::Kind::Await: SOMA_TRY(begin_effects()); break;
    }
  }
}

Status StepRun::take_turn() {
  const i64 turns = run_.plan.nodes[node_].max_turns().value_or(turns_max);
  if (static_cast<i64>(history_.size()) >= turns) {
    return fail(Reason::step_turns,
                "it has asked for effects in each of its {} turns and did not end: raise "
                "max_turns, if it needs more",
                turns);
  }
  decision_ = {};
  StepCall call(*this);
  return code_.poll(code_.user, call);
}

Status StepRun::begin_effects() {
  std::vector<EffectRequest> requests = std::move(decision_.requests);
  if (requests.empty()) {
    return fail(Reason::step_no_effects, "it waits for no effects in turn {}: that would never end",
                history_.size());
  }
  std::vector<const EffectHandler*> handlers;
  Problems problems;
  for (const EffectRequest& request : requests) {
    handlers.push_back(code_.ops->handler(request.name));
    if (handlers.back()) continue;
    problems.add(fail(Reason::step_no_handler, "nobody performs the effect {}: register a handler",
                      quoted(request.name))
                     .with("effect", request.name));
  }
  SOMA_TRY(std::move(problems).status());

  // All that may fail comes before the first is begun.
  effects_.reserve(requests.size());
  for (EffectRequest& request : requests) {
    std::string key = text("{}#{}.{}", run_.path(node_), history_.size(), effects_.size());
    effects_.push_back(Effect::make(std::move(request), std::move(key), false, {this, ended}));
  }
  pending_.store(static_cast<u32>(effects_.size()) + 1, std::memory_order_relaxed);
  for (size_t i = 0; i < effects_.size(); ++i) {
    handlers[i]->perform(handlers[i]->user, *effects_[i]);
  }
  pending_.fetch_sub(1, std::memory_order_acq_rel);
  return {};
}

void StepRun::ended(void* self, Effect&) {
  auto& step = *static_cast<StepRun*>(self);
  if (step.pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    step.run_.crew.wake(step.strand_);
  }
}

// The first that failed, in the order of the requests, fails the step.
Status StepRun::collect() {
  std::vector<Value> results;
  results.reserve(effects_.size());
  for (Effect* effect : effects_) {
    Result<Value> result = effect->take_result();
    if (!result.ok()) return std::move(result).error().context("effect " + quoted(effect->name()));
    results.push_back(*std::move(result));
  }
  drop_effects();
  history_.push_back(std::move(results));
  return {};
}

void StepRun::drop_effects() {
  for (Effect* effect : effects_) {
    effect->forget();
    effect->release();
  }
  effects_.clear();
}

}  // namespace soma
