// What is found out about a run's waves before it starts: which of them have to be shared, and
// whether there can ever be threads enough.
//
// A branch that may wait for another must not wait for a thread. So the waves around nodes that
// wait are shared as soon as a walk comes to them, and how many threads that takes at most is
// counted here. A branch with a node that only the caller may call is the caller's as a whole; that
// holds for all waves around that node too, so only the caller ever opens one of them, and two such
// branches of one wave run one after the other. If one of these two waits, that might be for ever.
#include "base/fence.hpp"
#include "base/problems.hpp"
#include "base/text.hpp"
#include "run/run.hpp"
#include "run/run_state.hpp"

namespace soma {

Status Crew::prepare() {
  SOMA_TRY(find_traits());
  parked_.reserve(1);
  if (!run_.course.has_waves()) return {};
  needed_ = threads_needed();
  const u32 there = pool_ ? static_cast<u32>(pool_->summon_max()) + 1 : 1;
  if (needed_ > there) {
    return fail(Reason::run_threads,
                "branches that may wait for each other need {} threads at the same time, and there "
                "can be {}: run the plan with more, or declare fewer of its nodes as waiting",
                needed_, there);
  }
  const bool has_help = pool_ && (threads_ > 1 || needed_ > 1);
  stop_at(has_help ? worth_.declared(static_cast<u32>(threads_)) : std::vector<WorthyWave>());
  if (has_help) {
    Pool::Work work;
    work.user = this;
    work.help = help;
    work.serve = serve;
    work.watch = watch;
    job_ = pool_->employ(work);  // last: the pool keeps its record, even if something else fails
    bell_ = &Pool::bell(job_);
    has_light_fence_ = !pool_->watches() || can_fence_others();
  }
  return {};
}

// Those that have to be shared, and those that are worth it.
void Crew::stop_at(std::vector<WorthyWave> waves) {
  const auto has_to = [this](u32 item) {
    return launch_ == LaunchMode::Always || waits(item) || awaits(item);
  };
  std::erase_if(waves, [&](const WorthyWave& wave) { return has_to(wave.item); });
  const bool any_has_to = launch_ == LaunchMode::Always || !traits_.empty();
  for (u32 item = 0; any_has_to && item < run_.plan.items.size(); ++item) {
    if (is_wave(run_.plan.items[item].variant) && has_to(item)) waves.push_back({item, 1});
  }
  run_.course.stop_at_waves(std::move(waves));
}

// Marks the waves around nodes that wait, or that only the caller may run.
Status Crew::find_traits() {
  const Plan& plan = run_.plan;
  Problems problems;
  if (!run_.course.has_waves()) return {};
  for (u32 node = 0; node < plan.nodes.size(); ++node) {
    const bool is_pinned = run_.binding->is_caller_only(node), waits = run_.binding->waits(node);
    const bool is_step = plan.nodes[node].kind == NodeKind::Step;
    if (!is_pinned && !waits && !is_step) continue;
    if (traits_.empty()) traits_.resize(plan.items.size());
    const u8 trait = static_cast<u8>((is_pinned ? has_pinned : 0) | (waits ? has_waits : 0) |
                                     (is_step ? has_steps : 0));
    u32 item = run_.course.item_of(node);
    while ((traits_[item] & trait) != trait) {
      traits_[item] |= trait;
      item = run_.course.parent(item);
    }
  }
  for (u32 item = 0; item < traits_.size(); ++item) {
    if ((traits_[item] & (has_pinned | has_waits)) != (has_pinned | has_waits)) continue;
    if (plan.items[item].variant != Variant::Parallel) continue;
    std::vector<u32> pinned;
    bool one_waits = false;
    plan.each_child(item, [&](u32 child) {
      if ((traits_[child] & has_pinned) == 0) return;
      pinned.push_back(child);
      one_waits = one_waits || (traits_[child] & has_waits) != 0;
    });
    if (pinned.size() < 2 || !one_waits) continue;
    const auto first_id = [&](size_t i) {
      return quoted(plan.nodes[run_.course.items(pinned[i], pinned[i]).begin].id);
    };
    problems.add(fail(Reason::run_threads,
                      "the branches from {} and from {} may wait for each other, and both have "
                      "nodes that only the thread which waits for the run may call",
                      first_id(0), first_id(1)));
  }
  return std::move(problems).status();
}

// How many threads have to be there so that all that may wait for each other runs at the same time:
// in a wave those of its branches that wait, and one for all others. Items come after those around
// them, so counting backwards finds the parts counted.
u32 Crew::threads_needed() const {
  constexpr u32 many = u32{1} << 20;
  if (traits_.empty()) return 1;
  const std::vector<PlanItem>& items = run_.plan.items;
  std::vector<u32> most(items.size(), 1), sum(items.size(), 0), others(items.size(), 0);
  for (u32 item = static_cast<u32>(items.size()); item-- > 0;) {
    const u32 together = std::max(sum[item] + others[item], u32{1});
    const u32 needed = is_wave(items[item].variant) ? together : most[item];
    if (item == 0) return needed;
    const u32 around = run_.course.parent(item);
    most[around] = std::max(most[around], needed);
    if (waits(item)) {
      sum[around] = std::min(sum[around] + needed, many);
    } else {
      others[around] = 1;
    }
  }
  return 1;
}

}  // namespace soma
