// Finds what must run before what.
//
// Two things order nodes. Data: whoever reads an edge runs after whoever makes it; the order edge
// from kv_write to attend is data of no bytes. And the stream's one buffer: a residual_add replaces
// the value it reads, so all other readers of that value run before it. A circuit's own order
// respects both (validate() saw to that), hence the relation has no cycle.
#include "circuit/fusion/dependencies.hpp"

#include <algorithm>

namespace soma {

Dependencies find_dependencies(const Circuit& circuit) {
  Dependencies out;
  out.after.resize(circuit.nodes.size());
  for (const Edge& edge : circuit.edges) {
    std::vector<NodeId>& after = out.after[edge.producer];
    after.insert(after.end(), edge.consumers.begin(), edge.consumers.end());
  }
  for (NodeId writer = 0; writer < circuit.nodes.size(); ++writer) {
    const Node& node = circuit.nodes[writer];
    if (node.op != Op::ResidualAdd) continue;
    for (const NodeId reader : circuit.edges[node.inputs[0]].consumers) {
      if (reader == writer) continue;
      out.after[reader].push_back(writer);
      out.replacements.push_back({reader, writer});
    }
  }
  for (std::vector<NodeId>& after : out.after) {
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
  }
  return out;
}

}  // namespace soma
