// How long a plan takes, from what its nodes declare and from what was measured. Runs nothing.
#pragma once

#include "plan/plan.hpp"

namespace soma {

// What one node took, at the median of its runs. Where both are known, a node's own goes before
// that of its op.
struct MeasuredTime {
  enum class Of : u8 { Node, Op };
  Of of = Of::Node;
  std::string name;               // an id, or the name of an op
  double median_us = 0;           // negative or no number: passed over
};

struct PlanEstimate {
  // With all threads at hand. Known only if all of it is known.
  std::optional<double> total_us;
  // What is known adds up to these; where something is unknown, it comes on top.
  double known_us = 0;            // of the total
  double critical_path_us = 0;    // if there were a thread for everything
  double work_us = 0;             // of all threads together
  std::vector<u32> unknown;       // the nodes without a time, and the loops without a bound
};

// `threads`: how many a run has; 0: as many as it can use.
PlanEstimate estimate(const Plan& plan, std::span<const MeasuredTime> measured, u64 threads);

}  // namespace soma
