// Inlines subgraphs and resolves ids.
//
// Problem: subgraphs make every later rule twice as long. Idea: put their nodes, as `outer/inner`,
// where they stand, and let edges into them lead to their roots; the outer node stays, as the one
// that yields: it reads the leaves of what it holds, so its value is that of its only leaf or, as
// for any node that reads several, a map of them, keyed by their own ids. Edges out of it are then
// right as they are. Why it ends: graphs own the graphs within them, so there is no way back; and
// both their nesting and their number of nodes are bounded.
// Cost: linear, and sorting where several edges have the same ends.
#include "compiler/draft.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/plain.hpp"
#include "base/text.hpp"
#include "graph/ends.hpp"
#include "graph/regions.hpp"

namespace soma {

// The numbers of a list end where those of the next begin: filled from behind, each moves its end
// to where it begins.
Adjacency::Adjacency(size_t nodes, std::span<const DraftEdge> edges, By by)
    : first_(nodes + 1, 0), edges_(edges.size()) {
  const auto end_of = [by](const DraftEdge& edge) { return by == By::From ? edge.from : edge.to; };
  for (const DraftEdge& edge : edges) ++first_[end_of(edge)];
  for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  for (u32 i = static_cast<u32>(edges.size()); i-- > 0;) edges_[--first_[end_of(edges[i])]] = i;
}

namespace {

class Inliner {
 public:
  Inliner(Draft& draft, Diagnostics& diagnostics) : draft_(draft), diagnostics_(diagnostics) {}

  void inline_all(const Graph& graph) {
    inline_graph(graph, "", 0);
    find_followers();
    if (draft_.traits.has_entries) {
      draft_.leaving = Adjacency(draft_.nodes.size(), draft_.edges, Adjacency::By::From);
    }
    draft_.entering = Adjacency(draft_.nodes.size(), draft_.edges, Adjacency::By::To);
  }

 private:
  void find_followers() {
    Successors& out = draft_.followers;
    out.first.assign(draft_.nodes.size() + 1, 0);
    out.to.resize(draft_.edges.size());
    for (const DraftEdge& edge : draft_.edges) ++out.first[edge.from];
    for (size_t i = 1; i < out.first.size(); ++i) out.first[i] += out.first[i - 1];
    for (size_t i = draft_.edges.size(); i-- > 0;) {
      out.to[--out.first[draft_.edges[i].from]] = draft_.edges[i].to;
    }
  }

  // Where the nodes of one graph came to lie in the draft.
  struct Placed {
    u32 first = 0;                                    // if they are neighbours
    std::vector<u32> node;                            // if they are not, by node
    std::unordered_map<u32, std::vector<u32>> roots;  // of subgraphs, in the draft

    u32 at(u32 index) const { return node.empty() ? first + index : node[index]; }
    void part(u32 count) {        // of those that were placed until now
      if (!node.empty()) return;
      for (u32 i = 0; i < count; ++i) node.push_back(first + i);
    }
  };

  Placed inline_graph(const Graph& graph, std::string_view prefix, u32 depth) {
    Placed placed;
    const u32 number = static_cast<u32>(draft_.graphs.size());
    draft_.graphs.push_back({&graph, prefix});
    check_ids(graph, prefix);
    placed.first = static_cast<u32>(draft_.nodes.size());
    for (u32 i = 0; i < graph.nodes.size(); ++i) {
      const GraphNode& node = graph.nodes[i];
      const std::string* const inlined =
          prefix.empty() ? nullptr : &keep(std::string(prefix).append(node.id));
      std::vector<u32> leaves;
      if (node.kind == NodeKind::Subgraph && node.graph && !node.graph->nodes.empty()) {
        placed.part(i);
        const std::string_view id = inlined ? std::string_view(*inlined) : node.id.view();
        inline_subgraph(node, id, depth, placed.roots[i], leaves);
      }
      const u32 at = static_cast<u32>(draft_.nodes.size());
      if (!placed.roots.empty()) placed.node.push_back(at);
      draft_.nodes.push_back({&node, inlined, number, node.kind == NodeKind::Branch});
      note(node);
      // Several leaves are keyed by their ids within the subgraph, as if it ran alone.
      for (const u32 leaf : leaves) {
        draft_.edges.push_back({leaf, at, 0, Link::Data, leaves.size() > 1, nullptr});
      }
    }
    add_edges(graph, placed);
    return placed;
  }

  void note(const GraphNode& node) {
    DraftTraits& traits = draft_.traits;
    traits.has_settings |= !node.settings.is_usual();
    traits.has_subgraphs |= node.kind == NodeKind::Subgraph;
    traits.has_loops |= node.kind == NodeKind::Loop;
    traits.has_differentiable |= node.differentiable;
  }

  void inline_subgraph(const GraphNode& node, std::string_view id, u32 depth,
                       std::vector<u32>& roots, std::vector<u32>& leaves) {
    const Graph& inner = *node.graph;
    const size_t nodes = draft_.nodes.size() + inner.nodes.size();
    if (depth == Graph::nesting_max || nodes > Graph::nodes_max) {
      diagnostics_
          .error(Reason::graph_limit,
                 text("subgraph {} makes the graph {}", quoted(id),
                      depth == Graph::nesting_max
                          ? text("nested more than {} deep", Graph::nesting_max)
                          : text("larger than {} nodes", Graph::nodes_max)))
          .node(id);
      return;
    }
    const Placed placed = inline_graph(inner, keep(std::string(id) + "/"), depth + 1);
    const std::vector<RegionLink> links = region_links(inner);
    const Regions regions = find_regions(inner.nodes.size(), links);
    std::vector<bool> is_led_to(inner.nodes.size());
    for (const RegionLink& link : links) {
      if (link.from != RegionLink::nowhere) is_led_to[link.to] = true;
    }
    for (u32 i = 0; i < inner.nodes.size(); ++i) {
      if (!is_led_to[i]) append_entries(placed, i, roots);
    }
    for (const u32 leaf : find_leaves(regions, links)) leaves.push_back(placed.at(leaf));
  }

  // The nodes at which an edge to node `index` arrives.
  static void append_entries(const Placed& placed, u32 index, std::vector<u32>& out) {
    const auto roots = placed.roots.find(index);
    if (roots == placed.roots.end() || roots->second.empty()) {
      out.push_back(placed.at(index));
    } else {
      out.insert(out.end(), roots->second.begin(), roots->second.end());
    }
  }

  // ---- Ids

  static bool is_plain_id(std::string_view id) {
    return !id.empty() && std::all_of(id.begin(), id.end(), [](char letter) {
      return letter != '/' && is_plain({&letter, 1});
    });
  }

  void check_ids(const Graph& graph, std::string_view prefix) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const std::string_view id = graph.nodes[i].id;
      if (is_plain_id(id)) continue;
      const char* fault = nullptr;
      if (id.empty()) fault = "is empty";
      else if (id.find('/') != id.npos) fault = "holds a slash, which stands for a subgraph";
      else if (id.find('\0') != id.npos) fault = "holds the character NUL";
      else if (find_invalid_utf8(id) != id.npos) fault = "is not valid UTF-8";
      if (!fault) continue;
      diagnostics_
          .error(Reason::graph_bad_id,
                 text("the id {} of node {} {}{}", quoted(id), i,
                      prefix.empty() ? "" : text("of subgraph {} ", quoted(prefix)), fault))
          .node(id)
          .advise("give the node another id");
    }
  }

  const std::string& keep(std::string text) { return draft_.texts.emplace_back(std::move(text)); }

  // ---- Edges

  void add_edges(const Graph& graph, const Placed& placed) {
    const EdgeEnds resolved(graph);
    for (const u32 i : resolved.repeats()) {
      const std::string_view id = draft_.nodes[placed.at(i)].id();
      diagnostics_
          .error(Reason::graph_duplicate_id, text("two nodes have the id {}", quoted(id)))
          .node(id)
          .advise("give one of them another id");
    }
    std::vector<u32> entrances;   // by node, once one has any
    for (const GraphEdge& edge : graph.edges) {
      const u32 from = resolved.node(edge.from), to = resolved.node(edge.to);
      if (from == IdIndex::none) complain_unknown(graph, edge, edge.from);
      if (to == IdIndex::none && graph.id_of(edge.from) != graph.id_of(edge.to)) {
        complain_unknown(graph, edge, edge.to);
      }
      if (from == IdIndex::none || to == IdIndex::none) continue;
      if (from == to) {
        diagnostics_
            .error(Reason::graph_self_loop,
                   text("an edge leads from node {} to itself", quoted(graph.id_of(from))))
            .node(graph.id_of(from))
            .edge(graph.id_of(from), graph.id_of(to))
            .advise("work that repeats is a loop node with a body");
        continue;
      }
      add_edge(graph, placed, {from, to, &edge}, entrances);
    }
    check_duplicates(graph, resolved);
  }

  struct Ends {
    u32 from, to;                 // nodes of the graph at hand
    const GraphEdge* edge;
    auto key() const { return std::tie(from, to, edge->kind, edge->output(), edge->input()); }
  };

  void add_edge(const Graph& graph, const Placed& placed, const Ends& ends,
                std::vector<u32>& entrances) {
    const GraphEdge& edge = *ends.edge;
    const NodeKind kind = graph.nodes[ends.from].kind;
    DraftEdge made;
    made.from = placed.at(ends.from);
    made.edge = &edge;
    if (enters_construct(kind, edge)) {
      made.link = Link::Entry;
      draft_.traits.has_entries = true;
      entrances.resize(graph.nodes.size());
      made.entrance = kind == NodeKind::Loop ? 0 : entrances[ends.from]++;
      const bool is_arm = kind != NodeKind::Loop && kind != NodeKind::Step;
      if (is_arm) draft_.nodes[made.from].is_branch = true;
    } else if (edge.kind == EdgeKind::Control) {
      made.link = Link::Order;
    } else {
      made.link = edge.capture ? Link::Capture : Link::Data;
    }
    if (edge.capture || !edge.settings.is_usual()) {
      draft_.traits.has_settings = true;
      check_keys(graph, edge, kind);
    }
    if (placed.roots.empty()) {
      made.to = placed.at(ends.to);
      push(made);
      return;
    }
    entries_.clear();
    append_entries(placed, ends.to, entries_);
    for (const u32 entry : entries_) {
      made.to = entry;
      push(made);
    }
  }

  void push(const DraftEdge& edge) {
    draft_.traits.is_in_order &= edge.from < edge.to;
    draft_.traits.has_only_data &= edge.link == Link::Data;
    draft_.edges.push_back(edge);
  }

  void check_keys(const Graph& graph, const GraphEdge& edge, NodeKind from) {
    const char* fault = nullptr;
    const bool has_arm = edge.arm() || edge.label();
    const bool is_data = edge.kind == EdgeKind::Data;
    if (edge.arm() && edge.label()) fault = "has both an arm and a label: one says it all";
    else if (has_arm && is_data) fault = "carries data and has an arm: arms are control edges";
    else if (has_arm && from == NodeKind::Loop) fault = "enters a loop's body, which has no arms";
    else if (has_arm && from == NodeKind::Step) fault = "is a hand-off, which the step picks";
    else if (edge.capture && !is_data) fault = "captures, which only data edges do";
    else if (!is_data && !(edge.output().empty() && edge.input().empty())) {
      fault = "is a control edge and names a port: no value flows along it";
    }
    if (!fault) return;
    diagnostics_
        .error(Reason::graph_edge,
               text("the edge {} -> {} {}", quoted(graph.id_of(edge.from)),
                    quoted(graph.id_of(edge.to)), fault))
        .edge(graph.id_of(edge.from), graph.id_of(edge.to));
  }

  void complain_unknown(const Graph& graph, const GraphEdge& edge, u32 end) {
    const std::string_view from = graph.id_of(edge.from), to = graph.id_of(edge.to);
    diagnostics_
        .error(Reason::graph_unknown_node,
               text("the edge {} -> {} names {}, and the graph has no such node",
                    quoted(from), quoted(to), quoted(graph.id_of(end))))
        .edge(from, to)
        .advise("add the node, or correct the edge");
  }

  // Only edges between the same two nodes can be duplicates, and hardly ever are there two of them.
  void check_duplicates(const Graph& graph, const EdgeEnds& resolved) {
    std::vector<Ends> together = parallel_edges(graph, resolved);
    std::sort(together.begin(), together.end(), [](const Ends& a, const Ends& b) {
      return a.key() != b.key() ? a.key() < b.key() : a.edge < b.edge;
    });
    for (size_t i = 1; i < together.size(); ++i) {
      const Ends &before = together[i - 1], &ends = together[i];
      if (before.edge == ends.edge || before.key() != ends.key()) continue;
      const bool is_data = ends.edge->kind == EdgeKind::Data;
      diagnostics_
          .error(Reason::graph_duplicate_edge,
                 text("there are two {} edges {} -> {}{}", is_data ? "data" : "control",
                      quoted(graph.id_of(ends.edge->from)), quoted(graph.id_of(ends.edge->to)),
                      is_data ? " between the same ports" : ""))
          .edge(graph.id_of(ends.edge->from), graph.id_of(ends.edge->to))
          .advise("leave one of them");
    }
  }

  // Edges that share both ends with another, some of them twice. If edges come by their targets,
  // and to each by their sources, there are none; of others, those to one target are looked at
  // together.
  static std::vector<Ends> parallel_edges(const Graph& graph, const EdgeEnds& resolved) {
    const auto ends_of = [&](u32 index) {
      const GraphEdge& edge = graph.edges[index];
      return Ends{resolved.node(edge.from), resolved.node(edge.to), &edge};
    };
    const u32 count = static_cast<u32>(graph.edges.size());
    bool by_ends = true, by_target = true;
    Ends last = {0, 0, nullptr};
    for (u32 i = 0; i < count && by_target; ++i) {
      const Ends ends = ends_of(i);
      by_target = ends.to >= last.to;
      by_ends = by_ends && (ends.to > last.to || ends.from > last.from || i == 0);
      last = ends;
    }
    if (by_target && by_ends) return {};
    std::vector<u32> last_from(graph.nodes.size(), IdIndex::none);  // by source: its last edge
    std::vector<Ends> together;
    const auto look_at = [&](u32 index) {
      const Ends ends = ends_of(index);
      if (ends.from == IdIndex::none || ends.to == IdIndex::none || ends.from == ends.to) return;
      const u32 before = std::exchange(last_from[ends.from], index);
      if (before == IdIndex::none || ends_of(before).to != ends.to) return;
      together.push_back(ends_of(before));
      together.push_back(ends);
    };
    if (by_target) {
      for (u32 i = 0; i < count; ++i) look_at(i);
    } else {
      const Successors entering = edges_by_target(graph, resolved);
      for (const u32 i : entering.to) look_at(i);
    }
    return together;
  }

  static Successors edges_by_target(const Graph& graph, const EdgeEnds& resolved) {
    std::vector<Successors::Pair> pairs;  // (target, edge)
    pairs.reserve(graph.edges.size());
    for (u32 i = 0; i < graph.edges.size(); ++i) {
      const u32 to = resolved.node(graph.edges[i].to);
      if (to != IdIndex::none) pairs.push_back({to, i});
    }
    return Successors::of_pairs(static_cast<u32>(graph.nodes.size()), pairs);
  }

  Draft& draft_;
  Diagnostics& diagnostics_;
  std::vector<u32> entries_;      // of the edge at hand
};

}  // namespace

Draft Draft::of(const Graph& graph, Diagnostics& diagnostics) {
  Draft draft;
  draft.nodes.reserve(graph.nodes.size());
  draft.edges.reserve(graph.edges.size());
  Inliner(draft, diagnostics).inline_all(graph);
  return draft;
}

}  // namespace soma
