// What a fusion plan is, as one short text.
//
// Edges are numbered by their first mention while the groups are walked in order: neither names nor
// the order in which a builder happened to make edges reach the digest, but every connection does.
#include "circuit/fusion/digest.hpp"

#include "base/hash.hpp"

namespace soma {

namespace {

class PlanDigest {
 public:
  PlanDigest(const Circuit& circuit, const FusionPlan& plan)
      : circuit_(circuit), plan_(plan), numbers_(circuit.edges.size()) {}

  std::string run() && {
    digest_.text("soma fusion plan, schema 1");
    digest_.number(plan_.request.rows_max).number(static_cast<u64>(plan_.request.policy));
    digest_.number(static_cast<u64>(circuit_.layers));
    digest_.number(static_cast<u64>(circuit_.kv_heads));
    digest_.number(static_cast<u64>(circuit_.head_dim));
    digest_.number(plan_.groups.size());
    for (const Group& group : plan_.groups) add(group);
    return digest_.hex();
  }

 private:
  void add(const Group& group) {
    digest_.text(group.emitter).number(group.launches).number(group.copies);
    digest_.number(group.kernels.size());
    for (const std::string& kernel : group.kernels) digest_.text(kernel);
    digest_.number(group.nodes.size());
    for (const NodeId node : group.nodes) add(circuit_.nodes[node]);
  }

  void add(const Node& node) {
    const OpInfo& info = op_info(node.op);
    digest_.text(info.name);
    digest_.number(info.has_state ? static_cast<u64>(node.layer) : 0);
    for (const ParamInfo& param : info.params) digest_.real(node.param(param.name));
    for (const WeightRef& weight : node.weights) {
      digest_.text(weight.tensor).number(static_cast<u64>(weight.format));
      digest_.number(weight.rows).number(weight.columns);
    }
    for (const EdgeId input : node.inputs) add(input);
    for (const EdgeId output : node.outputs) add(output);
  }

  void add(EdgeId id) {
    if (numbers_[id] != 0) {
      digest_.number(numbers_[id]);
      return;
    }
    numbers_[id] = ++numbered_;
    const Edge& edge = circuit_.edges[id];
    digest_.number(numbers_[id]).number(static_cast<u64>(edge.format)).number(edge.width);
    digest_.number(static_cast<u64>(edge.rows)).number(edge.is_stream ? 1 : 0);
    digest_.number(static_cast<u64>(edge.binds));
    digest_.number(static_cast<u64>(plan_.edge_states[id]));
  }

  const Circuit& circuit_;
  const FusionPlan& plan_;
  std::vector<u64> numbers_;  // by edge; 0: not met yet
  u64 numbered_ = 0;
  Digest digest_;
};

}  // namespace

std::string plan_digest(const Circuit& circuit, const FusionPlan& plan) {
  return PlanDigest(circuit, plan).run();
}

Status check_plan(const Circuit& circuit, const FusionPlan& plan) {
  std::vector<bool> owned(circuit.nodes.size());
  size_t members = 0;
  bool sound = plan.edge_states.size() == circuit.edges.size() && plan.request.rows_max >= 1 &&
               plan.request.rows_max <= plan_rows_max;
  for (const Group& group : plan.groups) {
    sound = sound && !group.nodes.empty();
    for (const NodeId node : group.nodes) {
      sound = sound && node < owned.size() && !owned[node];
      if (sound) owned[node] = true;
      ++members;
    }
  }
  if (!sound || members != owned.size()) {
    return fail(Reason::internal,
                "the fusion plan is not one of this circuit: {} nodes in groups, "
                "{} in the circuit, or one in two groups",
                members, owned.size());
  }
  const std::string digest = plan_digest(circuit, plan);
  if (digest != plan.digest) {
    return fail(Reason::internal,
                "the fusion plan was changed, or made for another circuit: its "
                "digest is {}, but of what it says {}",
                plan.digest, digest);
  }
  return {};
}

}  // namespace soma
