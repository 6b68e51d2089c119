// Contracts what can only run in one order.
//
// Problem. Recovering a series-parallel tree costs some hundred bytes and a dozen steps for each
// node, and most nodes of most graphs just follow the one before. Idea. A node is joined to the one
// numbered before it if all edges out of that one lead to it, and all edges into it come from it.
// Such neighbours are a run, and a run is one node of a smaller graph, which has the same tree but
// that some leaves stand for sequences. Why right: what comes before one of a run's nodes, and is
// not of the run, comes before all of it, and so with what comes behind. So seen from outside a run
// is one node, and within it each place between two nodes is a cut in series. Numbers stay
// ascending, as a run's are neighbours; chains of others are left as they are. Must come before the
// tree is looked for. Cost: linear; eight bytes a node, and the smaller graph.
#include "compiler/runs.hpp"

#include <algorithm>

namespace soma {

namespace {

// The nodes that do not just follow the one before.
std::vector<u32> beginnings(const Successors& graph) {
  const u32 nodes = graph.nodes();
  std::vector<u32> entering(nodes, 0);  // edges, by node
  for (const u32 node : graph.to) ++entering[node];
  const auto just_follows = [&](u32 node) {
    const std::span<const u32> behind = graph.of(node - 1);
    const bool leads_there =
        std::ranges::all_of(behind, [node](u32 next) { return next == node; });
    return leads_there && !behind.empty() && behind.size() == entering[node];
  };
  std::vector<u32> out;
  for (u32 node = 0; node < nodes; ++node) {
    if (node == 0 || !just_follows(node)) out.push_back(node);
  }
  return out;
}

}  // namespace

Runs find_runs(const Successors& graph) {
  Runs out;
  out.first = beginnings(graph);
  const u32 runs = static_cast<u32>(out.first.size());
  if (runs == graph.nodes()) {
    out.first.clear();
    return out;
  }
  out.first.push_back(graph.nodes());
  std::vector<u32> run_of(runs > 1 ? graph.nodes() : 0);
  for (u32 run = 0; run < runs && runs > 1; ++run) {
    std::fill(run_of.begin() + out.first[run], run_of.begin() + out.first[run + 1], run);
  }
  for (u32 run = 0; run < runs; ++run) {
    for (const u32 next : graph.of(out.first[run + 1] - 1)) out.graph.to.push_back(run_of[next]);
    out.graph.first.push_back(static_cast<u32>(out.graph.to.size()));
  }
  return out;
}

}  // namespace soma
