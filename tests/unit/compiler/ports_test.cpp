// Proves which ports edges connect, and that every way of leaving that open is told.
#include "compiler/ports.hpp"

#include "unit/compiler/compile_text.hpp"

namespace soma {

namespace {

using fixture::diagnostics_of;

// Edges to a node with two inputs.
std::string said_of(const std::string& nodes_and_edges) {
  return diagnostics_of(
      text("{}\nnode b: {{\"inputs\":[{{\"name\":\"x\"}},{{\"name\":\"y\"}}]}}", nodes_and_edges));
}

}  // namespace

TEST_CASE("an edge may leave out the name of the only port") {
  CHECK(diagnostics_of(R"(
nodes: a b
edges: a>b
node a: {"outputs":[{"name":"o"}]}
node b: {"inputs":[{"name":"i"}]}
)") == "");
  CHECK(diagnostics_of(R"(
nodes: a b
edges: a.o>b.i
node a: {"outputs":[{"name":"o"}]}
node b: {"inputs":[{"name":"i"}]}
)") == "");
}

TEST_CASE("a side that declares nothing takes any name") {
  CHECK(diagnostics_of("nodes: a b c\nedges: a.o>b.i c>b") == "");
}

TEST_CASE("a name that a declared side does not have") {
  CHECK(diagnostics_of(R"(
nodes: a b
edges: a.p>b.j
node a: {"outputs":[{"name":"o"}]}
node b: {"inputs":[{"name":"i","required":false}]}
)") ==
        "error graph.unknown_port: the edge 'a' -> 'b' names the output 'p' of 'a', which has 'o'\n"
        "error graph.unknown_port: the edge 'a' -> 'b' names the input 'j' of 'b', which has "
        "'i'\n");
}

TEST_CASE("no name where there are several, and nothing about inputs that this may feed") {
  CHECK(said_of("nodes: a b\nedges: a>b") ==
        "error graph.ambiguous_port: the edge 'a' -> 'b' names no input of 'b', which has 'x', "
        "'y'; name one of them: \"input\"\n");
}

TEST_CASE("a required input that nothing feeds, if anything is fed at all") {
  CHECK(said_of("nodes: a b\nedges: a>b.x") ==
        "error graph.required_input: no edge feeds the input 'y' of node 'b'; lead an edge to it, "
        "or declare it with \"required\":false\n");
  CHECK(said_of("nodes: a b\nedges: a~b") == "");
  CHECK(said_of("nodes: a b c\nedges: a>b.x c^b.y") == "");
}

TEST_CASE("two edges that feed one input") {
  CHECK(diagnostics_of(R"(
nodes: a b c
edges: a>b c>b.i
node b: {"inputs":[{"name":"i"}]}
)") ==
        "error graph.ambiguous_port: both 'a' and 'c' feed the input 'i' of 'b'; an input takes "
        "one value: let a node before it join them\n");
}

TEST_CASE("two values under one key, where no input is declared") {
  CHECK(diagnostics_of("nodes: a b\nedges: a.x>b a.y>b") ==
        "error graph.ambiguous_port: node 'b' reads two values under the key 'a', by the edges 'a' "
        "-> 'b' and 'a' -> 'b'; name an `input` on each of them\n");
  CHECK(diagnostics_of("nodes: a b c\nedges: a>b c>b.a") ==
        "error graph.ambiguous_port: node 'b' reads two values under the key 'a', by the edges 'a' "
        "-> 'b' and 'c' -> 'b'; name an `input` on each of them\n");
  CHECK(diagnostics_of("nodes: a b\nedges: a.x>b.x a.y>b.y") == "");
}

TEST_CASE("ports of one node need names that differ") {
  CHECK(diagnostics_of(R"(
nodes: a
node a: {"inputs":[{"name":"i"},{"name":"i"}],"outputs":[{"name":""},{"name":"o"}]}
)") ==
        "error graph.ambiguous_port: node 'a' has two inputs with the name 'i'; give each a name "
        "of its own\n"
        "error graph.ambiguous_port: node 'a' has several outputs, and one has no name; give each "
        "a name of its own\n");
}

TEST_CASE("a subgraph's edges are held to the ports of its roots, and its leaf to its outputs") {
  const std::string inner =
      R"({"soma":"graph","version":1,"nodes":[{"id":"in","inputs":[{"name":"i","dtype":"text"}],)"
      R"("outputs":[{"name":"o","dtype":"f32"}]}],"edges":[]})";
  const auto with = [&](const char* edges, const char* ports) {
    return diagnostics_of(text("nodes: a g:subgraph b\nedges: {}\nnode g: {{\"graph\":{},{}}}",
                               edges, inner, ports));
  };
  CHECK(with("a>g.i g.y>b", R"("inputs":[{"name":"x"}],"outputs":[{"name":"y"}])") == "");
  CHECK(with("a>g.x g>b", R"("inputs":[{"name":"x"}])") ==
        "error graph.unknown_port: the edge 'a' -> 'g/in' names the input 'x' of 'g/in', which has "
        "'i'\n");
  CHECK(with("a>g g>b", R"("outputs":[{"name":"y","dtype":"text"}])") ==
        "error schema.dtype: 'g/in' yields f32, and 'g' declares to yield text; put a node that "
        "converts between them\n");
}

TEST_CASE("a subgraph of several leaves has no input of its own that somebody must feed") {
  CHECK(diagnostics_of(R"(
nodes: a g:subgraph b
edges: a>g g.p>b
node g: {"graph":{"soma":"graph","version":1,"nodes":[{"id":"p"},{"id":"q"}],"edges":[]}}
node g: {"inputs":[{"name":"x"}],"outputs":[{"name":"p"},{"name":"q"}]}
)") == "");
}

TEST_CASE("more ports and dimensions than there may be are refused, and cost nothing more") {
  Graph graph;
  graph.nodes.resize(2);
  graph.nodes[0].id = "a";
  graph.nodes[1].id = "b";
  graph.nodes[1].edit().inputs.resize(ports_max + 1);
  for (size_t i = 0; i <= ports_max; ++i) graph.nodes[1].edit().inputs[i].name = text("i{}", i);
  graph.nodes[1].edit().inputs[0].shape.emplace(rank_max + 1);
  GraphEdge& edge = graph.edges.emplace_back();
  edge.from = 0;
  edge.to = 1;
  const std::string said = compile(graph, {}).diagnostics.text();
  CHECK(said ==
        "error graph.limit: node 'b' has 1025 inputs, and 1024 are allowed\n"
        "error graph.limit: the input 'i0' of node 'b' has 65 dimensions, and 64 are allowed\n"
        "error graph.ambiguous_port: the edge 'a' -> 'b' names no input of 'b', which has 'i0', "
        "'i1', 'i2', 'i3', 'i4', 'i5', 'i6', 'i7' and 1017 more; name one of them: \"input\"\n");
}

TEST_CASE("which port an end of an edge means") {
  const Result<Graph> graph = fixture::terse(R"(
nodes: a b c
edges: a.p>b a>b a>c.z
node a: {"outputs":[{"name":"o"},{"name":"p"}]}
node b: {"inputs":[{"name":"i"}]}
)").graph();
  REQUIRE(graph.ok());
  Diagnostics diagnostics;
  const Draft draft = Draft::of(*graph, diagnostics);
  REQUIRE(draft.edges.size() == 3);
  CHECK(output_port(draft, draft.edges[0]) == &graph->nodes[0].outputs()[1]);
  CHECK(input_port(draft, draft.edges[0]) == &graph->nodes[1].inputs()[0]);
  CHECK(output_port(draft, draft.edges[1]) == nullptr);
  CHECK(input_port(draft, draft.edges[2]) == nullptr);
}

}  // namespace soma
