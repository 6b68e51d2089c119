// Walks a course: calls the nodes of a stretch, and decides at stops where to go on.
//
// Problem. Bodies may take two nanoseconds, plans may nest a hundred thousand constructs, a host
// may want to go on in pieces, and other threads may want a part of the work, or want this one to
// stop.
//
// Idea. The walk is a state machine: the next node, the next stop, and a stack of the regions
// around. Whatever it can do without a decision is one loop over a range of nodes, in which a node
// costs its call, a note of where the walk is, and two looks: at the caller's wish to stop and at
// the bell, which rings for everything else. Clocks and events have a loop of their own. The stack
// is as deep as constructs nest, which the course knows, so it is made once.
//
// Failures. A strand that fails goes back to the innermost wave that it shares, reports there, and
// goes on with what else that wave wants from it; what comes out when the wave is over is a failure
// of the wave's place, and so on outwards. Who has to stop because another branch failed does the
// same without a failure of his own.
//
// Why it ends. Each step calls a node, enters a construct, takes a share or leaves a region; only a
// loop goes back, and its bound, its signal or the wish to stop ends that.
#include "run/strand.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/fence.hpp"

namespace soma {

Strand::Strand(RunState& run, u32 thread)
    : run_(run),
      call_(*this, run.plan, run.values),
      thread_(thread),
      clock_(run.probed_since) {
  frames_.reserve(size_t{run.course.depth()} + 1);
}

// The sentinel may have rung and not looked yet: what it rang for was before the walk begins.
void Strand::listen_to(u32 rings) {
  if (!run_.crew.has_sentinel()) {
    heard_ = rings;
    return;
  }
  const std::lock_guard lock(mutex_);
  heard_ = rings;
}

void Strand::begin(const Region& region, bool in_loop) {
  frames_.clear();
  loops_ = in_loop ? 1 : 0;
  told_node_ = no_node;
  failure_.reset();
  push(region, Course::whole, 0, course().first_stop(region.item));
}

void Strand::push(const Region& region, u32 construct, u32 stop, u32 first_stop) {
  Frame& frame = frames_.emplace_back();
  frame.region = region;
  frame.construct = construct;
  frame.stop = stop;
  node_ = region.begin;
  next_ = first_stop;
}

Strand::Outcome Strand::walk(i64 pause_at_ns, bool is_caller) {
  pause_at_ns_ = pause_at_ns;
  is_caller_ = is_caller;
  Next next = Next::Go;
  while (next == Next::Go) {
    try {
      next = step();
    } catch (...) {
      next = exception();
    }
  }
  if (next == Next::Paused) return Outcome::Paused;
  return next == Next::Parked ? Outcome::Parked : outcome_;
}

// One stretch, and what comes behind it.
Strand::Next Strand::step() {
  const Frame& frame = frames_.back();
  if (frame.wave && !frame.has_share) return next_share();
  const u32 region_end = frame.region.end;
  const Stop& stop = course().stops()[next_];
  // A stop in a region has a node there: one that begins where the region ends is outside.
  const bool is_inside = stop.begin < region_end;
  const u32 end = is_inside ? stop.begin : region_end;
  if (node_ < end) {
    const bool is_watched = pause_at_ns_ != 0 || run_.needs_watch() ||
                            (run_.is_watched() && run_.streams.chunk(node_));
    const Next next = is_watched ? call_watched_until(end) : call_until(end);
    if (next != Next::Go || node_ != end) return next;
  }
  if (attend()) return answer_bell();
  return is_inside ? enter(stop) : leave_region();
}

// ---- Stretches

Strand::Next Strand::call_until(u32 end) {
  Status status;
  node_ = run_.is_watched() ? call_all_probed(node_, end, status) : call_all(node_, end, status);
  call_.let_go();
  if (told_node_ != no_node) return stop_as_told();
  if (!status.ok()) return fail_at(node_, run_.failure(node_, std::move(status).error()));
  if (node_ == end) return Next::Go;
  if (attend()) return answer_bell();
  if (run_.cancel->requested() && !run_.is_watched()) return stop_as_asked();
  return call_watched_until(end);  // somebody set a deadline or took one back
}

// The run finds words for that, once for all of its threads.
Strand::Next Strand::stop_as_asked() {
  step_.reset();
  failure_ = Wave::Failure{node_, std::nullopt};
  return stop_walk(nullptr);
}

// A node was told to stop, and has returned: whatever it said, what it yields may be half of it.
Strand::Next Strand::stop_as_told() {
  const u32 node = std::exchange(told_node_, no_node);
  Status still = check_at(node);
  told_node_ = no_node;
  if (still.ok()) still = fail(Reason::cancelled, "the node was asked to stop");
  return fail_at(node, run_.at(node, std::move(still).error()));
}

// Calls nodes until one fails, the bell rings or the caller wants to stop; returns which is next,
// or failed. All that a run costs beyond its bodies is in this loop.
u32 Strand::call_all(u32 node, u32 end, Status& failed) {
  const Bound* bound = run_.binding->nodes().data() + node;
  const std::atomic<bool>& changed = run_.cancel->changed();
  const std::atomic<u32>& rings = run_.crew.bell().rings;
  const u32 heard = heard_;
  for (; node < end; ++node, ++bound) {
    call_.begin(node);
    fence_lightly();
    if (rings.load(std::memory_order_relaxed) != heard) break;
    if (changed.load(std::memory_order_acquire)) break;
    Status status = bound->forward(bound->user, call_);
    if (!status.ok()) {
      failed = std::move(status);
      break;
    }
  }
  return node;
}

// The same with a probe's events: one look at a counter a node, as the next one begins when one has
// ended. In a stretch all nodes lie in the same loops.
u32 Strand::call_all_probed(u32 node, u32 end, Status& failed) {
  const Observer probe = run_.probe;
  const Bound* bound = run_.binding->nodes().data() + node;
  const std::atomic<u32>& rings = run_.crew.bell().rings;
  std::string path = run_.loops_around(node);
  const size_t loops_length = path.size();
  Event event;
  event.thread = thread_;
  event.at_ns = clock_.now_ns();
  for (; node < end; ++node, ++bound) {
    call_.begin(node);
    fence_lightly();
    if (rings.load(std::memory_order_relaxed) != heard_) break;
    if (run_.cancel->changed().load(std::memory_order_acquire)) break;
    event.node = node;
    event.path = run_.plan.nodes[node].id;
    if (loops_length > 0) {
      path.resize(loops_length);
      event.path = path += event.path;
    }
    event.kind = Event::Kind::NodeStarted;
    probe.notify(probe.user, event);
    Status status = bound->forward(bound->user, call_);
    if (!status.ok()) failed = std::move(status);
    if (!failed.ok() || told_node_ != no_node) break;
    event.at_ns = clock_.now_ns();
    event.kind = Event::Kind::NodeFinished;
    probe.notify(probe.user, event);
  }
  return node;
}

// The same with a clock and all events.
Strand::Next Strand::call_watched_until(u32 end) {
  const std::span<const Bound> bound = run_.binding->nodes();
  const std::atomic<u32>& rings = run_.crew.bell().rings;
  for (; node_ < end; ++node_) {
    call_.begin(node_);
    run_.fence();
    if (rings.load(std::memory_order_relaxed) != heard_) {
      attend();
      return answer_bell();
    }
    Status status = check();
    if (!status.ok()) return fail_at(node_, run_.at(node_, std::move(status).error()));
    const Chunk* const chunk = run_.streams.chunk(node_);
    if (!chunk || chunk->index == 0) tell(Event::Kind::NodeStarted, node_);
    const i64 begun_ns = run_.crew.is_measuring() ? now_ns() : 0;
    status = bound[node_].forward(bound[node_].user, call_);
    if (told_node_ != no_node) return stop_as_told();
    if (!status.ok()) return fail_at(node_, run_.failure(node_, std::move(status).error()));
    if (begun_ns != 0) run_.crew.measured(node_, now_ns() - begun_ns);
    call_.let_go();
    if (!chunk || chunk->is_last()) {
      settle(1);
      tell(Event::Kind::NodeFinished, node_);
    }
    if (pause_at_ns_ != 0 && now_ns() >= pause_at_ns_) {
      ++node_;
      attend();
      return Next::Paused;
    }
  }
  return Next::Go;
}

bool Strand::attend() {
  call_.rest();
  run_.fence();
  const u32 rings = run_.crew.bell().rings.load(std::memory_order_acquire);
  if (rings == heard_) return false;
  const std::lock_guard lock(mutex_);  // whoever changes the frames has them until then
  heard_ = rings;
  return true;
}

Strand::Next Strand::answer_bell() {
  if (const Wave* failed = run_.crew.stopped_by(place())) return drop_for(*failed);
  // Where a construct begins, its first node is not what comes next.
  const u32 end = std::min(frames_.back().region.end, course().stops()[next_].begin);
  if (node_ < end && run_.crew.bell().asked.exchange(false, std::memory_order_relaxed)) {
    expose(node_);
  }
  return Next::Go;
}

u32 Strand::place() const {
  const Region& region = frames_.back().region;
  return node_ < region.end ? node_ : region.end - 1;
}

// ---- Failures

Strand::Next Strand::fail_at(u32 node, Error error) {
  return end_at(Event::Kind::NodeFailed, call_.index(), {node, std::move(error)});
}

Strand::Next Strand::suspend_at(u32 node, Error error) {
  error = run_.at(node, std::move(error));
  return end_at(Event::Kind::NodeSuspended, node, {node, std::move(error), true});
}

// `told`: the node of the event, which may be another than the failure's.
Strand::Next Strand::end_at(Event::Kind kind, u32 told, Wave::Failure failure) {
  attend();
  call_.let_go();
  step_.reset();
  tell(kind, told, &*failure.error);
  failure_ = std::move(failure);
  return stop_walk(nullptr);
}

Strand::Next Strand::drop_for(const Wave& failed) {
  call_.let_go();
  step_.reset();
  failure_.reset();
  return stop_walk(&failed);
}

// Back to the innermost wave: because of failure_, or for another branch of `failed`.
Strand::Next Strand::stop_walk(const Wave* failed) {
  while (!frames_.back().wave && frames_.size() > 1) {
    const u32 construct = frames_.back().construct;
    if (course().constructs()[construct].variant == Variant::Loop) --loops_;
    frames_.pop_back();
  }
  Frame& frame = frames_.back();
  if (!frame.wave) {
    outcome_ = failure_ ? Outcome::Failed : Outcome::Dropped;
    return Next::Ended;
  }
  // Between two shares it is nobody's failure but the wave's.
  const Share share = std::exchange(frame.has_share, false) ? frame.share : Share();
  if (failure_) {
    const bool stops_others = !failure_->is_suspension;
    frame.wave->fail(share, take_failure());
    if (stops_others) run_.crew.stop(*frame.wave);
  } else if (frame.wave != failed) {
    frame.dropped_for = failed;
    frame.wave->drop();
    run_.crew.stop(*frame.wave);
  }
  return Next::Go;
}

Strand::Next Strand::exception() {
  const u32 called = call_.called();
  attend();                         // first, as whoever changes the frames may be at it
  return fail_at(called == no_node ? place() : called, run_.exception(call_.index()));
}

Status Strand::check() const {
  if (!is_caller_) return run_.check_elsewhere();
  run_.cancel->report("run", run_.done.load(std::memory_order_relaxed), run_.plan.nodes.size());
  return run_.cancel->check();
}

Status Strand::check_at(u32 node) const {
  SOMA_TRY(check());
  if (!run_.crew.stopped_by(node)) return {};
  return fail(Reason::cancelled, "a branch that was declared earlier has failed");
}

Status Strand::check_in_call() {
  Status status = check_at(call_.index());
  if (!status.ok()) told_node_ = call_.index();
  return status;
}

void Strand::tell(Event::Kind kind, u32 node, const Error* error) {
  if (!run_.is_watched()) return;
  Event event;
  event.kind = kind;
  event.node = node;
  event.thread = thread_;
  event.error = error;
  if (run_.probe.notify) event.at_ns = clock_.now_ns();
  run_.notify(event);
}

void Strand::settle(u64 nodes) {
  if (loops_ == 0) run_.done.fetch_add(nodes, std::memory_order_relaxed);
}

// ---- Regions

Strand::Next Strand::enter(const Stop& stop) {
  if (stop.construct == Course::whole) {
    const bool is_stream = run_.plan.items[stop.item].variant == Variant::Stream;
    return is_stream ? enter_stream(stop) : enter_wave(stop);
  }
  const Variant variant = course().constructs()[stop.construct].variant;
  if (variant == Variant::Loop) return enter_loop(stop);
  return variant == Variant::Step ? enter_step(stop) : enter_branch(stop);
}

Strand::Next Strand::leave_region() {
  const Frame& frame = frames_.back();
  if (frame.wave) {
    Status status = {};
    frames_.back().has_share = false;  // first, as what follows may fail
    if (frame.wave->finish(frame.share)) status = run_.crew.share(*frame.wave, false);
    return status.ok() ? Next::Go : fail_at(place(), std::move(status).error());
  }
  if (frame.construct == Course::whole) {
    outcome_ = Outcome::Done;
    return Next::Ended;
  }
  if (course().constructs()[frame.construct].variant == Variant::Loop) return finish_pass();
  node_ = course().constructs()[frame.construct].end;
  next_ = course().stops()[frame.stop].next;
  frames_.pop_back();
  return Next::Go;
}

}  // namespace soma
