// Waves that are shared, and streams, from the side of the strand that opened them.
//
// The owner takes shares like everybody else, so it can always finish alone: it waits only for
// others who have taken a branch, and while branches that it must not take are still to begin. If
// these others share waves in their branches, it helps them meanwhile: what it takes there has to
// end anyway before its own wave does. Then the wave closes, and its error, if there is one, is an
// error of its place.
//
// Around steps, which may wait long, no thread waits for a wave: its owner parks and is woken when
// the wave is over. Who claims a share of such a wave and comes to a step that waits parks with it,
// and another strand claims the next share, so that all branches get as far as they can on one
// thread.
#include "base/clock.hpp"
#include "run/strand.hpp"

namespace soma {

Strand::Next Strand::enter_wave(const Stop& stop) {
  const u32 item = stop.item;
  if (run_.crew.is_alone() && !run_.crew.waits(item) && !run_.crew.awaits(item)) {
    ++next_;                        // walked through, as if it were none
    return Next::Go;
  }
  return share(stop);
}

// Alone or not: a stream's nodes are called as often as there are chunks, which its flow knows.
Strand::Next Strand::enter_stream(const Stop& stop) {
  Flow& flow = run_.streams.flow(stop.item);
  const u32 first = flow.stream().begin;
  call_.rest(first);
  Value made;
  const Value& read = run_.values.whole(first, made);
  Value whole = &read == &made ? std::move(made) : Value(read);
  flow.begin(std::move(whole), *run_.binding);
  return share(stop);
}

// Opens it, for others as well.
Strand::Next Strand::share(const Stop& stop) {
  const u32 item = stop.item;
  Wave::Terms terms;
  terms.item = item;
  terms.first = item + 1;
  terms.item_end = run_.plan.items[item].end;
  terms.owner = this;
  terms.in_loop = loops_ > 0;
  terms.nodes_min = stop.nodes_min;
  // First all that may fail, as an open wave has to have a frame.
  if (frames_.size() == frames_.capacity()) frames_.reserve(2 * frames_.size() + 1);
  Frame frame;
  frame.region = course().items(terms.first, terms.item_end);
  frame.stop = next_;
  frame.wave = run_.crew.open(terms);
  frames_.push_back(frame);
  Status summoned;
  try {
    summoned = run_.crew.share(*frame.wave, true);
  } catch (...) {
    frame.wave->drop();             // none may begin and wait for those that can't
    throw;
  }
  if (!summoned.ok()) {
    frame.wave->drop();
    return fail_at(frame.region.begin, std::move(summoned).error());
  }
  if (is_caller_) run_.crew.invite_to(stop);
  return Next::Go;
}

Strand::Next Strand::next_share() {
  Frame& frame = frames_.back();
  Wave& wave = *frame.wave;
  while (true) {
    const u32 seen = wave.changes();
    const Hand hand = job.hand == Hand::Caller ? Hand::Caller : Hand::Helper;
    if (const std::optional<Share> share = wave.claim(hand)) {
      frame.share = *share;
      frame.has_share = true;
      frame.region = share->region;
      node_ = share->region.begin;
      next_ = course().first_stop(share->region.item);
      return Next::Go;
    }
    if (wave.is_over() && wave.is_empty()) {
      if (auto closed = run_.crew.close(wave)) return leave_wave(*std::move(closed));
    }
    if (run_.crew.awaits(wave.item())) return Next::Parked;
    if (pause_at_ns_ != 0 && now_ns() >= pause_at_ns_) return Next::Paused;
    if (is_caller_) run_.cancel->check().ok();  // for its tick; branches look by themselves
    if (pause_at_ns_ == 0 && run_.crew.help_within(wave.region(), depth_)) continue;
    constexpr i64 longest_ns = 10'000'000;
    wave.await_change(seen, longest_ns);
  }
}

Strand::Next Strand::leave_wave(Crew::Closed closed) {
  const Region region = closed.region;
  std::optional<Wave::Failure>& failure = closed.failure;
  const Wave* const dropped_for = frames_.back().dropped_for;
  frames_.pop_back();
  node_ = region.end;
  next_ = course().first_stop(region.item_end);
  if (dropped_for) return drop_for(*dropped_for);
  if (run_.crew.lost_memory()) {     // whatever those say who were stopped because of it
    failure = Wave::Failure{region.begin, fail(Reason::out_of_memory, "there is no memory left")};
  }
  if (!failure && closed.flow) {
    run_.values.slot_to_set(region.end - 1) = closed.flow->result();
  }
  if (!failure) return Next::Go;
  failure_ = std::move(failure);
  return stop_walk(nullptr);
}

}  // namespace soma
