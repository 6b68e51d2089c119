// The plain parts of a graph: copies, looking up a node.
#include "graph/graph.hpp"

#include <algorithm>

namespace soma {

// Here and not in the header, since a node owns a Graph, which the header has not defined there.
GraphNode::GraphNode() = default;
GraphNode::GraphNode(GraphNode&&) noexcept = default;
GraphNode& GraphNode::operator=(GraphNode&&) noexcept = default;
GraphNode::~GraphNode() = default;

GraphNode GraphNode::clone() const {
  GraphNode out;
  static_cast<NodeSpec&>(out) = *this;
  if (graph) out.graph = std::make_unique<Graph>(graph->clone());
  return out;
}

Graph Graph::clone() const {
  Graph out;
  out.nodes.reserve(nodes.size());
  for (const GraphNode& node : nodes) out.nodes.push_back(node.clone());
  out.edges = edges;
  return out;
}

u32 Graph::depth() const {
  u32 deepest = 0;
  for (const GraphNode& node : nodes) {
    if (node.graph) deepest = std::max(deepest, node.graph->depth() + 1);
  }
  return deepest;
}

const GraphNode* Graph::find(std::string_view id) const {
  const auto at = std::find_if(nodes.begin(), nodes.end(),
                               [id](const GraphNode& node) { return node.id == id; });
  return at == nodes.end() ? nullptr : &*at;
}

}  // namespace soma
