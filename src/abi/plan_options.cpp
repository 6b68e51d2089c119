// Reads options that say what to plan.
#include "abi/plan_options.hpp"

namespace soma::wall {

Policy policy_option(const Settings& settings) {
  return settings.text("policy") == "reference" ? Policy::Reference : Policy::Fast;
}

Result<PlanOptions> PlanOptions::of(const soma_options* options) {
  SOMA_ASSIGN(const Settings settings, Settings::of(options, OptionKind::Plan));
  PlanRequest request;
  request.mode = mode_by_name(settings.text("mode")).value();
  request.rows_max = static_cast<u64>(settings.integer("rows"));
  request.policy = policy_option(settings);
  const std::string own = settings.text("rules");
  SOMA_ASSIGN(FusionRules rules, FusionRules::parse(own.empty() ? embedded_rules() : own));
  return PlanOptions{request, std::move(rules)};
}

}  // namespace soma::wall
