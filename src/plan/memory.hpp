// What a plan costs whoever keeps it.
#pragma once

#include "plan/plan.hpp"

namespace soma {

// About how much memory a plan takes, for bounds on many of them. Linear in its nodes.
u64 plan_memory_bytes(const Plan& plan);

}  // namespace soma
