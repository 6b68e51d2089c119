// The bare shape of an acyclic graph: who follows whom.
#pragma once

#include "base/core.hpp"

namespace soma {

struct Successors {
  std::vector<u32> first = {0};   // of node i: to[first[i]] up to to[first[i + 1]]
  std::vector<u32> to;

  u32 nodes() const { return static_cast<u32>(first.size() - 1); }
  std::span<const u32> of(u32 node) const {
    return std::span(to).subspan(first[node], first[node + 1] - first[node]);
  }

  // From (from, to) pairs, any number of times the same; each list in the order of the pairs.
  struct Pair {
    u32 from, to;
  };
  static Successors of_pairs(u32 nodes, std::span<const Pair> pairs);
  // The same edges, backwards.
  Successors reversed() const;
};

// Kahn's algorithm: always the first ready node in the order of their numbers. Nodes on a cycle,
// and behind one, are missing. Linear, but for a factor of log64(nodes).
std::vector<u32> topological_order(const Successors& graph);

// Cycles among the nodes that `order` lacks, each in the direction of its edges, its first node
// once: none shares a node with another, and none is missed but those that do. Linear.
std::vector<std::vector<u32>> find_cycles(const Successors& graph, std::span<const u32> order);

}  // namespace soma
