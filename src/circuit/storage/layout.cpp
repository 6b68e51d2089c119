// Says what must lie where before there are offsets: what is outside the arena, and what is written
// over what.
//
// External are the materialised stream edges, which are all one buffer (`hidden`), and bound
// outputs. An output takes the place of an operand where the op table declares the pair, both are
// in the arena and of one shape, and nobody reads the operand afterwards or beside the node: then
// the pair is one piece of memory, which is less to hold and to touch. Packs are for kernels that
// want values side by side; none of today's does.
#include <algorithm>

#include "circuit/fusion/digest.hpp"
#include "circuit/storage/buffer_plan.hpp"
#include "circuit/storage/liveness.hpp"

namespace soma {

namespace {

bool in_arena(const Circuit& circuit, const FusionPlan& plan, EdgeId id) {
  const Edge& edge = circuit.edges[id];
  return plan.edge_states[id] == EdgeState::Materialized && !edge.is_stream &&
         edge.binds == ModelBuffer::None;
}

bool same_shape(const Edge& a, const Edge& b) {
  return a.format == b.format && a.width == b.width && a.rows == b.rows;
}

}  // namespace

Result<Layout> lay_out(const Circuit& circuit, const FusionPlan& plan) {
  SOMA_TRY(check_plan(circuit, plan));
  Layout layout;
  for (EdgeId id = 0; id < circuit.edges.size(); ++id) {
    const bool stored = plan.edge_states[id] == EdgeState::Materialized;
    if (stored && !in_arena(circuit, plan, id)) layout.external.push_back(id);
  }
  const std::vector<LiveRange> live = find_live_ranges(circuit, plan);
  for (u32 g = 0; g < plan.groups.size(); ++g) {
    const std::vector<NodeId>& members = plan.groups[g].nodes;
    for (const NodeId id : members) {
      const Node& node = circuit.nodes[id];
      const i32 operand = op_info(node.op).in_place;
      if (operand < 0) continue;
      const EdgeId in = node.inputs[static_cast<size_t>(operand)], out = node.outputs[0];
      if (!in_arena(circuit, plan, in) || !in_arena(circuit, plan, out)) continue;
      if (!same_shape(circuit.edges[in], circuit.edges[out]) || live[in].last > g) continue;
      const std::vector<NodeId>& readers = circuit.edges[in].consumers;
      const bool shared_within = std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
        return reader != id && std::find(members.begin(), members.end(), reader) != members.end();
      });
      if (!shared_within) layout.aliases.push_back({out, in});
    }
  }
  return layout;
}

}  // namespace soma
