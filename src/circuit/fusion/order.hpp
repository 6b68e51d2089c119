// Puts groups in an order in which they can run.
#pragma once

#include "circuit/fusion/dependencies.hpp"
#include "circuit/fusion/plan.hpp"

namespace soma {

// The groups hold each node once. Fails only by a bug: selection makes no circles.
Result<std::vector<Group>> order_groups(const Dependencies& dependencies,
                                        std::vector<Group> groups);

}  // namespace soma
