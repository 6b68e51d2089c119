// Loops: a body that runs again until its signal says stop or its bound is reached.
//
// The body's nodes without data edges read the loop's feed: its input, and after a pass in which
// the carry's node ran, that node's value. Before a pass the body's slots are emptied, so that
// nothing of the pass before is left but what was carried.
#include "base/text.hpp"
#include "run/strand.hpp"
#include "run/tape.hpp"
#include "value/describe.hpp"

namespace soma {

namespace {

// Whether a signal says stop; nothing: it says neither that nor go on.
std::optional<bool> stops(const Value& signal) {
  switch (signal.kind()) {
    case ValueKind::Null: return true;
    case ValueKind::Bool: return signal.truth();
    case ValueKind::Text:
      if (signal.text() == "done" || signal.text() == "stop") return true;
      if (signal.text() == "continue") return false;
      return std::nullopt;
    case ValueKind::Map: {
      const Value* done = signal.find("done");
      if (done && done->is(ValueKind::Bool)) return done->truth();
      return std::nullopt;
    }
    case ValueKind::Integer:
    case ValueKind::Number:
    case ValueKind::Bytes:
    case ValueKind::List:
    case ValueKind::Opaque: break;
  }
  return std::nullopt;
}

}  // namespace

Strand::Next Strand::enter_loop(const Stop& stop) {
  const Construct& loop = course().constructs()[stop.construct];
  call_.rest(loop.node);
  Status outputs = run_.values.check_outputs(loop.node);
  if (!outputs.ok()) {
    return fail_at(loop.node, run_.failure(loop.node, std::move(outputs).error()));
  }
  tell(Event::Kind::NodeStarted, loop.node);
  run_.values.feed(stop.construct) = call_.take_input();
  call_.let_go();
  run_.passes[stop.construct] = 1;
  push(course().region(loop.regions), stop.construct, next_, next_ + 1);
  ++loops_;
  return Next::Go;
}

Strand::Next Strand::finish_pass() {
  const Frame frame = frames_.back();
  const Construct& loop = course().constructs()[frame.construct];
  const PlanLoop& rule = run_.plan.loops[loop.detail];
  Values& values = run_.values;
  call_.rest(loop.node);
  Value& feed = values.feed(frame.construct);
  if (rule.carry != no_node && values.is_present(rule.carry)) feed = values.slot(rule.carry);
  const u64 pass = run_.passes[frame.construct];
  Result<bool> by_signal = wants_to_stop(loop, pass);
  if (!by_signal.ok()) return fail_at(loop.node, std::move(by_signal).error());
  const bool by_bound = rule.max_iterations && pass >= *rule.max_iterations;
  if (run_.is_watched()) {
    Event event;
    event.kind = Event::Kind::PassFinished;
    event.node = loop.node;
    event.thread = thread_;
    event.pass = pass;
    event.ended = *by_signal ? Event::Ended::BySignal
                  : by_bound ? Event::Ended::ByBound
                             : Event::Ended::No;
    run_.notify(event);
  }
  if (!*by_signal && !by_bound) {
    values.clear(frame.region.begin, frame.region.end);
    run_.passes[frame.construct] = pass + 1;
    node_ = frame.region.begin;
    next_ = frame.stop + 1;
    return Next::Go;
  }
  if (run_.tape) run_.tape->note(frame.construct, {pass});
  if (rule.carry != no_node) {
    values.slot_to_set(loop.node) = std::move(feed);
  } else if (rule.signal != no_node) {
    values.slot_to_set(loop.node) = values.slot(rule.signal);
  }
  feed = Value();
  --loops_;
  frames_.pop_back();
  node_ = loop.end;
  next_ = course().stops()[frame.stop].next;
  settle(loop.end - loop.begin);
  tell(Event::Kind::NodeFinished, loop.node);
  return Next::Go;
}

Result<bool> Strand::wants_to_stop(const Construct& loop, u64 pass) const {
  const u32 signal = run_.plan.loops[loop.detail].signal;
  if (signal == no_node) return false;
  const std::string_view id = run_.plan.nodes[signal].id;
  if (!run_.values.is_present(signal)) {
    return run_.at(loop.node, fail(Reason::run_signal,
                                   "loop {}: node {}, whose value is the signal, did not run in "
                                   "pass {}",
                                   quoted(run_.path(loop.node)), quoted(id), pass));
  }
  const Value& value = run_.values.slot(signal);
  if (const std::optional<bool> stop = stops(value)) return *stop;
  // It is there for good, so running once more would not help.
  const bool is_recorded = run_.journal && run_.plan.nodes[signal].kind == NodeKind::Step;
  return run_.at(
      loop.node,
      fail(Reason::run_signal,
           "loop {}: expected node {} to say stop (null, true, 'done', 'stop', {{\"done\": true}}) "
           "or go on (false, 'continue', {{\"done\": false}}) in pass {}, got {}{}",
           quoted(run_.path(loop.node)), quoted(id), pass, describe(value),
           is_recorded ? "; what the step was given is in the journal and stays: start the run "
                         "anew, under another id"
                       : ""));
}

}  // namespace soma
