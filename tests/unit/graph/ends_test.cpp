// Proves that an edge's end is the first node that has its id, whichever came first, that ids which
// stand twice are found in lists of any length, and that a digest taken in pieces is the whole's.
#include "graph/ends.hpp"

#include <doctest/doctest.h>

#include <random>
#include <set>

namespace soma {

namespace {

Graph nodes_of(std::initializer_list<const char*> ids) {
  Graph graph;
  for (const char* id : ids) graph.nodes.emplace_back().id = id;
  return graph;
}

void connect(Graph& graph, std::string_view from, std::string_view to) {
  const u32 first = graph.end_named(from), second = graph.end_named(to);
  GraphEdge& edge = graph.edges.emplace_back();
  edge.from = first;
  edge.to = second;
}

}  // namespace

TEST_CASE("an end is a node's number, or a name that a later node may have") {
  Graph graph = nodes_of({"a", "b"});
  connect(graph, "a", "b");
  connect(graph, "b", "c");
  CHECK(graph.edges[0].to == 1);
  CHECK(graph.id_of(graph.edges[1].to) == "c");
  CHECK(EdgeEnds(graph).node(graph.edges[1].to) == IdIndex::none);
  CHECK(EdgeEnds(graph).node(GraphEdge::nowhere) == IdIndex::none);
  CHECK(graph.id_of(GraphEdge::nowhere) == "");
  graph.nodes.emplace_back().id = "c";
  CHECK(EdgeEnds(graph).node(graph.edges[1].to) == 2);
  CHECK(EdgeEnds(graph).node(0) == 0);
}

TEST_CASE("of nodes with one id the first is meant") {
  Graph graph = nodes_of({"a", "b", "a"});
  const EdgeEnds ends(graph);
  CHECK(ends.repeats() == std::vector<u32>{2});
  CHECK(ends.node(2) == 0);
  CHECK(ends.node(1) == 1);
}

TEST_CASE("graphs that are put together keep their edges and the names of strangers") {
  Graph first = nodes_of({"a"}), second = nodes_of({"b", "c"});
  connect(first, "a", "c");
  connect(first, "a", "x");
  connect(second, "b", "c");
  connect(second, "y", "c");
  const Graph both = beside(std::move(first), std::move(second)).value();
  std::string edges;
  for (const GraphEdge& edge : both.edges) {
    edges.append(both.id_of(edge.from)).append(">").append(both.id_of(edge.to)).append(" ");
  }
  CHECK(edges == "a>c a>x b>c y>c ");
  const EdgeEnds ends(both);
  CHECK(ends.node(both.edges[0].to) == 2);
  CHECK(ends.node(both.edges[1].to) == IdIndex::none);
  CHECK(ends.node(both.edges[2].from) == 1);
}

TEST_CASE("repeats are those that a set finds, in lists of every length") {
  std::mt19937 random(7);
  for (const u32 count : {0U, 1U, 2U, 15U, 16U, 2047U, 2048U, 5000U, 300000U}) {
    CAPTURE(count);
    std::vector<std::string> texts(count);
    for (std::string& one : texts) one = text("n{}", random() % (count * 4 + 1));
    std::set<std::string_view> seen;
    std::vector<u32> expected;
    for (u32 i = 0; i < count; ++i) {
      if (!seen.insert(texts[i]).second) expected.push_back(i);
    }
    const auto text_of = [&](u32 i) { return std::string_view(texts[i]); };
    REQUIRE(find_repeats(count, text_of) == expected);
  }
}

TEST_CASE("a digest that is taken in pieces is that of the whole document") {
  for (const u32 count : {0U, 1U, 3000U, 20000U}) {
    CAPTURE(count);
    Graph graph;
    for (u32 i = 0; i < count; ++i) {
      graph.nodes.emplace_back().id = text("node \"{}\"", i);
      if (i > 0) graph.edges.push_back({i - 1, i, {}, EdgeKind::Data, false});
    }
    CHECK(graph.digest() == content_digest(graph.document()));
  }
}

}  // namespace soma
