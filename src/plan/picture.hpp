// A plan as a picture that needs nothing else: no network, no script, no font of its own.
#pragma once

#include "plan/plan.hpp"

namespace soma {

// One <svg>: boxes and frames as the plan nests. The same bytes for the same plan. Of a plan that
// is larger or deeper than a picture can show, the picture says how much was left out.
std::string plan_svg(const Plan& plan);
// One page: the same picture, an outline that folds, and what is known of each node that it shows.
std::string plan_html(const Plan& plan);

}  // namespace soma
