// The names of modes and variants, as documents and the tool spell them.
#include "plan/plan.hpp"

#include <algorithm>
#include <array>

namespace soma {

namespace {

constexpr std::array<std::string_view, 3> modes = {"inference", "differentiable", "no_cache"};
constexpr std::array<std::string_view, 11> variants = {
    "empty", "execute", "sequence", "parallel", "step",    "loop",
    "branch", "remote", "composite", "stream",  "dataflow"};

static_assert(modes.size() == static_cast<size_t>(PlanMode::NoCache) + 1);
static_assert(variants.size() == static_cast<size_t>(Variant::Dataflow) + 1);

}  // namespace

std::string_view plan_mode_name(PlanMode mode) { return modes[static_cast<size_t>(mode)]; }
std::optional<PlanMode> plan_mode_by_name(std::string_view name) {
  const auto at = std::find(modes.begin(), modes.end(), name);
  if (at == modes.end()) return std::nullopt;
  return static_cast<PlanMode>(at - modes.begin());
}

std::string_view variant_name(Variant variant) { return variants[static_cast<size_t>(variant)]; }

}  // namespace soma
