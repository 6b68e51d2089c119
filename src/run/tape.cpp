// Records what nodes read and yielded, so that gradients can be traced back through an execution.
//
// Problem. The gradient of what a node read depends on what it read. But slots forget: a loop's
// next pass empties them, and a value with one reader is moved out of its own.
//
// Idea. A wrapper before the code of each node that has a vjp takes a reference to what the node
// reads before its code runs, and one to what it yielded after. That is all: no content is copied,
// and as the tape is one more owner, code that changes what it alone owns in place changes nothing
// that is recorded.
//
// Records are in a list of their node, in the order in which it ran. They need no names: the way
// back meets the runs of each node in just the opposite order, since passes come one after the
// other, and whoever walks back counts down. What it needs to know of the way there is how many
// passes a loop had and which arm or hand-off was taken; that is noted by construct in the same
// manner.
//
// Threads. A node is run, and a construct decided, by one strand at a time, and what one strand
// does after another has done it is ordered by the waves around: no locks.
//
// Cost. Two references a run of such a node. Other nodes cost nothing, a construct a number; a run
// without a tape looks at one pointer where a construct decides. Memory is given back when the next
// execution begins, but for the lists' own.
#include "run/tape.hpp"

#include "run/node_call.hpp"

namespace soma {

std::unique_ptr<Tape> Tape::of(RunState& run) {
  if (run.binding->vjps().empty()) return nullptr;
  std::unique_ptr<Tape> made(new Tape(run));
  return made->nodes_.empty() ? nullptr : std::move(made);
}

Tape::Tape(RunState& run)
    : run_(run), at_(run.plan.nodes.size(), no_node), choices_(run.course.constructs().size()) {
  const std::span<const NodeVjp> vjps = run.binding->vjps();
  nodes_.reserve(vjps.size());      // the run holds their addresses
  for (const NodeVjp& vjp : vjps) {
    if (is_streamed(vjp.node)) continue;
    at_[vjp.node] = static_cast<u32>(nodes_.size());
    Node& node = nodes_.emplace_back();
    node.vjp = vjp;
    node.code = run.binding->replace(vjp.node, {forward, &node});
  }
  run.tape = this;
}

Tape::~Tape() {
  run_.tape = nullptr;
  for (const Node& node : nodes_) run_.binding->replace(node.vjp.node, node.code);
}

Status Tape::forward(void* self, NodeCall& call) {
  Node& node = *static_cast<Node*>(self);
  Value input = call.input();
  SOMA_TRY(node.code.forward(node.code.user, call));
  if (call.was_told_to_stop()) return {};
  Record& record = node.records.emplace_back();
  record.input = std::move(input);
  record.yielded = call.output();
  if (const Value* const state = call.prepared_state()) record.state = *state;
  return {};
}

void Tape::begin(bool is_foreign) {
  clear();
  state_ = is_foreign ? State::Foreign : State::Recording;
}

void Tape::end(bool well) {
  if (well) {
    if (state_ == State::Recording) state_ = State::Complete;
    return;
  }
  clear();
  state_ = State::Torn;
}

void Tape::clear() {
  for (Node& node : nodes_) node.records.clear();
  for (std::vector<Choice>& choices : choices_) choices.clear();
  state_ = State::Blank;
}

Status Tape::check() const {
  switch (state_) {
    case State::Complete: return {};
    case State::Blank:
      return fail(Reason::run_no_gradient,
                  "there is no tape to trace a gradient back along: execute the run first");
    case State::Torn:
    case State::Recording:
      return fail(Reason::run_no_gradient,
                  "there is no tape to trace a gradient back along: the last execution has not "
                  "ended well");
    case State::Foreign:
      return fail(Reason::run_no_gradient,
                  "there is no tape to trace a gradient back along: the run's value came from its "
                  "journal, and no node ran; give it another id, or no journal");
  }
  return {};
}

}  // namespace soma
