// When each stored value is needed: from the group that makes it to the last that reads it.
//
// A bound output is read by the caller after the step, so it lives to the last group.
#include "circuit/storage/liveness.hpp"

#include <algorithm>

namespace soma {

std::vector<LiveRange> find_live_ranges(const Circuit& circuit, const FusionPlan& plan) {
  std::vector<LiveRange> ranges(circuit.edges.size());
  const u32 groups = static_cast<u32>(plan.groups.size());
  for (u32 g = 0; g < groups; ++g) {
    for (const NodeId id : plan.groups[g].nodes) {
      const Node& node = circuit.nodes[id];
      for (const EdgeId output : node.outputs) {
        const bool bound = circuit.edges[output].binds != ModelBuffer::None;
        ranges[output] = {g, bound ? groups - 1 : g};
      }
      for (const EdgeId input : node.inputs) {
        ranges[input].last = std::max(ranges[input].last, g);
      }
    }
  }
  return ranges;
}

}  // namespace soma
