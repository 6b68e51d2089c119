// Estimates how long a plan takes, without running it.
//
// Problem: whether a plan is worth running, and on how many threads, is asked before anything ran,
// or when only some of its nodes have. Idea: from the leaves of the tree up, each item gets three
// times and a doubt. The times are that of the item on the threads at hand, that on any number of
// threads (its critical path), and the sum of all that is computed (its work). The doubt says that
// something in it is not known; then the times are those of the rest, and so a lower bound.
//
//   a node           what it declares (`cost_us`), or else the median of its measured times, or
//                    else that of its op's; a loop's and a subgraph's own node computes nothing
//   Sequence         the sum; so are Composite and Stream, which run node by node
//   Parallel         the longest branch, but all branches' work needs its threads: the larger of
//                    that and work / threads
//   Dataflow         the same, with the longest way along what waits for what
//   Step             its own time, then the dearest hand-off
//   Branch           the dearest arm; its node has run before it
//   Loop             the body as often as the bound allows; without one unknown, and at least once
//   Remote           what is in it; the way there is nobody's cost
//
// Why a lower bound: each rule sums, takes maxima and multiplies by bounds, so it only grows with
// what is put in, and what is not known is put in as nothing. Times are cut off at the largest
// number, as loops in loops reach it: no result is infinite.
// Cost: linear in items, and in the pairs of a Dataflow. Iterative: items come in pre-order, so
// backwards every child is there before it is asked for.
#include "compiler/estimate.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace soma {

namespace {

double bounded(double time_us) { return std::min(time_us, std::numeric_limits<double>::max()); }

struct Cost {
  double time_us = 0;
  double path_us = 0;
  double work_us = 0;
  bool is_known = true;

  void then(const Cost& next) {
    time_us = bounded(time_us + next.time_us);
    path_us = bounded(path_us + next.path_us);
    work_us = bounded(work_us + next.work_us);
    is_known = is_known && next.is_known;
  }
  // One of the two, and nobody knows which.
  void or_else(const Cost& other) {
    time_us = std::max(time_us, other.time_us);
    path_us = std::max(path_us, other.path_us);
    work_us = std::max(work_us, other.work_us);
    is_known = is_known && other.is_known;
  }
  void repeat(double times) {
    time_us = bounded(time_us * times);
    path_us = bounded(path_us * times);
    work_us = bounded(work_us * times);
  }
};

class Estimator {
 public:
  Estimator(const Plan& plan, std::span<const MeasuredTime> measured, u64 threads)
      : plan_(plan), threads_(threads), costs_(plan.items.size()) {
    for (const MeasuredTime& one : measured) {
      if (!(one.median_us >= 0)) continue;
      (one.of == MeasuredTime::Of::Node ? of_nodes_ : of_ops_)
          .insert_or_assign(one.name, bounded(one.median_us));
    }
  }

  PlanEstimate estimate() && {
    for (u32 at = static_cast<u32>(plan_.items.size()); at-- > 0;) costs_[at] = cost_of(at);
    std::reverse(unknown_.begin(), unknown_.end());
    const Cost whole = costs_.empty() ? Cost() : costs_[0];
    PlanEstimate out;
    if (whole.is_known) out.total_us = whole.time_us;
    out.known_us = whole.time_us;
    out.critical_path_us = whole.path_us;
    out.work_us = whole.work_us;
    out.unknown = std::move(unknown_);
    return out;
  }

 private:
  Cost cost_of(u32 at) {
    const PlanItem& item = plan_.items[at];
    switch (item.variant) {
      case Variant::Empty: return {};
      case Variant::Execute: return own(item.node);
      case Variant::Sequence:
      case Variant::Remote:
      case Variant::Composite:
      case Variant::Stream: return sum(at);
      case Variant::Parallel: return wave(at);
      case Variant::Dataflow: return flow(at);
      case Variant::Branch: return dearest(at);
      case Variant::Loop: return passes(at);
      case Variant::Step: break;
    }
    Cost cost = own(item.node);
    cost.then(dearest(at));
    return cost;
  }

  Cost own(u32 index) {
    const PlanNode& node = plan_.nodes[index];
    if (node.kind == NodeKind::Subgraph) return {};
    std::optional<double> time_us = node.cost_us();
    for (const auto& [table, name] : {std::pair(&of_nodes_, std::string_view(node.id)),
                                      std::pair(&of_ops_, node.op_name())}) {
      const auto found = table->find(name);
      if (!time_us && found != table->end()) time_us = found->second;
    }
    if (!time_us) {
      unknown_.push_back(index);
      return {0, 0, 0, false};
    }
    return {*time_us, *time_us, *time_us, true};
  }

  Cost sum(u32 at) const {
    Cost cost;
    plan_.each_child(at, [&](u32 child) { cost.then(costs_[child]); });
    return cost;
  }

  Cost dearest(u32 at) const {
    Cost cost;
    plan_.each_child(at, [&](u32 child) { cost.or_else(costs_[child]); });
    return cost;
  }

  // What overlaps can't be done before its work is, however many threads share it.
  void share(Cost& cost, double work_us) const {
    cost.work_us = work_us;
    if (threads_ == 0) return;
    cost.time_us = std::max(cost.time_us, work_us / static_cast<double>(threads_));
  }

  Cost wave(u32 at) const {
    Cost cost = dearest(at);
    share(cost, sum(at).work_us);
    return cost;
  }

  Cost flow(u32 at) const {
    const std::vector<std::vector<u32>>& after = plan_.dataflows[plan_.items[at].detail];
    std::vector<Cost> done;       // by child: from the start to its end
    done.reserve(after.size());
    Cost whole;
    plan_.each_child(at, [&](u32 child) {
      Cost cost;
      for (const u32 before : after[done.size()]) cost.or_else(done[before]);
      cost.then(costs_[child]);
      whole.or_else(cost);
      done.push_back(cost);
    });
    share(whole, sum(at).work_us);
    return whole;
  }

  Cost passes(u32 at) {
    const PlanItem& item = plan_.items[at];
    Cost cost = sum(at);
    const std::optional<u64> bound = plan_.loops[item.detail].max_iterations;
    if (bound) {
      cost.repeat(static_cast<double>(*bound));
    } else {
      cost.is_known = false;
      unknown_.push_back(item.node);
    }
    return cost;
  }

  const Plan& plan_;
  const u64 threads_;
  std::vector<Cost> costs_;       // by item
  std::vector<u32> unknown_;      // backwards
  std::unordered_map<std::string_view, double> of_nodes_, of_ops_;
};

}  // namespace

PlanEstimate estimate(const Plan& plan, std::span<const MeasuredTime> measured, u64 threads) {
  return Estimator(plan, measured, threads).estimate();
}

}  // namespace soma
