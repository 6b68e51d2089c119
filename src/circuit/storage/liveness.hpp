// When each stored value is needed: from which group to which.
#pragma once

#include "circuit/fusion/plan.hpp"

namespace soma {

struct LiveRange {
  u32 first = 0, last = 0;  // groups, inclusive
};
// By edge; meaningful for materialised ones. Of a plan that check_plan() has passed.
std::vector<LiveRange> find_live_ranges(const Circuit& circuit, const FusionPlan& plan);

}  // namespace soma
