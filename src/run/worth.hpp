// What waves cost, and which of them are worth more than one thread.
#pragma once

#include "run/course.hpp"

namespace soma {

class Worth {
 public:
  Worth(const Plan& plan, const Course& course);

  // From what nodes declare; nothing is known of a wave with a node that declares none.
  std::vector<WorthyWave> declared(u32 threads);

  // Runs that are measured become rare. Adding is for the thread that called the node.
  bool begin_run();
  bool is_measuring() const { return is_measuring_; }
  void add(u32 node, i64 took_ns);
  // After a run that was measured and ended well; `passes` of loops as they were at its end.
  std::vector<WorthyWave> learn(std::span<const u64> passes, u32 threads);

  // How much sooner a run ends with all its threads awake, as far as is known.
  i64 gain_ns() const { return gain_ns_; }
  // How long a run takes until it comes to the first wave that is shared.
  i64 lead_ns() const { return lead_ns_; }
  // Known to be too small to be opened in the middle.
  bool is_small(u32 item) const { return !is_small_.empty() && is_small_[item]; }
  bool all_small() const { return all_small_; }

 private:
  double cost(u32 item, u32 item_end) const;
  double times(u32 node, std::span<const u64> passes) const;
  std::vector<WorthyWave> choose(std::span<const u64> passes, u32 threads);

  const Plan& plan_;
  const Course& course_;
  std::vector<float> cost_ns_;       // by node, of a whole run
  std::vector<double> before_ns_;    // by node, of all nodes before it; one more
  std::vector<bool> is_small_;       // by item, of waves; empty: nothing is known
  bool all_small_ = false;
  bool is_measuring_ = false;
  u64 runs_ = 0;
  i64 clock_ns_ = 0;                 // what measuring adds to a node
  i64 gain_ns_ = 0, lead_ns_ = 0;
};

}  // namespace soma
