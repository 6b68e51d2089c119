// Proves that names of kinds go both ways, that copies are whole and independent, and that random
// graphs survive their document byte for byte.
#include "graph/graph.hpp"

#include <doctest/doctest.h>

#include <random>

#include "unit/graph/graph_text.hpp"

namespace soma {

namespace {

// Graphs of every shape that a document can hold, mostly senseless ones.
class RandomGraph {
 public:
  explicit RandomGraph(u32 seed) : random_(seed) {}

  Graph graph(u32 depth = 0) {
    Graph out;
    for (u32 i = below(6); i > 0; --i) out.nodes.push_back(node(depth));
    for (u32 i = below(6); i > 0; --i) out.edges.push_back(edge(out));
    return out;
  }

 private:
  u32 below(u32 limit) { return static_cast<u32>(random_() % limit); }
  bool chance() { return below(2) == 0; }

  std::string word() {
    static constexpr std::string_view parts[] = {"a", "B", "_", " ", "é", "\"", "\\", "\x01",
                                                 "/", "0", ".", "\xf0\x9f\x98\x80", "\x7f"};
    std::string out;
    for (u32 i = below(5); i > 0; --i) out += parts[below(std::size(parts))];
    return out;
  }
  std::optional<std::string> maybe_word() {
    return chance() ? std::optional(word()) : std::nullopt;
  }
  i64 integer() { return static_cast<i64>(random_() >> (11 + below(50))) - 1000; }

  Value value(u32 depth) {
    switch (below(depth > 3 ? 5 : 7)) {
      case 0: return {};
      case 1: return Value::boolean(chance());
      case 2: return Value::integer(integer());
      case 3: return Value::number(static_cast<double>(integer()) / 1024.0 * 1e-5);
      case 4: return Value::text(word());
      case 5: {
        std::vector<Value> elements;
        for (u32 i = below(4); i > 0; --i) elements.push_back(value(depth + 1));
        return Value::list(std::move(elements));
      }
      default: return map(depth + 1);
    }
  }
  Value map(u32 depth) {
    std::vector<Member> members;
    for (u32 i = below(4); i > 0; --i) members.push_back({text("{}{}", i, word()), value(depth)});
    return Value::map(std::move(members));
  }

  std::vector<Port> ports() {
    std::vector<Port> out(below(3));
    for (Port& port : out) {
      port.name = word();
      port.dtype = static_cast<Dtype>(below(static_cast<u32>(Dtype::Any) + 1));
      port.required = chance();
      if (!chance()) continue;
      port.shape.emplace();
      for (u32 i = below(4); i > 0; --i) port.shape->push_back(dimension());
    }
    return out;
  }
  Dimension dimension() {
    switch (below(3)) {
      case 0: return {Dimension::Kind::Fixed, random_() >> 11, ""};
      case 1: return {Dimension::Kind::Symbol, 0, "x" + word()};
      default: return {};
    }
  }

  GraphNode node(u32 depth) {
    GraphNode out;
    out.id = word();
    out.kind = static_cast<NodeKind>(below(6));
    out.op = word();
    out.op_version = chance() ? 1 : static_cast<u32>(random_());
    out.edit().inputs = ports();
    out.edit().outputs = ports();
    if (chance()) out.edit().config = map(0);
    for (u32 i = below(5); i > 0; --i) out.edit().state.push_back(static_cast<u8>(random_()));
    out.cacheable = chance();
    out.deterministic = chance();
    out.differentiable = chance();
    out.waits = chance();
    out.stream_mode = static_cast<StreamMode>(below(4));
    if (chance()) out.edit().cost_us = static_cast<double>(random_() >> 14) / 4096.0;
    out.edit().target = {static_cast<Target::Kind>(below(3)), word()};
    out.edit().device = chance() ? "cpu" : word();
    if (chance()) out.edit().max_iterations = integer();
    out.edit().until = {static_cast<StopRule::Kind>(below(3)), word()};
    out.edit().carry_from = maybe_word();
    if (chance()) out.edit().max_turns = integer();
    out.edit().model = word();
    out.edit().task = word();
    if (chance()) out.edit().deployment = value(0);
    if (depth < 3 && chance()) out.graph = std::make_unique<Graph>(graph(depth + 1));
    return out;
  }

  // A node, or an id that most often no node has.
  u32 end(Graph& graph) {
    const u32 nodes = static_cast<u32>(graph.nodes.size());
    return nodes > 0 && chance() ? below(nodes) : graph.end_named(word());
  }

  GraphEdge edge(Graph& graph) {
    GraphEdge out;
    out.from = end(graph);
    out.to = end(graph);
    out.kind = chance() ? EdgeKind::Data : EdgeKind::Control;
    (chance() ? out.edit().arm : out.edit().label) = maybe_word();
    out.capture = chance();
    out.edit().output = word();
    out.edit().input = word();
    return out;
  }

  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("names of kinds and modes go both ways") {
  for (u32 i = 0; i < 6; ++i) {
    const NodeKind kind = static_cast<NodeKind>(i);
    CHECK(node_kind_by_name(node_kind_name(kind)) == kind);
  }
  CHECK(node_kind_name(NodeKind::Function) == "function");
  CHECK(node_kind_name(NodeKind::Step) == "step");
  CHECK(node_kind_name(NodeKind::Loop) == "loop");
  CHECK(node_kind_name(NodeKind::Branch) == "branch");
  CHECK(node_kind_name(NodeKind::Subgraph) == "subgraph");
  CHECK(node_kind_name(NodeKind::Program) == "program");
  CHECK_FALSE(node_kind_by_name("Loop").has_value());
  CHECK_FALSE(node_kind_by_name("").has_value());
  for (u32 i = 0; i < 4; ++i) {
    const StreamMode mode = static_cast<StreamMode>(i);
    CHECK(stream_mode_by_name(stream_mode_name(mode)) == mode);
  }
  CHECK(stream_mode_name(StreamMode::Barrier) == "barrier");
  CHECK_FALSE(stream_mode_by_name("fan").has_value());
}

TEST_CASE("a node is found by its id, the first one if there are two") {
  Graph graph;
  for (const std::string_view id : {"a", "b", "b"}) graph.nodes.emplace_back().id = id;
  CHECK(graph.find("b") == &graph.nodes[1]);
  CHECK(graph.find("a") == &graph.nodes[0]);
  CHECK(graph.find("c") == nullptr);
  CHECK(Graph().find("") == nullptr);
}

TEST_CASE("1,000 random graphs survive their document byte for byte") {
  for (u32 seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    const std::string document = RandomGraph(seed).graph().document();
    CAPTURE(document);
    const Result<Graph> parsed = Graph::parse(document);
    CHECK(fixture::problems_of(parsed) == "");
    REQUIRE(parsed.ok());
    REQUIRE(parsed->document() == document);
  }
}

TEST_CASE("a copy is the whole graph, and a change of it is no change of the original") {
  for (u32 seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const Graph graph = RandomGraph(seed).graph();
    const std::string before = graph.document();
    Graph copy = graph.clone();
    REQUIRE(copy.document() == before);
    for (GraphNode& node : copy.nodes) {
      node.id = node.id.str() + "x";
      if (node.graph) node.graph->nodes.clear();
    }
    copy.edges.emplace_back();
    REQUIRE(graph.document() == before);
  }
}

TEST_CASE("what has no form in a document is left out, and the document can still be read") {
  Graph graph;
  GraphNode& node = graph.nodes.emplace_back();
  node.id = "a";
  node.edit().config = Value::map({{"handle", Value::opaque(&graph, nullptr)}});
  CHECK(graph.document() == R"({"soma":"graph","version":1,"nodes":[{"id":"a"}]})");
  CHECK(Graph::parse(graph.document()).ok());
}

TEST_CASE("only what a node's kind may have is printed") {
  Graph graph;
  GraphNode& node = graph.nodes.emplace_back();
  node.id = "a";
  node.edit().max_iterations = 3;
  node.edit().max_turns = 4;
  node.edit().model = "m";
  node.graph = std::make_unique<Graph>();
  CHECK(graph.document() == R"({"soma":"graph","version":1,"nodes":[{"id":"a"}]})");
  node.kind = NodeKind::Loop;
  CHECK(graph.document() ==
        R"({"soma":"graph","version":1,"nodes":[{"id":"a","kind":"loop","max_iterations":3}]})");
}

}  // namespace soma
