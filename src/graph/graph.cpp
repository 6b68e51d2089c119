// The plain parts of a graph: copies, looking up a node.
#include "graph/graph.hpp"

#include <algorithm>

namespace soma {

namespace {

// Made by the compiler and never destroyed: nothing runs before the library is called.
union UsualEdge {
  char nothing;                   // a type for constants has one such member
  EdgeSettings settings;
  constexpr UsualEdge() : settings() {}
#ifdef __clang__
  ~UsualEdge() {}
};
[[clang::no_destroy]] constinit const UsualEdge usual_edge;
#else
  constexpr ~UsualEdge() {}              // so that nothing is registered to be done at exit
};
constexpr UsualEdge usual_edge;
#endif

}  // namespace

template class Rare<EdgeSettings>;

const EdgeSettings& EdgeSettings::usual() { return usual_edge.settings; }

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
  out.strangers = strangers;
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

u32 Graph::end_named(std::string_view id) {
  const GraphNode* const node = find(id);
  return node ? static_cast<u32>(node - nodes.data()) : add_stranger(std::string(id));
}

u32 Graph::add_stranger(std::string id) {
  strangers.push_back(std::move(id));
  return first_stranger + static_cast<u32>(strangers.size() - 1);
}

std::string_view Graph::id_of(u32 end) const {
  if (end < nodes.size()) return nodes[end].id;
  const bool is_stranger = end >= first_stranger && end - first_stranger < strangers.size();
  return is_stranger ? std::string_view(strangers[end - first_stranger]) : std::string_view();
}

}  // namespace soma
