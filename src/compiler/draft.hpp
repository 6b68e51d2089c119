// A graph as the compiler works on it: subgraphs inlined, ids resolved to indices.
//
// Draft::of is the first pass. What it can't resolve it reports and leaves out, so that every edge
// of a draft has two ends, and later passes find more to say about the rest. Nodes and edges stand
// in insertion order, which is the only tie-break anywhere; the nodes of a subgraph stand where it
// stands, before it. A draft looks into its graph, which must outlive it.
#pragma once

#include <deque>

#include "compiler/diagnostics.hpp"
#include "compiler/successors.hpp"
#include "graph/graph.hpp"

namespace soma {

// What an edge means depends on where it leaves.
enum class Link : u8 {
  Data,     // a value flows
  Capture,  // a value flows from outside into a body or arm, which does not make it a part of it
  Order,    // nothing but: after
  Entry,    // into a loop's body, an arm or a hand-off
};

struct DraftNode {
  const GraphNode* spec = nullptr;
  const std::string* inlined = nullptr;  // "outer/inner"; none: the spec's id as it is
  u32 graph = 0;             // in Draft::graphs: the one that it is a node of
  bool is_branch = false;    // its edges carry arms

  std::string_view id() const { return inlined ? std::string_view(*inlined) : spec->id.view(); }
};

struct DraftGraph {
  const Graph* graph = nullptr;
  std::string_view inside;   // "outer/": what stands before the ids of its nodes
};

struct DraftEdge {
  u32 from = 0, to = 0;
  u32 entrance = 0;          // of an Entry: which of its node's. A loop has one, with many edges
  Link link = Link::Data;
  bool is_one_leaf = false;  // from one of several leaves of a subgraph: keyed by the leaf's id
  const GraphEdge* edge = nullptr;  // of the graph; none: from a leaf of a subgraph to its node
};

// Edges by node, each list in insertion order.
class Adjacency {
 public:
  enum class By : u8 { From, To };
  Adjacency() = default;
  Adjacency(size_t nodes, std::span<const DraftEdge> edges, By by);
  std::span<const u32> of(u32 node) const {  // nothing, if it was not filled
    if (first_.empty()) return {};
    return std::span(edges_).subspan(first_[node], first_[node + 1] - first_[node]);
  }
  // Asks for the memory in which a node's list is said to lie.
  void fetch(u32 node) const { __builtin_prefetch(&first_[node]); }

 private:
  std::vector<u32> first_, edges_;
};

// What a draft has at all: a pass is done at once with a draft that has nothing for it.
struct DraftTraits {
  bool has_settings = false;       // a node or an edge says more than most do
  bool has_entries = false;        // a loop, branch or step is entered, or a node that has arms
  bool has_loops = false;
  bool has_subgraphs = false;
  bool has_only_data = true;       // each edge is Link::Data
  bool has_differentiable = false;
  bool is_in_order = true;         // each edge leads to a node that was added later
};

struct Draft {
  DraftTraits traits;
  std::vector<DraftGraph> graphs;  // the first is the whole
  std::vector<DraftNode> nodes;
  std::vector<DraftEdge> edges;
  Successors followers;            // of nodes: those that their edges lead to
  Adjacency entering;
  Adjacency leaving;               // only if there are entries
  std::deque<std::string> texts;  // that ids look into

  // graph_bad_id, graph_duplicate_id, graph_unknown_node, graph_duplicate_edge, graph_self_loop,
  // graph_edge, graph_limit.
  static Draft of(const Graph& graph, Diagnostics& diagnostics);

  // The ports that an edge names, or nothing.
  std::string_view output_of(const DraftEdge& edge) const {
    return edge.edge ? std::string_view(edge.edge->output()) : std::string_view();
  }
  std::string_view input_of(const DraftEdge& edge) const {
    if (edge.edge) return edge.edge->input();
    return edge.is_one_leaf ? nodes[edge.from].spec->id.view() : std::string_view();
  }
  // The graph whose edge it is, and the id that this has its target by there.
  const DraftGraph& graph_of(const DraftEdge& edge) const {
    return graphs[nodes[edge.from].graph];
  }
  std::string_view target_of(const DraftEdge& edge) const {
    return graph_of(edge).graph->id_of(edge.edge->to);
  }

  // Does anything follow the node? A loop's own body does not: the loop stands for it.
  bool is_followed(u32 node) const {
    if (!traits.has_entries) return !followers.of(node).empty();
    for (const u32 edge : leaving.of(node)) {
      const bool is_body = edges[edge].link == Link::Entry &&
                           nodes[node].spec->kind == NodeKind::Loop;
      if (!is_body) return true;
    }
    return false;
  }
};

}  // namespace soma
