// Steps: nodes whose code asks for effects in turns, and that may hand over to one of their
// hand-offs.
//
// A strand whose step waits parks, and its thread does something else. When the effects have ended
// the strand is woken: it comes back here and goes on in the next turn. A step that waits for an
// answer ends its branch for now: nothing behind it can run, but other branches go as far as they
// can, so that the next execution finds all that can be done done.
#include "base/text.hpp"
#include "run/strand.hpp"
#include "run/tape.hpp"

namespace soma {

namespace {

Error undeclared(std::string_view target, std::span<const std::string> targets) {
  std::string list;
  for (const std::string& one : targets) list += (list.empty() ? "" : ", ") + quoted(one);
  return fail(Reason::step_undeclared_handoff,
              "it hands over to {}, which is none of its hand-offs ({})", quoted(target),
              list.empty() ? "it has none" : list);
}

}  // namespace

Strand::Next Strand::enter_step(const Stop& stop) {
  const u32 node = course().constructs()[stop.construct].node;
  call_.rest(node);
  if (!step_) {
    Status outputs = run_.values.check_outputs(node);
    if (!outputs.ok()) return fail_at(node, run_.failure(node, std::move(outputs).error()));
    tell(Event::Kind::NodeStarted, node);
    const StepCode code = run_.binding->step(node);
    step_ = std::make_unique<StepRun>(
        run_, *this, StepRun::Who{node, &run_.plan.nodes[node], run_.path(node), 0}, code,
        call_.take_input());
    call_.let_go();
  }
  Status goes_on = check_at(node);
  if (!goes_on.ok()) return fail_at(node, run_.at(node, std::move(goes_on).error()));
  Result<StepRun::State> state = step_->go_on();
  if (told_node_ != no_node) return stop_as_told();
  if (!state.ok()) return fail_at(node, run_.failure(node, std::move(state).error()));
  switch (*state) {
    case StepRun::State::Waiting: return Next::Parked;
    case StepRun::State::Done: return leave_step(stop, no_node);
    case StepRun::State::Suspended: return suspend_at(node, step_->suspension());
    case StepRun::State::HandedOver: break;
  }
  const std::vector<std::string>& targets =
      run_.plan.handoffs[course().constructs()[stop.construct].detail];
  for (u32 i = 0; i < targets.size(); ++i) {
    if (targets[i] == step_->target()) return leave_step(stop, i);
  }
  return fail_at(node, run_.failure(node, undeclared(step_->target(), targets)));
}

// `chosen`: which of its hand-offs goes on; no_node: none.
Strand::Next Strand::leave_step(const Stop& stop, u32 chosen) {
  const Construct& step = course().constructs()[stop.construct];
  Value value = step_->take_value();
  step_.reset();
  run_.values.slot_to_set(step.node) = value;
  run_.values.set_present(step.begin + 1, step.end, false);
  if (run_.tape) {
    run_.tape->note(stop.construct, {chosen == no_node ? Tape::none : u64{chosen}});
  }
  settle(1);
  tell(Event::Kind::NodeFinished, step.node);
  if (chosen == no_node) {
    settle(step.end - step.begin - 1);
    node_ = step.end;
    next_ = stop.next;
    return Next::Go;
  }
  const Region& handoff = course().region(step.regions + chosen);
  run_.values.set_present(handoff.begin, handoff.end, true);
  run_.values.feed(stop.construct) = std::move(value);
  settle((step.end - step.begin - 1) - (handoff.end - handoff.begin));
  push(handoff, stop.construct, next_, course().first_stop(handoff.item));
  return Next::Go;
}

}  // namespace soma
