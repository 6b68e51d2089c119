// Says how to find the graph again in the plan that was made of it, for the digest of its document.
//
// Problem: a plan names the graph that it was compiled from by the digest of its document, and
// printing and digesting that costs more than all else that a compiler does, for something that
// few ask for. Idea: a graph of nothing but nodes and data edges lies in its plan as a whole: the
// nodes' records are the same, and each edge is a row of the plan's sources. What a plan does not
// say is the order in which both were added, so that is kept, where it is another than the plan's:
// four bytes a node, and four an edge. From these the graph is put together when somebody asks.
// Other graphs (an edge that carries no value, a capture, a subgraph, a loop, whose record a plan
// changes) are digested at once. Cost: linear.
#include "compiler/passes.hpp"

namespace soma {

namespace {

bool lies_in_plan(const Draft& draft) {
  const DraftTraits& traits = draft.traits;
  return !traits.has_subgraphs && !traits.has_loops && traits.has_only_data;
}

std::string digest_of_origin(const Plan& plan) {
  Graph graph;
  graph.nodes.resize(plan.nodes.size());
  graph.edges.resize(plan.sources.size());
  std::vector<u32> reader(plan.sources.size()), number(plan.nodes.size());
  for (u32 node = 0; node < graph.nodes.size(); ++node) {
    const u32 place = plan.origin.node(node);
    const PlanNode& record = plan.nodes[place];
    static_cast<NodeSpec&>(graph.nodes[node]) = record;
    number[place] = node;
    for (u32 row = record.sources_begin; row < record.sources_end; ++row) reader[row] = node;
  }
  for (u32 edge = 0; edge < graph.edges.size(); ++edge) {
    const u32 row = plan.origin.edge(edge);
    const Source& source = plan.sources[row];
    GraphEdge& made = graph.edges[edge];
    made.from = number[source.node];
    made.to = reader[row];
    if (source.output != 0) made.edit().output = plan.names[source.output];
    if (source.input != 0) made.edit().input = plan.names[source.input];
  }
  return graph.digest();
}

// Nothing, if each has its own number.
std::vector<u32> unless_same(std::vector<u32> numbers) {
  for (u32 i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != i) return numbers;
  }
  return {};
}

}  // namespace

GraphOrigin find_origin(const Graph& graph, const Draft& draft, const Plan& plan,
                        std::vector<u32> places) {
  if (!lies_in_plan(draft)) return GraphOrigin(graph.digest());
  // row_is(edge, row) for each edge, as long as that is true.
  const auto each_row = [&](auto row_is) {
    for (u32 node = 0; node < draft.nodes.size(); ++node) {
      u32 row = plan.nodes[places[node]].sources_begin;
      for (const u32 edge : draft.entering.of(node)) {
        if (!row_is(edge, row++)) return false;
      }
    }
    return true;
  };
  std::vector<u32> rows;
  if (!each_row([](u32 edge, u32 row) { return edge == row; })) {
    rows.resize(draft.edges.size());
    each_row([&rows](u32 edge, u32 row) {
      rows[edge] = row;
      return true;
    });
  }
  return GraphOrigin(digest_of_origin, unless_same(std::move(places)), std::move(rows));
}

}  // namespace soma
