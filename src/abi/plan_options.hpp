// Options that say what to plan, read.
#pragma once

#include "abi/options.hpp"
#include "circuit/fusion/plan.hpp"

namespace soma::wall {

Policy policy_option(const Settings& settings);  // of kind plan or session

struct PlanOptions {
  static Result<PlanOptions> of(const soma_options* options);

  PlanRequest request;
  FusionRules rules;
};

}  // namespace soma::wall
