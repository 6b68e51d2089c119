// Proves that a plan names the graph that it was compiled from, whatever order that was written in,
// whatever it holds, whoever asks, and after it was copied and moved.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "base/text.hpp"
#include "compiler/compile.hpp"

namespace soma {

namespace {

Plan plan_of(const Graph& graph) {
  Compilation made = compile(graph, {});
  INFO(made.diagnostics.text());
  REQUIRE(made.plan);
  return std::move(*made.plan);
}

// Nodes in any order, edges in any order, some of them with ports, some nodes with settings.
Graph random_graph(std::mt19937& random, u32 nodes, bool has_control) {
  Graph graph;
  std::vector<u32> order(nodes);
  for (u32 i = 0; i < nodes; ++i) {
    GraphNode& node = graph.nodes.emplace_back();
    node.id = text("n{}", i);
    if (random() % 3 == 0) node.op = "double";
    if (random() % 5 == 0) node.edit().device = "meta";
    if (random() % 7 == 0) node.edit().max_iterations = 3;  // of a loop, which none of these is
    node.cacheable = random() % 4 == 0;
    order[i] = i;
  }
  if (random() % 2 == 0) std::shuffle(order.begin(), order.end(), random);
  for (u32 i = 0; i < nodes; ++i) {
    for (u32 j = i + 1; j < nodes; ++j) {
      if (random() % 3 != 0) continue;
      GraphEdge& edge = graph.edges.emplace_back();
      edge.from = order[i];
      edge.to = order[j];
      if (random() % 4 == 0) edge.edit().output = text("o{}", i);
      if (random() % 4 == 0) edge.edit().input = text("i{}", i);
      const bool is_plain = edge.settings.is_usual();
      if (has_control && is_plain && random() % 4 == 0) edge.kind = EdgeKind::Control;
    }
  }
  if (random() % 2 == 0) std::shuffle(graph.edges.begin(), graph.edges.end(), random);
  return graph;
}

}  // namespace

TEST_CASE("the graph's digest is that of its document") {
  std::mt19937 random(17);
  for (u32 round = 0; round < 600; ++round) {
    const Graph graph = random_graph(random, 1 + static_cast<u32>(random() % 12), round % 3 == 0);
    CAPTURE(graph.document());
    const Plan plan = plan_of(graph);
    REQUIRE(plan.graph_digest() == graph.digest());
  }
}

TEST_CASE("an edge that names a node to come has its digest too") {
  Graph graph;
  graph.nodes.emplace_back().id = "a";
  GraphEdge& edge = graph.edges.emplace_back();
  edge.from = graph.end_named("a");
  edge.to = graph.end_named("b");
  graph.nodes.emplace_back().id = "b";
  CHECK(plan_of(graph).graph_digest() == graph.digest());
}

TEST_CASE("graphs that do not lie in their plans are digested as they are compiled") {
  for (const char* document : {
           R"({"nodes":[{"id":"a"},{"id":"l","kind":"loop","max_iterations":2},{"id":"b"}],
               "edges":[{"from":"a","to":"l"},{"from":"l","to":"b","kind":"control"}]})",
           R"({"nodes":[{"id":"s","kind":"subgraph","graph":{"nodes":[{"id":"a"}]}}]})",
           R"({"nodes":[{"id":"a"},{"id":"b"}],
               "edges":[{"from":"a","to":"b","kind":"control"}]})"}) {
    const std::string full = R"({"soma":"graph","version":1,)" + std::string(document + 1);
    Result<Graph> graph = Graph::parse(full);
    REQUIRE(graph.ok());
    const Plan plan = plan_of(*graph);
    CHECK(plan.origin.given() == graph->digest());
    CHECK(plan.graph_digest() == graph->digest());
  }
}

TEST_CASE("copies and moves keep the digest, whether it was made before or not") {
  std::mt19937 random(18);
  const Graph graph = random_graph(random, 12, false);
  const std::string digest = graph.digest();
  for (const bool is_asked_before : {false, true}) {
    Plan plan = plan_of(graph);
    if (is_asked_before) CHECK(plan.graph_digest() == digest);
    const Plan copy = plan;
    CHECK(copy.graph_digest() == digest);
    const Plan moved = std::move(plan);
    CHECK(moved.graph_digest() == digest);
    Plan other = plan_of(random_graph(random, 5, false));
    const std::string others = other.graph_digest();
    other = copy;
    CHECK(other.graph_digest() == digest);
    CHECK(others != digest);
    CHECK(copy.document() == moved.document());
  }
}

TEST_CASE("several threads that ask at once get one text") {
  std::mt19937 random(19);
  const Graph graph = random_graph(random, 60, false);
  const Plan plan = plan_of(graph);
  std::vector<const std::string*> found(4);
  std::vector<std::thread> threads;
  for (const std::string*& one : found) {
    threads.emplace_back([&plan, &one] { one = &plan.graph_digest(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string* one : found) CHECK(one == &plan.graph_digest());
  CHECK(plan.graph_digest() == graph.digest());
}

}  // namespace soma
