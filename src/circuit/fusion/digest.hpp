// What a fusion plan is, as one short text, and whether a plan is of a circuit at all.
#pragma once

#include "circuit/fusion/plan.hpp"

namespace soma {

// Over what runs and not over why: emitters, kernels, the members' ops, parameters and weights, and
// how values pass between them; not rules, costs, modes or names. 32 hex digits.
std::string plan_digest(const Circuit& circuit, const FusionPlan& plan);

// Whether `plan` is what fuse() made of `circuit`, by structure and digest. Later stages call it
// before they index anything.
Status check_plan(const Circuit& circuit, const FusionPlan& plan);

}  // namespace soma
