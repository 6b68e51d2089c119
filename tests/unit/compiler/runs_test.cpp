// Proves that runs are the nodes that only follow one another, and that a graph of runs has the
// tree of the graph itself.
#include "compiler/runs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "compiler/series_parallel.hpp"

namespace soma {

namespace {

using Kind = BlockTree::Kind;

// The tree in a line, with each run's nodes in its place. Parallel blocks and tangles by their
// first nodes.
class Line {
 public:
  Line(const BlockTree& tree, const Runs& runs) : tree_(tree), runs_(runs) {}

  std::string text() const { return tree_.root == BlockTree::none ? "" : of(tree_.root); }

 private:
  std::string of(u32 block) const {
    const std::vector<std::string> parts = parts_of(block);
    if (parts.size() == 1) return parts[0];
    const Kind kind = tree_.blocks[block].kind;
    std::string out = kind == Kind::Tangle ? "T[" : kind == Kind::Parallel ? "P[" : "S[";
    for (const std::string& part : parts) out += part + " ";
    return out + "]";
  }

  std::vector<std::string> parts_of(u32 block) const {
    std::vector<std::string> parts;
    switch (tree_.blocks[block].kind) {
      case Kind::Leaf:
        for (u32 at = runs_.begin(block); at < runs_.end(block); ++at) {
          parts.push_back(std::to_string(at));
        }
        break;
      case Kind::Series:          // a run in a series is a part of it
        tree_.each_child(block, [&](u32 child) {
          if (tree_.blocks[child].kind != Kind::Leaf) return parts.push_back(of(child));
          for (std::string& part : parts_of(child)) parts.push_back(std::move(part));
        });
        break;
      case Kind::Parallel:
        tree_.each_child(block, [&](u32 child) { parts.push_back(of(child)); });
        std::sort(parts.begin(), parts.end());
        break;
      case Kind::Tangle: {
        std::vector<u32> nodes;
        collect(block, nodes);
        std::sort(nodes.begin(), nodes.end());
        for (const u32 node : nodes) parts.push_back(std::to_string(node));
        break;
      }
    }
    return parts;
  }

  void collect(u32 block, std::vector<u32>& out) const {
    if (tree_.blocks[block].kind == Kind::Leaf) {
      for (u32 at = runs_.begin(block); at < runs_.end(block); ++at) out.push_back(at);
    }
    tree_.each_child(block, [&](u32 child) { collect(child, out); });
  }

  const BlockTree& tree_;
  const Runs& runs_;
};

std::string line_of(const Successors& graph, const Runs& runs) {
  const bool are_nodes = runs.first.empty();
  return Line(series_parallel_tree(are_nodes ? graph : runs.graph), runs).text();
}

}  // namespace

TEST_CASE("a chain is one run, also where an edge stands twice") {
  const std::vector<Successors::Pair> pairs = {{0, 1}, {1, 2}, {1, 2}, {2, 3}};
  const Runs runs = find_runs(Successors::of_pairs(4, pairs));
  CHECK(runs.first == std::vector<u32>{0, 4});
  CHECK(runs.graph.nodes() == 1);
  CHECK(runs.graph.to.empty());
}

TEST_CASE("a run begins where ways meet, and ends where they part") {
  //          0 - 1 - 2 - 5 - 6, and 2 - 3 - 4 - 5
  const std::vector<Successors::Pair> pairs = {{0, 1}, {1, 2}, {2, 3}, {3, 4},
                                               {4, 5}, {2, 5}, {5, 6}};
  const Runs runs = find_runs(Successors::of_pairs(7, pairs));
  CHECK(runs.first == std::vector<u32>{0, 3, 5, 7});
  CHECK(runs.graph.first == std::vector<u32>{0, 2, 3, 3});
  CHECK(runs.graph.to == std::vector<u32>{1, 2, 2});
}

TEST_CASE("nodes that follow one another without being neighbours are runs of their own") {
  const std::vector<Successors::Pair> pairs = {{0, 2}, {1, 3}};
  CHECK(find_runs(Successors::of_pairs(4, pairs)).first.empty());
  CHECK(find_runs(Successors::of_pairs(3, {})).first.empty());
  CHECK(find_runs(Successors::of_pairs(0, {})).graph.nodes() == 0);
}

TEST_CASE("random graphs of runs have the trees of the graphs") {
  std::mt19937 random(23);
  for (u32 round = 0; round < 20'000; ++round) {
    const u32 nodes = 1 + static_cast<u32>(random() % 12);
    const u32 density = 5 + static_cast<u32>(random() % 50);
    std::vector<Successors::Pair> pairs;
    for (u32 i = 0; i + 1 < nodes; ++i) {
      if (random() % 2 == 0) pairs.push_back({i, i + 1});
      for (u32 j = i + 1; j < nodes; ++j) {
        if (random() % 100 < density) pairs.push_back({i, j});
      }
    }
    const Successors graph = Successors::of_pairs(nodes, pairs);
    REQUIRE(line_of(graph, find_runs(graph)) == line_of(graph, {}));
  }
}

}  // namespace soma
