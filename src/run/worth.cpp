// Learns what waves cost, and chooses those to share.
//
// Problem. Sharing a wave takes half a microsecond if threads are awake, and some thirty to wake
// one. Most waves of a graph are cheaper than that, but nothing says so beforehand.
//
// Idea. Some runs are measured, with a clock before and after each call: the first two, then ever
// fewer. The cost of any part of the tree is a difference of two sums. A wave is worth sharing if
// the run ends sooner by more than sharing costs: what is gained is all of its cost but that of the
// longest branch, or of an even part. Within such a wave, only a branch that is long beside the
// others is looked into, since the others keep all threads busy by themselves. Waves known to be
// small are not opened in the middle either. A stream is weighed as a wave of its nodes, as these
// run at the same time, but for the first chunks and the last.
//
// Why that is enough. What is learned decides about speed only: a wave that is not shared because
// of it is still opened by the sentinel if it takes long.
//
// Cost. A measured run costs some 60 ns a node more, and learning is linear.
#include "run/worth.hpp"

#include <algorithm>
#include <bit>

#include "base/clock.hpp"

namespace soma {

namespace {

constexpr double gain_min_ns = 10'000;   // of a wave that is shared at once: that takes one
constexpr double small_ns = 10'000;      // a wave below is never opened in the middle
constexpr double queued_ns = 60;         // what a branch costs more that comes from a queue
constexpr double share_min_ns = 2'000;   // of a share: taking one costs about 50
constexpr u64 measured_each = 256;       // runs

}  // namespace

Worth::Worth(const Plan& plan, const Course& course) : plan_(plan), course_(course) {}

std::vector<WorthyWave> Worth::declared(u32 threads) {
  cost_ns_.assign(plan_.nodes.size(), 0);
  bool any = false;
  for (u32 node = 0; node < plan_.nodes.size(); ++node) {
    if (!plan_.nodes[node].cost_us()) continue;
    cost_ns_[node] = static_cast<float>(std::max(*plan_.nodes[node].cost_us(), 0.0) * 1e3);
    any = true;
  }
  if (!any) return {};
  std::vector<WorthyWave> waves = choose({}, threads);
  is_small_.clear();                 // nodes that declare nothing may take any time
  all_small_ = false;
  return waves;
}

bool Worth::begin_run() {
  ++runs_;
  is_measuring_ = false;
  if (!std::has_single_bit(runs_) && runs_ % measured_each != 0) return false;
  cost_ns_.assign(plan_.nodes.size(), 0);
  is_measuring_ = true;
  clock_ns_ = INT64_MAX;
  for (int i = 0; i < 8; ++i) {
    const i64 before_ns = now_ns();
    clock_ns_ = std::min(clock_ns_, now_ns() - before_ns);
  }
  return true;
}

void Worth::add(u32 node, i64 took_ns) {
  cost_ns_[node] += static_cast<float>(std::max(took_ns - clock_ns_, i64{0}));
}

std::vector<WorthyWave> Worth::learn(std::span<const u64> passes, u32 threads) {
  is_measuring_ = false;
  return choose(passes, threads);
}

double Worth::cost(u32 item, u32 item_end) const {
  const Region nodes = course_.items(item, item_end);
  return before_ns_[nodes.end] - before_ns_[nodes.begin];
}

// How often the node ran, if all passes of outer loops were like the last.
double Worth::times(u32 node, std::span<const u64> passes) const {
  double out = 1;
  if (passes.empty()) return out;
  for (const u32 loop : course_.loops_around(node)) {
    out *= static_cast<double>(std::max(passes[loop], u64{1}));
  }
  return out;
}

std::vector<WorthyWave> Worth::choose(std::span<const u64> passes, u32 threads) {
  before_ns_.assign(1, 0);
  before_ns_.reserve(cost_ns_.size() + 1);
  for (const float cost : cost_ns_) before_ns_.push_back(before_ns_.back() + double{cost});
  is_small_.assign(plan_.items.size(), false);
  all_small_ = true;
  double gained_ns = 0;
  u32 looked_behind = 0;             // items before it lie in a wave that needs no more threads
  u32 shared_behind = 0;             // items before it lie in a wave that is shared
  std::vector<WorthyWave> waves;
  for (u32 item = 0; item < plan_.items.size(); ++item) {
    const Variant variant = plan_.items[item].variant;
    if (!is_wave(variant) && variant != Variant::Stream) continue;
    const Region nodes = course_.items(item, plan_.items[item].end);
    const double all = cost(item, plan_.items[item].end);
    const double once = times(nodes.begin, passes);
    is_small_[item] = all / once < small_ns;
    all_small_ = all_small_ && is_small_[item];
    if (is_small_[item] || item < looked_behind) continue;
    double longest = 0, branches = 0;
    plan_.each_child(item, [&](u32 child) {
      longest = std::max(longest, cost(child, plan_.items[child].end));
      ++branches;
    });
    const double even = all / threads;
    const bool is_queued = plan_.items[item].variant == Variant::Dataflow;
    const double gain = all - std::max(longest, even) - (is_queued ? branches * queued_ns : 0);
    if (gain / once < gain_min_ns) continue;
    const double node_ns = all / once / (nodes.end - nodes.begin);
    if (waves.empty()) lead_ns_ = static_cast<i64>(before_ns_[nodes.begin]);
    waves.push_back({item, static_cast<u32>(std::clamp(share_min_ns / node_ns, 1.0, 1e9)),
                     static_cast<i64>(gain / once)});
    if (item >= shared_behind) gained_ns += gain;
    shared_behind = std::max(shared_behind, plan_.items[item].end);
    if (longest < even / 2) looked_behind = plan_.items[item].end;
  }
  gain_ns_ = static_cast<i64>(gained_ns);
  before_ns_ = {};
  cost_ns_ = {};
  return waves;
}

}  // namespace soma
