// Proves that the series-parallel tree is what the definition says: for all graphs of up to five
// nodes, for many random larger ones, series-parallel, tangled and in between, and that size and
// depth cost nothing out of proportion.
#include "compiler/series_parallel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "unit/sanitized.hpp"

namespace soma {

namespace {

using Kind = BlockTree::Kind;
using Edges = std::vector<Successors::Pair>;

// ---- The definition, taken literally

class Definition {
 public:
  Definition(u32 nodes, const Edges& edges)
      : nodes_(nodes), edge_(nodes * nodes), before_(nodes * nodes) {
    for (const Successors::Pair& pair : edges) edge_[pair.from * nodes + pair.to] = true;
    before_ = edge_;
    for (u32 k = 0; k < nodes; ++k) {
      for (u32 i = 0; i < nodes; ++i) {
        for (u32 j = 0; j < nodes; ++j) {
          if (before_[i * nodes + k] && before_[k * nodes + j]) before_[i * nodes + j] = true;
        }
      }
    }
  }

  std::string tree() const {
    std::vector<u32> all(nodes_);
    for (u32 i = 0; i < nodes_; ++i) all[i] = i;
    return tree(all);
  }

 private:
  std::string tree(const std::vector<u32>& set) const {
    if (set.size() == 1) return std::to_string(set[0]);
    const std::vector<std::vector<u32>> components = components_of(set);
    if (components.size() > 1) return list('P', components);
    const std::vector<std::vector<u32>> factors = factors_of(set);
    if (factors.size() > 1) return list('S', factors);
    std::string out;
    for (const u32 node : set) out += (out.empty() ? "" : " ") + std::to_string(node);
    return "T[" + out + "]";
  }
  std::string list(char kind, const std::vector<std::vector<u32>>& parts) const {
    std::string out;
    for (const std::vector<u32>& part : parts) out += (out.empty() ? "" : " ") + tree(part);
    return std::string(1, kind) + "[" + out + "]";
  }

  std::vector<std::vector<u32>> components_of(const std::vector<u32>& set) const {
    std::vector<u32> group(nodes_);
    for (const u32 node : set) group[node] = node;
    const auto is_tied = [&](u32 a, u32 b) {
      return edge_[a * nodes_ + b] || edge_[b * nodes_ + a];
    };
    for (bool changes = true; changes;) {
      changes = false;
      for (const u32 a : set) {
        for (const u32 b : set) {
          if (!is_tied(a, b) || group[a] <= group[b]) continue;
          group[a] = group[b];
          changes = true;
        }
      }
    }
    std::vector<std::vector<u32>> out;
    for (const u32 first : set) {
      if (group[first] != first) continue;
      out.emplace_back();
      for (const u32 node : set) {
        if (group[node] == first) out.back().push_back(node);
      }
    }
    return out;
  }

  // A cut lies where all before it precede all behind it.
  std::vector<std::vector<u32>> factors_of(const std::vector<u32>& set) const {
    std::vector<std::vector<u32>> out(1);
    for (size_t i = 0; i < set.size(); ++i) {
      out.back().push_back(set[i]);
      bool is_cut = i + 1 < set.size();
      for (size_t a = 0; a <= i; ++a) {
        for (size_t b = i + 1; b < set.size(); ++b) {
          if (!before_[set[a] * nodes_ + set[b]]) is_cut = false;
        }
      }
      if (is_cut) out.emplace_back();
    }
    return out;
  }

  const u32 nodes_;
  std::vector<bool> edge_, before_;
};

// ---- What was found, in the same form

void collect(const BlockTree& tree, u32 block, std::vector<u32>& out) {
  if (tree.blocks[block].kind == Kind::Leaf) out.push_back(block);
  tree.each_child(block, [&](u32 child) { collect(tree, child, out); });
}

std::string shown(const BlockTree& tree, u32 block) {
  const Kind kind = tree.blocks[block].kind;
  if (kind == Kind::Leaf) return std::to_string(block);
  std::vector<u32> parts;
  if (kind == Kind::Tangle) {
    collect(tree, block, parts);
    std::sort(parts.begin(), parts.end());
  } else {
    tree.each_child(block, [&](u32 child) { parts.push_back(child); });
  }
  if (kind == Kind::Parallel) {
    std::sort(parts.begin(), parts.end(), [&](u32 a, u32 b) {
      return tree.blocks[a].earliest < tree.blocks[b].earliest;
    });
  }
  std::string out;
  for (const u32 part : parts) {
    if (!out.empty()) out += ' ';
    out += kind == Kind::Tangle ? std::to_string(part) : shown(tree, part);
  }
  const char name = kind == Kind::Series ? 'S' : kind == Kind::Parallel ? 'P' : 'T';
  return std::string(1, name) + "[" + out + "]";
}

std::string found(u32 nodes, const Edges& edges) {
  const BlockTree tree = series_parallel_tree(Successors::of_pairs(nodes, edges));
  return shown(tree, tree.root);
}

// ---- Random graphs

// A series-parallel graph with random noise: edges that are implied, and edges that are not.
class RandomGraph {
 public:
  explicit RandomGraph(u32 seed) : random_(seed) {}

  u32 pick(u32 below) { return static_cast<u32>(random_() % below); }

  struct Part {
    std::vector<u32> sources, sinks;
  };
  Part make(u32 nodes) {
    if (nodes == 1) return {{nodes_}, {nodes_++}};
    const u32 left = 1 + pick(nodes - 1);
    const bool is_series = pick(2) == 0;
    Part a = make(left), b = make(nodes - left);
    if (is_series) {
      for (const u32 from : a.sinks) {
        for (const u32 to : b.sources) edges_.push_back({from, to});
      }
      return {a.sources, b.sinks};
    }
    a.sources.insert(a.sources.end(), b.sources.begin(), b.sources.end());
    a.sinks.insert(a.sinks.end(), b.sinks.begin(), b.sinks.end());
    return a;
  }
  void add_noise(u32 edges) {
    for (u32 i = 0; i < edges && nodes_ > 1; ++i) {
      const u32 from = pick(nodes_ - 1);
      edges_.push_back({from, from + 1 + pick(nodes_ - from - 1)});
    }
  }
  // Another topological order of the same graph.
  void shuffle() {
    std::vector<u32> waits(nodes_, 0), ready, place(nodes_);
    for (const Successors::Pair& pair : edges_) ++waits[pair.to];
    for (u32 i = 0; i < nodes_; ++i) {
      if (waits[i] == 0) ready.push_back(i);
    }
    for (u32 at = 0; at < nodes_; ++at) {
      std::swap(ready[pick(static_cast<u32>(ready.size()))], ready.back());
      const u32 node = ready.back();
      ready.pop_back();
      place[node] = at;
      for (const Successors::Pair& pair : edges_) {
        if (pair.from == node && --waits[pair.to] == 0) ready.push_back(pair.to);
      }
    }
    for (Successors::Pair& pair : edges_) pair = {place[pair.from], place[pair.to]};
  }

  u32 nodes() const { return nodes_; }
  const Edges& edges() const { return edges_; }

 private:
  std::mt19937 random_;
  u32 nodes_ = 0;
  Edges edges_;
};

}  // namespace

TEST_CASE("trees of graphs that everybody knows") {
  CHECK(series_parallel_tree(Successors()).root == BlockTree::none);
  CHECK(found(1, {}) == "0");
  CHECK(found(3, {{0, 1}, {1, 2}}) == "S[0 1 2]");
  CHECK(found(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}) == "S[0 P[1 2] 3]");
  CHECK(found(4, {{0, 2}, {0, 3}, {1, 3}}) == "T[0 1 2 3]");
  CHECK(found(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {0, 3}}) == "S[0 P[1 2] 3]");
  CHECK(found(5, {{0, 2}, {0, 3}, {1, 3}}) == "P[T[0 1 2 3] 4]");
  CHECK(found(5, {{0, 2}, {0, 3}, {1, 3}, {2, 4}, {3, 4}}) == "S[T[0 1 2 3] 4]");
  CHECK(found(4, {{0, 2}, {0, 3}, {1, 2}, {1, 3}}) == "S[P[0 1] P[2 3]]");
  CHECK(found(2, {{0, 1}, {0, 1}}) == "S[0 1]");
}

TEST_CASE("all graphs of up to five nodes") {
  for (u32 nodes = 1; nodes <= 5; ++nodes) {
    for (u32 mask = 0; mask < 1U << (nodes * (nodes - 1) / 2); ++mask) {
      Edges edges;
      u32 bit = 0;
      for (u32 from = 0; from < nodes; ++from) {
        for (u32 to = from + 1; to < nodes; ++to) {
          if (mask >> bit++ & 1) edges.push_back({from, to});
        }
      }
      REQUIRE(found(nodes, edges) == Definition(nodes, edges).tree());
    }
  }
}

TEST_CASE("random graphs, series-parallel but for some edges") {
  constexpr u32 rounds = fixture::is_sanitized ? 2000 : 20'000;
  for (u32 seed = 0; seed < rounds; ++seed) {
    RandomGraph graph(seed);
    graph.make(1 + graph.pick(24));
    graph.add_noise(graph.pick(5));
    graph.shuffle();
    CAPTURE(seed);
    REQUIRE(found(graph.nodes(), graph.edges()) ==
            Definition(graph.nodes(), graph.edges()).tree());
  }
}

TEST_CASE("random graphs of any density and reach") {
  std::mt19937 random(7);
  constexpr u32 rounds = fixture::is_sanitized ? 1000 : 10'000;
  for (u32 i = 0; i < rounds; ++i) {
    const u32 nodes = 6 + static_cast<u32>(random() % 10);
    const u32 density = 1 + static_cast<u32>(random() % 9);
    const u32 reach = 1 + static_cast<u32>(random() % nodes);
    Edges edges;
    for (u32 from = 0; from < nodes; ++from) {
      for (u32 to = from + 1; to < std::min(nodes, from + reach + 1); ++to) {
        if (random() % 10 < density) edges.push_back({from, to});
      }
    }
    REQUIRE(found(nodes, edges) == Definition(nodes, edges).tree());
  }
}

TEST_CASE("a million nodes, and nests a hundred thousand deep") {
  constexpr u32 many = 1'000'000, deep = 100'000;
  Edges chain;
  for (u32 i = 0; i + 1 < many; ++i) chain.push_back({i, i + 1});
  for (u32 i = 0; i + 7 < many; i += 5) chain.push_back({i, i + 7});  // all of them implied
  const BlockTree line = series_parallel_tree(Successors::of_pairs(many, chain));
  CHECK(line.blocks[line.root].kind == Kind::Series);
  CHECK(line.blocks.size() == many + 1);

  // before(i), beside(i) and all deeper ones between them, behind(i).
  Edges nest;
  const auto before = [](u32 i) { return 2 * i; };
  const auto beside = [](u32 i) { return 2 * i + 1; };
  const auto behind = [](u32 i) { return 3 * deep - i; };
  for (u32 i = 0; i < deep; ++i) {
    nest.push_back({before(i), beside(i)});
    nest.push_back({beside(i), behind(i)});
    const bool is_last = i + 1 == deep;
    nest.push_back({before(i), is_last ? 2 * deep : before(i + 1)});
    nest.push_back({is_last ? 2 * deep : behind(i + 1), behind(i)});
  }
  const BlockTree tree = series_parallel_tree(Successors::of_pairs(3 * deep + 1, nest));
  u32 depth = 0;
  for (u32 at = tree.root; tree.blocks[at].kind == Kind::Series; ++depth) {
    u32 inner = tree.blocks[tree.blocks[at].first_child].next;  // the wave
    REQUIRE(tree.blocks[inner].kind == Kind::Parallel);
    u32 next = BlockTree::none;
    tree.each_child(inner, [&](u32 child) {
      if (child != beside(depth)) next = child;
    });
    at = next;
  }
  CHECK(depth == deep);
}

}  // namespace soma
