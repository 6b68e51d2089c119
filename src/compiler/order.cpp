// Puts nodes into the order in which one thread would run them.
//
// Problem: many orders respect the edges, and everything that depends on an order (which branch is
// the first, whose error counts) has to be the same for the same graph, on every machine, and
// foreseeable. Idea: Kahn's algorithm, and among the nodes that are ready always the one that was
// added first. The ready ones are bits in a tree of words of 64, so that the first one is found in
// four steps whatever their number. Why it ends: each step takes a node for good. What is left over
// lies on a cycle or behind one; walking back from such a node along the others must come to a node
// twice, and that part of the walk is a cycle.
#include <algorithm>

#include "base/text.hpp"
#include "compiler/passes.hpp"
#include "compiler/successors.hpp"

namespace soma {

namespace {

// A set of numbers below `size`, which gives its least one.
class FirstReady {
 public:
  explicit FirstReady(size_t size) {
    do {
      size = std::max<size_t>((size + 63) / 64, 1);
      levels_.emplace_back(size, 0);
    } while (size > 1);
  }

  void insert(u32 number) {
    for (std::vector<u64>& level : levels_) {
      u64& word = level[number / 64];
      const bool was_empty = word == 0;
      word |= u64{1} << (number % 64);
      if (!was_empty) return;
      number /= 64;
    }
  }
  bool is_empty() const { return levels_.back()[0] == 0; }
  u32 take_first() {
    u32 number = 0;
    for (size_t i = levels_.size(); i-- > 0;) {
      number = number * 64 + static_cast<u32>(__builtin_ctzll(levels_[i][number]));
    }
    u32 at = number;
    for (std::vector<u64>& level : levels_) {
      u64& word = level[at / 64];
      word &= word - 1;           // it was the lowest of its word
      if (word != 0) break;
      at /= 64;
    }
    return number;
  }

 private:
  std::vector<std::vector<u64>> levels_;  // a bit says that the word below it has bits
};

}  // namespace

Successors Successors::of_pairs(u32 nodes, std::span<const Pair> pairs) {
  Successors out;
  out.first.assign(nodes + size_t{1}, 0);
  out.to.resize(pairs.size());
  for (const Pair& pair : pairs) ++out.first[pair.from];
  for (size_t i = 1; i < out.first.size(); ++i) out.first[i] += out.first[i - 1];
  // Filled from behind, each list's start moves from its end to where it belongs.
  for (size_t i = pairs.size(); i-- > 0;) out.to[--out.first[pairs[i].from]] = pairs[i].to;
  return out;
}

Successors Successors::reversed() const {
  Successors out;
  out.first.assign(first.size(), 0);
  out.to.resize(to.size());
  for (const u32 node : to) ++out.first[node];
  for (size_t i = 1; i < out.first.size(); ++i) out.first[i] += out.first[i - 1];
  for (u32 node = nodes(); node-- > 0;) {
    for (u32 at = first[node + 1]; at-- > first[node];) out.to[--out.first[to[at]]] = node;
  }
  return out;
}

std::vector<u32> topological_order(const Successors& graph) {
  std::vector<u32> waits_for(graph.nodes(), 0);
  for (const u32 node : graph.to) ++waits_for[node];
  FirstReady ready(graph.nodes());
  for (u32 i = 0; i < graph.nodes(); ++i) {
    if (waits_for[i] == 0) ready.insert(i);
  }
  std::vector<u32> order;
  order.reserve(graph.nodes());
  while (!ready.is_empty()) {
    order.push_back(ready.take_first());
    for (const u32 next : graph.of(order.back())) {
      if (--waits_for[next] == 0) ready.insert(next);
    }
  }
  return order;
}

std::vector<std::vector<u32>> find_cycles(const Successors& graph, std::span<const u32> order) {
  constexpr u32 unseen = 0, taken = 1;
  std::vector<u32> seen(graph.nodes(), unseen);  // or the walk that came by
  for (const u32 node : order) seen[node] = taken;
  const Successors before = graph.reversed();
  const auto some_before = [&](u32 node) {
    const std::span<const u32> all = before.of(node);
    return *std::find_if(all.begin(), all.end(), [&](u32 other) { return seen[other] != taken; });
  };
  std::vector<std::vector<u32>> cycles;
  u32 walk = taken;
  for (u32 start = 0; start < graph.nodes(); ++start) {
    if (seen[start] != unseen) continue;
    ++walk;
    u32 node = start;
    for (; seen[node] == unseen; node = some_before(node)) seen[node] = walk;
    if (seen[node] != walk) continue;  // came to what an earlier walk has seen
    const u32 first = node;
    std::vector<u32>& cycle = cycles.emplace_back();
    do {
      cycle.push_back(node);
      node = some_before(node);
    } while (node != first);
    std::reverse(cycle.begin(), cycle.end());
  }
  return cycles;
}

namespace {

// "a -> b -> a": all of it, unless nobody could read it any more.
std::string path_of(const Draft& draft, std::span<const u32> cycle) {
  constexpr size_t shown_max = 64;
  std::string out;
  for (size_t i = 0; i < cycle.size(); ++i) {
    if (i == shown_max / 2 && cycle.size() > shown_max) {
      out += text("… {} more nodes … -> ", cycle.size() - shown_max);
      i = cycle.size() - shown_max / 2;
    }
    out += text("{} -> ", quoted(draft.nodes[cycle[i]].id()));
  }
  return out + quoted(draft.nodes[cycle[0]].id());
}

}  // namespace

// Numbers that all edges ascend are the order: the first node that is ready is always the next one.
std::optional<RegionLevel> order(const Draft& draft, Diagnostics& diagnostics) {
  RegionLevel whole;
  whole.is_whole_draft = true;
  if (draft.traits.is_in_order) return whole;
  whole.order = topological_order(draft.followers);
  if (whole.order.size() == draft.nodes.size()) return whole;
  for (const std::vector<u32>& cycle : find_cycles(draft.followers, whole.order)) {
    Diagnostic& problem = diagnostics.error(
        Reason::graph_cycle, text("{} nodes lead back to themselves: {}", cycle.size(),
                                  path_of(draft, cycle)));
    for (size_t i = 0; i < std::min<size_t>(cycle.size(), Diagnostics::kept_max); ++i) {
      problem.node(draft.nodes[cycle[i]].id());
      problem.edge(draft.nodes[cycle[i]].id(), draft.nodes[cycle[(i + 1) % cycle.size()]].id());
    }
    problem.advise("remove one of these edges; work that repeats is a loop node with a body");
  }
  return std::nullopt;
}

}  // namespace soma
