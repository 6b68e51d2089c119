// Says where a node is, what became of it, and tells the observer.
#include "run/run_state.hpp"

#include <algorithm>
#include <new>

#include "base/clock.hpp"
#include "base/text.hpp"

namespace soma {

std::string_view event_name(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::RunStarted: return "run_started";
    case Event::Kind::RunFinished: return "run_finished";
    case Event::Kind::RunFailed: return "run_failed";
    case Event::Kind::RunSuspended: return "run_suspended";
    case Event::Kind::NodeStarted: return "node_started";
    case Event::Kind::NodeFinished: return "node_finished";
    case Event::Kind::NodeFailed: return "node_failed";
    case Event::Kind::NodeSuspended: return "node_suspended";
    case Event::Kind::EffectStarted: return "effect_started";
    case Event::Kind::EffectFinished: return "effect_finished";
    case Event::Kind::EffectFailed: return "effect_failed";
    case Event::Kind::ChunkStarted: return "chunk_started";
    case Event::Kind::ChunkFinished: return "chunk_finished";
    case Event::Kind::PassFinished: return "pass_finished";
    case Event::Kind::ArmChosen: return "arm_chosen";
    case Event::Kind::CacheHit: return "cache_hit";
    case Event::Kind::CacheMiss: return "cache_miss";
    case Event::Kind::NodeSkipped: return "node_skipped";
    case Event::Kind::CacheFailed: return "cache_failed";
  }
  return "";
}

// Made while somebody waits for the run to stop: not by {fmt}, whose code would have to come from
// far away first.
static Error asked_to_stop() { return Error(Reason::cancelled, "the caller asked to stop"); }

Error RunState::asked_to_stop(u32 node) const { return at(node, soma::asked_to_stop()); }

Status RunState::check_elsewhere() const {
  if (cancel->requested()) return soma::asked_to_stop();
  const i64 deadline_ns = cancel->deadline_ns();
  if (deadline_ns == 0 || now_ns() < deadline_ns) return {};
  return fail(Reason::deadline, "the caller's deadline passed");
}

std::vector<u64> RunState::passes_around(u32 node) const {
  std::vector<u64> out;
  for (const u32 loop : course.loops_around(node)) out.push_back(passes[loop]);
  return out;
}

std::string RunState::loops_around(u32 node) const {
  std::string out;
  for (const u32 loop : course.loops_around(node)) {
    out += text("{}[{}]/", plan.nodes[course.constructs()[loop].node].id.view(), passes[loop]);
  }
  return out;
}

std::string RunState::path(u32 node) const {
  return loops_around(node).append(plan.nodes[node].id);
}

Error RunState::at(u32 node, Error error) const {
  return std::move(error).with("node", plan.nodes[node].id).with("path", path(node));
}

Error RunState::failure(u32 node, Error cause) const {
  // Code that was asked to stop and did has not failed.
  const bool stopped = cause.reason() == Reason::cancelled || cause.reason() == Reason::deadline;
  const bool was_asked = cancel->requested() || cancel->deadline_ns() != 0;
  if (stopped && was_asked) return at(node, std::move(cause));
  if (cause.reason() == Reason::out_of_memory) return at(node, std::move(cause));
  const bool is_plain = cause.reason() == Reason::run_node_failed;
  Error error = fail(Reason::run_node_failed, "node {} failed: {}{}", quoted(path(node)),
                     cause.message(), is_plain ? "" : text(" ({})", cause.id()));
  error = at(node, std::move(error));
  error.with("cause", cause.id());
  for (const Detail& detail : cause.details()) error.with(detail.key, detail.value);
  error.add(std::move(cause));
  return error;
}

Error RunState::exception(u32 node) const {
  const std::string where = quoted(path(node));
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return at(node, fail(Reason::out_of_memory, "node {}: there is no memory left", where));
  } catch (const std::exception& exception) {
    return at(node, fail(Reason::run_exception, "node {} ended with an exception: {}", where,
                         quoted(exception.what(), 512)));
  } catch (...) {
    return at(node, fail(Reason::run_exception,
                         "node {} ended with an exception of a type unknown here", where));
  }
}

void RunState::notify(Event event) {
  const bool has_path = event.node == no_node || !event.path.empty();
  const std::string where = has_path ? std::string() : path(event.node);
  if (event.path.empty()) event.path = where;
  if (probe.notify) {
    if (event.at_ns == 0) event.at_ns = now_ns();
    probe.notify(probe.user, event);
  }
  if (!observer.notify) return;
  event.total = plan.nodes.size();
  const std::lock_guard lock(observing_);
  event.done = done.load(std::memory_order_relaxed);
  event.at_ns = last_event_ns_ = std::max(now_ns(), last_event_ns_);
  if (forecast) {
    forecast->hear(event);
    const bool goes_on = event.node != no_node || event.kind == Event::Kind::RunStarted;
    if (goes_on) event.eta_ns = forecast->eta_ns(event.at_ns);
  }
  observer.notify(observer.user, event);
}

}  // namespace soma
