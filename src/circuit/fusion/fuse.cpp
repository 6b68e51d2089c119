// How a circuit becomes a fusion plan, from beginning to end.
//
// Pure: the outcome depends on the four arguments only, and holds no reference to any of them.
#include "circuit/fusion/digest.hpp"
#include "circuit/fusion/order.hpp"
#include "circuit/fusion/select.hpp"

#include "base/problems.hpp"

namespace soma {

namespace {

Status check_request(const KernelCatalogue& catalogue, const PlanRequest& request) {
  if (request.rows_max < 1 || request.rows_max > plan_rows_max) {
    return fail(Reason::argument_range, "a plan serves at most 1..{} rows, {} were asked for",
                plan_rows_max, request.rows_max);
  }
  if (!(catalogue.launch_ns >= 0) || !(catalogue.bytes_per_ns > 0)) {
    return fail(Reason::argument_range,
                "a catalogue's costs must be positive: launch_ns is {}, "
                "bytes_per_ns {}",
                catalogue.launch_ns, catalogue.bytes_per_ns);
  }
  return {};
}

Status refuse_uncovered(const Circuit& circuit, const Selection& selection,
                        const PlanRequest& request) {
  Problems problems;
  for (const NodeId id : selection.uncovered) {
    const Node& node = circuit.nodes[id];
    problems.add(fail(Reason::fusion_uncovered,
                      "no rule covers node '{}' ({}) in mode {}, {} rows, "
                      "policy {}; explain it to see why each rule failed",
                      node.id, canonical_name(node), mode_name(request.mode), request.rows_max,
                      policy_name(request.policy)));
  }
  return std::move(problems).status();
}

Group make_group(const Candidate& candidate) {
  Group group;
  group.rule = candidate.rule->id;
  group.emitter = candidate.rule->emitter;
  group.kernels = candidate.rule->kernels;
  group.numerics = candidate.rule->numerics;
  group.nodes = candidate.nodes;
  group.launches = static_cast<u32>(candidate.rule->kernels.size());
  group.saved_ns = candidate.saved_ns;
  return group;
}

// A value that its group stores is materialised, one that it does not is fused; an order edge has
// no bytes, so there is nothing to make.
std::vector<EdgeState> edge_states(const Circuit& circuit, const Selection& selection) {
  std::vector<EdgeState> states(circuit.edges.size(), EdgeState::Absent);
  for (const Candidate& candidate : selection.chosen) {
    for (size_t i = 0; i < candidate.nodes.size(); ++i) {
      const EdgeId output = circuit.nodes[candidate.nodes[i]].outputs[0];
      if (circuit.edges[output].width == 0) continue;
      const bool stored = candidate.rule->pattern.elements[i].stored;
      states[output] = stored ? EdgeState::Materialized : EdgeState::Fused;
    }
  }
  return states;
}

}  // namespace

Result<FusionPlan> fuse(const Circuit& circuit, const FusionRules& rules,
                        const KernelCatalogue& catalogue, const PlanRequest& request) {
  SOMA_TRY(circuit.validate());
  SOMA_TRY(check_request(catalogue, request));

  const Dependencies dependencies = find_dependencies(circuit);
  const Selection selection = select(circuit, dependencies, rules.table(), catalogue, request);
  // From here on every node has at most one owner, and the owners can be put in order.

  SOMA_TRY(refuse_uncovered(circuit, selection, request));
  // From here on every node has exactly one owner.

  FusionPlan plan;
  plan.request = request;
  plan.architecture = circuit.architecture;
  plan.edge_states = edge_states(circuit, selection);
  for (const Candidate& candidate : selection.chosen) plan.groups.push_back(make_group(candidate));
  SOMA_ASSIGN(plan.groups, order_groups(dependencies, std::move(plan.groups)));
  // From here on the order of groups is the order of execution.

  plan.digest = plan_digest(circuit, plan);
  return plan;
}

}  // namespace soma
