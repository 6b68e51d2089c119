// Which nodes have the same place in two plans.
#pragma once

#include "plan/place.hpp"

namespace soma {

struct Pair {                     // one thing in both plans
  u32 before, after;
};

// Of nodes that both plans have, in the order of the plan after: those that did not move, by their
// number there.
std::vector<bool> find_staying(const PlanLayout& before, const PlanLayout& after,
                               const std::vector<Pair>& common);

}  // namespace soma
