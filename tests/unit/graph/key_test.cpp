// Proves that a graph's key stands for all that its document says: what changes one changes the
// other, and what is the same however it came about has one.
#include <doctest/doctest.h>

#include <set>

#include "graph/key.hpp"

namespace soma {

namespace {

Graph parsed(std::string_view nodes, std::string_view edges = "") {
  Result<Graph> graph = Graph::parse(
      text(R"({{"soma":"graph","version":1,"nodes":[{}],"edges":[{}]}})", nodes, edges));
  if (!graph.ok()) FAIL(graph.error().message());
  return std::move(graph).value();
}

constexpr std::string_view two = R"({"id":"a"},{"id":"b"})";

}  // namespace

TEST_CASE("whatever changes a graph's document changes its key") {
  std::set<DigestBytes> keys;
  std::set<std::string> digests;
  const auto add = [&](const Graph& graph) {
    CHECK(graph_key(graph) == graph_key(graph));
    CHECK(graph_key(graph.clone()) == graph_key(graph));
    CHECK(keys.insert(graph_key(graph)).second == digests.insert(graph.digest()).second);
  };
  for (const char* node :
       {R"({"id":"a"})", R"({"id":"b"})", R"({"id":"a","op":"b"})", R"({"id":"ab","op":"b"})",
        R"({"id":"a","op":"bb"})", R"({"id":"a","op_version":2})", R"({"id":"a","kind":"step"})",
        R"({"id":"a","kind":"branch"})", R"({"id":"a","kind":"loop"})",
        R"({"id":"a","kind":"loop","max_iterations":4})",
        R"({"id":"a","kind":"loop","max_iterations":5})",
        R"({"id":"a","kind":"loop","max_iterations":4,"until":"exhaust"})",
        R"({"id":"a","kind":"loop","until":{"when_signaled":"b"}})",
        R"({"id":"a","kind":"loop","carry_from":"b"})", R"({"id":"a","cacheable":true})",
        R"({"id":"a","deterministic":false})", R"({"id":"a","differentiable":true})",
        R"({"id":"a","waits":true})", R"({"id":"a","stream_mode":"barrier"})",
        R"({"id":"a","stream_mode":"stateful"})", R"({"id":"a","config":{"x":1}})",
        R"({"id":"a","config":{"x":1.5}})", R"({"id":"a","config":{"x":"1"}})",
        R"({"id":"a","config":{"x":[1]}})", R"({"id":"a","cost_us":1})",
        R"({"id":"a","device":"cuda:1"})", R"({"id":"a","target":{"tag":"x"}})",
        R"({"id":"a","target":{"worker":"x"}})", R"({"id":"a","state":"AAEC"})",
        R"({"id":"a","kind":"step","max_turns":3})",
        R"({"id":"a","inputs":[{"name":"x"}]})", R"({"id":"a","outputs":[{"name":"x"}]})",
        R"({"id":"a","inputs":[{"name":"x","dtype":"f32"}]})",
        R"({"id":"a","inputs":[{"name":"x","shape":["n"]}]})",
        R"({"id":"a","kind":"program","model":"m"})",
        R"({"id":"a","kind":"program","model":"m","task":"generate"})",
        R"({"id":"a","kind":"subgraph","graph":{"nodes":[]}})",
        R"({"id":"a","kind":"subgraph","graph":{"nodes":[{"id":"b"}]}})",
        R"({"id":"a","kind":"subgraph","graph":{"nodes":[{"id":"c"}]}})",
        R"({"id":"a","kind":"subgraph","graph":{"nodes":[{"id":"b"},{"id":"c"}]}})",
        R"({"id":"a","kind":"subgraph","graph":{"nodes":[{"id":"b"},{"id":"c"}],
            "edges":[{"from":"b","to":"c"}]}})"}) {
    CAPTURE(node);
    const size_t before = keys.size();
    add(parsed(node));
    CHECK(keys.size() == before + 1);
  }
  add(parsed(two));
  add(parsed(R"({"id":"b"},{"id":"a"})"));
  add(parsed(R"({"id":"a"},{"id":"b"},{"id":"c"})"));
  for (const char* edge :
       {R"({"from":"a","to":"b"})", R"({"from":"b","to":"a"})",
        R"({"from":"a","to":"b","kind":"control"})", R"({"from":"a","to":"b","capture":true})",
        R"({"from":"a","to":"b","output":"x"})", R"({"from":"a","to":"b","input":"x"})",
        R"({"from":"a","to":"b","kind":"control","arm":"else"})",
        R"({"from":"a","to":"b","kind":"control","label":"else"})",
        R"({"from":"a","to":"b"},{"from":"a","to":"b","input":"x"})",
        R"({"from":"a","to":"b","input":"x"},{"from":"a","to":"b"})", R"({"from":"a","to":"c"})",
        R"({"from":"a","to":"d"})"}) {
    CAPTURE(edge);
    const size_t before = keys.size();
    add(parsed(two, edge));
    CHECK(keys.size() == before + 1);
  }
}

TEST_CASE("graphs that are the same have one key, however they came about") {
  const Graph read = parsed(
      R"({"id":"a","kind":"function","op_version":1},{"id":"long name of b"})",
      R"({"to":"long name of b","from":"a","kind":"data"})");
  Graph made;
  made.nodes.emplace_back().id = "a";
  made.nodes.emplace_back().id = "long name of b";
  GraphEdge& edge = made.edges.emplace_back();
  edge.from = 0;
  edge.to = 1;
  CHECK(graph_key(made) == graph_key(read));
  Result<Graph> again = Graph::parse(made.document());
  REQUIRE(again.ok());
  CHECK(graph_key(*again) == graph_key(made));
  made.edges.pop_back();
  CHECK(graph_key(made) != graph_key(read));
}

TEST_CASE("texts of any length keep their borders") {
  std::set<DigestBytes> keys;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{15}, size_t{16}, size_t{4087},
                            size_t{4088}, size_t{4096}, size_t{4097}, size_t{100'000}}) {
    Graph graph;
    graph.nodes.emplace_back().id = std::string(size, 'x');
    graph.nodes.back().op = "y";
    CHECK(keys.insert(graph_key(graph)).second);
    graph.nodes.back().id = std::string(size, 'x') + "y";
    graph.nodes.back().op = "";
    keys.insert(graph_key(graph));
  }
  CHECK(keys.size() == 18);
}

}  // namespace soma
