// Which nodes the ends of a graph's edges are.
#pragma once

#include "graph/graph.hpp"
#include "graph/id_index.hpp"
#include "value/repeats.hpp"

namespace soma {

// An end is the first node that has its id. That is the node itself, and no table of ids is needed,
// but where ids stand twice, or an edge names an id that no node had when the edge came.
class EdgeEnds {
 public:
  explicit EdgeEnds(const Graph& graph)
      : graph_(graph),
        repeats_(find_repeats(static_cast<u32>(graph.nodes.size()),
                              [&](u32 i) -> const Name& { return graph.nodes[i].id; })) {
    if (repeats_.empty() && graph.strangers.empty()) return;
    index_.emplace(graph.nodes.size());
    for (const GraphNode& node : graph.nodes) index_->add(node.id);
  }

  // IdIndex::none: there is no such node.
  u32 node(u32 end) const {
    if (!index_) return end < graph_.nodes.size() ? end : IdIndex::none;
    return index_->find(graph_.id_of(end));
  }
  // Nodes whose ids others have before them.
  const std::vector<u32>& repeats() const { return repeats_; }

 private:
  const Graph& graph_;
  std::vector<u32> repeats_;
  std::optional<IdIndex> index_;
};

}  // namespace soma
