// Children: steps that a step begins, and for which it waits in place of effects.
//
// A child is a step like any other, but for its place: its path goes on from its parent's, it hands
// over to nobody, and it runs on its parent's strand. The children of a turn take turns there and
// wait at the same time, since none of them ever holds the thread.
//
// Which child fails a step does not depend on the clock: a failure stops those declared after it,
// and counts once all before it have ended. Which of several comes first does depend on it, so that
// is recorded: the choice is the same when the run is resumed, and the others are not begun again.
#include <algorithm>

#include "base/problems.hpp"
#include "base/text.hpp"
#include "run/step_child.hpp"
#include "run/strand.hpp"
#include "value/repeats.hpp"

namespace soma {

namespace {

constexpr std::string_view choice_name = "std.first";

bool is_label(std::string_view label) {
  return !label.empty() && label.find_first_of("/[]") == label.npos &&
         find_invalid_utf8(label) == label.npos;
}

Error bad_child(std::string_view label, std::string_view why) {
  return fail(Reason::step_child, "child {}: {}", quoted(label), why);
}

}  // namespace

Status StepRun::begin_children() {
  std::vector<ChildRequest> requests = std::move(decision_.children);
  join_ = decision_.join;
  if (requests.empty()) {
    return fail(Reason::step_no_effects,
                "it waits for no children in turn {}: that would never end", turn());
  }
  SOMA_TRY(check_children(requests));
  for (ChildRequest& request : requests) SOMA_TRY(make_child(std::move(request)));
  phase_ = Phase::Children;
  if (!run_.journal || join_ != ChildJoin::First) return {};
  SOMA_ASSIGN(const Recorded found, run_.journal->find(choice()));
  if (found.state != Recorded::State::Done) return {};
  SOMA_ASSIGN(Value chosen, recorded_value(found.content));
  children_.clear();
  conclude({std::move(chosen)});
  return {};
}

Status StepRun::check_children(std::span<const ChildRequest> requests) const {
  Problems problems;
  if (who_.depth >= depth_max) {
    problems.add(fail(Reason::step_child, "children nest {} deep, and may not go deeper",
                      depth_max));
  }
  const auto label_of = [requests](u32 i) { return std::string_view(requests[i].label); };
  for (const u32 i : find_repeats(static_cast<u32>(requests.size()), label_of)) {
    problems.add(bad_child(requests[i].label, "another child of this turn has that label"));
  }
  for (const ChildRequest& request : requests) {
    const NodeOp* op = code_.ops->find(request.op, request.op_version);
    if (!is_label(request.label)) {
      problems.add(bad_child(request.label, "a label is not empty and has no '/', '[' or ']'"));
    } else if (!op) {
      problems.add(bad_child(request.label,
                             text("there is no op {} of version {}; add it to the run's ops, since "
                                  "plans don't name what steps begin",
                                  quoted(request.op), request.op_version)));
    } else if (!op->poll) {
      problems.add(bad_child(request.label, text("its op {} is a function, not a step's",
                                                 quoted(request.op))));
    }
  }
  return std::move(problems).status();
}

Status StepRun::make_child(ChildRequest request) {
  const NodeOp& op = *code_.ops->find(request.op, request.op_version);
  auto child = std::make_unique<Child>();
  child->node.id = request.label;
  child->node.op = request.op;
  child->node.op_version = request.op_version;
  child->node.kind = NodeKind::Step;
  if (!request.config.is_null()) child->node.edit().config = std::move(request.config);
  if (request.max_turns) child->node.edit().max_turns = request.max_turns;
  StepCode code = {op.poll, op.user, code_.ops};
  if (op.bind) {
    Result<void*> bound = op.bind(op.user, child->node);
    if (!bound.ok()) return std::move(bound).error().context("child " + quoted(request.label));
    child->bound = code.user = *bound;
    child->unbind = op.unbind;
  }
  Who who{who_.index, &child->node, who_.path + "/" + request.label, who_.depth + 1};
  child->run = std::make_unique<StepRun>(run_, strand_, std::move(who), code,
                                         std::move(request.input));
  children_.push_back(std::move(child));
  return {};
}

// Each as far as it can.
Result<StepRun::State> StepRun::go_on_with_children() {
  bool waits = false, is_suspended = false;
  for (size_t i = 0; i < children_.size(); ++i) {
    Child& child = *children_[i];
    if (!child.failure && child.state != State::Done) SOMA_TRY(go_on_with(child));
    if (child.failure && join_ == ChildJoin::All) {
      children_.resize(i + 1);     // nobody needs those declared later
      if (!waits) return *std::move(child.failure);
      break;
    }
    if (child.state == State::Done && join_ == ChildJoin::First) {
      SOMA_TRY(choose(child));
      return State::Waiting;
    }
    if (child.failure) continue;
    waits |= child.state == State::Waiting;
    is_suspended |= child.state == State::Suspended;
  }
  if (waits) return State::Waiting;
  if (is_suspended) return State::Suspended;
  if (join_ == ChildJoin::First) return *std::move(children_[0]->failure);
  std::vector<Value> results;
  for (const std::unique_ptr<Child>& child : children_) results.push_back(std::move(child->value));
  children_.clear();
  conclude(std::move(results));
  return State::Waiting;
}

Status StepRun::go_on_with(Child& child) {
  Result<State> state = child.run->go_on();
  if (!state.ok()) {
    const Reason reason = state.error().reason();
    if (reason == Reason::cancelled || reason == Reason::deadline) return std::move(state).error();
    child.failure = std::move(state).error().context("child " + quoted(child.node.id));
    child.run.reset();
    return {};
  }
  child.state = *state;
  if (child.state == State::Done) {
    child.value = child.run->take_value();
    child.run.reset();
  } else if (child.state == State::HandedOver) {
    child.failure = bad_child(child.node.id, text("it hands over to {}, and children have no "
                                                  "hand-offs", quoted(child.run->target())));
    child.run.reset();
  }
  return {};
}

// The others are not wanted any more.
Status StepRun::choose(Child& child) {
  chosen_ = Value::map({{"child", Value::text(child.node.id.str())},
                        {"value", std::move(child.value)}});
  if (!run_.journal) {
    children_.clear();
    conclude({std::move(chosen_)});
    return {};
  }
  Record record = choice();
  SOMA_TRY(set_output(record, chosen_));
  children_.clear();
  phase_ = Phase::Choosing;
  std::vector<Record> one;
  one.push_back(std::move(record));
  return this->record(std::move(one));
}

Record StepRun::choice() const {
  std::vector<Value> labels;
  for (const std::unique_ptr<Child>& child : children_) {
    labels.push_back(Value::text(child->node.id.str()));
  }
  return output_record(site(0), choice_name, Value::list(std::move(labels)));
}

}  // namespace soma
