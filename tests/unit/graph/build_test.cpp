// Proves that automatic ids are new and readable, and that graphs are put together as defined: by
// sources of the outermost level, and by sinks, of which arms and hand-offs have their own.
#include <doctest/doctest.h>

#include <random>
#include <set>

#include "graph/graph.hpp"
#include "unit/graph/graph_text.hpp"
#include "unit/sanitized.hpp"

namespace soma {

namespace {

Graph single(std::string_view id) {
  Graph graph;
  graph.nodes.emplace_back().id = id;
  return graph;
}

// A graph from nodes "a b:loop c:branch" and edges "a>b b~c", of which ~ are control edges and
// "a^b" captures; an arm follows after a colon: "c~d:else".
Graph graph_of(std::string_view nodes, std::string_view edges) {
  Graph graph;
  const auto each_word = [](std::string_view words, auto&& use) {
    while (!words.empty()) {
      const size_t end = std::min(words.find(' '), words.size());
      use(words.substr(0, end));
      words.remove_prefix(std::min(end + 1, words.size()));
    }
  };
  each_word(nodes, [&](std::string_view word) {
    GraphNode& node = graph.nodes.emplace_back();
    const size_t colon = std::min(word.find(':'), word.size());
    node.id = word.substr(0, colon);
    if (colon < word.size()) node.kind = node_kind_by_name(word.substr(colon + 1)).value();
  });
  each_word(edges, [&](std::string_view word) {
    GraphEdge& edge = graph.edges.emplace_back();
    const size_t at = word.find_first_of(">~^");
    const size_t colon = std::min(word.find(':'), word.size());
    edge.from = graph.end_named(word.substr(0, at));
    edge.to = graph.end_named(word.substr(at + 1, colon - at - 1));
    if (word[at] == '~') edge.kind = EdgeKind::Control;
    edge.capture = word[at] == '^';
    if (colon < word.size()) edge.edit().arm = word.substr(colon + 1);
  });
  return graph;
}

std::string ids_of(const Graph& graph) {
  std::string out;
  for (const GraphNode& node : graph.nodes) out.append(out.empty() ? "" : " ").append(node.id);
  return out;
}

std::string edges_of(const Graph& graph) {
  std::string out;
  for (const GraphEdge& edge : graph.edges) {
    if (!out.empty()) out += ' ';
    out.append(graph.id_of(edge.from));
    out.append(edge.kind == EdgeKind::Control ? "~" : edge.capture ? "^" : ">");
    out.append(graph.id_of(edge.to));
  }
  return out;
}

// Sinks of the graph: what a node after it would read. Sources: what would read a node before it.
std::string sinks_of(const Graph& graph) {
  const Graph all = then(graph.clone(), single("END")).value();
  std::string out;
  for (const GraphEdge& edge : all.edges) {
    if (all.id_of(edge.to) != "END") continue;
    out.append(out.empty() ? "" : " ").append(all.id_of(edge.from));
  }
  return out;
}
std::string sources_of(const Graph& graph) {
  const Graph all = then(single("BEGIN"), graph.clone()).value();
  std::string out;
  for (const GraphEdge& edge : all.edges) {
    if (all.id_of(edge.from) != "BEGIN") continue;
    out.append(out.empty() ? "" : " ").append(all.id_of(edge.to));
  }
  return out;
}

std::string automatic(std::string_view name) { return automatic_id(Graph(), name); }

}  // namespace

TEST_CASE("an automatic id is the name in snake_case") {
  CHECK(automatic("load") == "load");
  CHECK(automatic("Load") == "load");
  CHECK(automatic("LoadCsv") == "load_csv");
  CHECK(automatic("loadCSVFile") == "load_csv_file");
  CHECK(automatic("HTTPServer") == "http_server");
  CHECK(automatic("parseHTTP") == "parse_http");
  CHECK(automatic("Conv2D") == "conv2_d");
  CHECK(automatic("layer2Norm") == "layer2_norm");
  CHECK(automatic("load csv-file") == "load_csv_file");
  CHECK(automatic("  a//b  ") == "a_b");
  CHECK(automatic("std.identity") == "std_identity");
  CHECK(automatic("_private_") == "private");
  CHECK(automatic("<lambda>") == "lambda");
  CHECK(automatic("Größe") == "größe");
  CHECK(automatic("") == "node");
  CHECK(automatic("///") == "node");
  CHECK(automatic("7") == "7");
}

TEST_CASE("an automatic id is one that the graph does not have") {
  Graph graph;
  const auto add = [&graph](std::string_view name) {
    std::string id = automatic_id(graph, name);
    graph.nodes.emplace_back().id = id;
    return id;
  };
  CHECK(add("Load") == "load");
  CHECK(add("load") == "load_2");
  CHECK(add("LOAD") == "load_3");
  CHECK(add("load_2") == "load_2_2");
  CHECK(add("loader") == "loader");
  CHECK(add("load") == "load_4");
  graph = graph_of("b_2 b_3 b_05 b_x b_ b_99999999999999999999 b_18446744073709551618", "");
  CHECK(add("b") == "b");
  CHECK(add("b") == "b_4");
  CHECK(add("b") == "b_5");
}

TEST_CASE("automatic ids of any names differ") {
  std::mt19937 random(2);
  Graph graph;
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    std::string name;
    for (u32 k = static_cast<u32>(random() % 4); k > 0; --k) name += "aB_2/"[random() % 5];
    const std::string id = automatic_id(graph, name);
    CAPTURE(name);
    REQUIRE(ids.insert(id).second);
    REQUIRE(id.find('/') == std::string::npos);
    graph.nodes.emplace_back().id = id;
  }
}

// ---- Putting together

TEST_CASE("then ties every sink to every source, in order, between the edges of the two") {
  const Graph graph = then(graph_of("a b c", "a>b"), graph_of("d e f", "d>f")).value();
  CHECK(ids_of(graph) == "a b c d e f");
  CHECK(edges_of(graph) == "a>b b>d b>e c>d c>e d>f");
}

TEST_CASE("beside is the disjoint union") {
  const Graph graph = beside(graph_of("a b", "a>b"), graph_of("c d", "c>d")).value();
  CHECK(ids_of(graph) == "a b c d");
  CHECK(edges_of(graph) == "a>b c>d");
}

TEST_CASE("the empty graph changes nothing, and brackets don't matter") {
  const auto whole = [](const Graph& graph) { return graph.document(); };
  const Graph a = graph_of("a b", "a>b"), b = graph_of("c d e", "c>d"), c = graph_of("f g", "");
  CHECK(whole(then(a.clone(), Graph()).value()) == whole(a));
  CHECK(whole(then(Graph(), a.clone()).value()) == whole(a));
  CHECK(whole(beside(a.clone(), Graph()).value()) == whole(a));
  CHECK(whole(beside(Graph(), a.clone()).value()) == whole(a));
  CHECK(whole(then(then(a.clone(), b.clone()).value(), c.clone()).value()) ==
        whole(then(a.clone(), then(b.clone(), c.clone()).value()).value()));
}

TEST_CASE("ids that both graphs have are named, all of them") {
  for (const auto combine : {then, beside}) {
    const Result<Graph> graph = combine(graph_of("a b c", ""), graph_of("c x a a", ""));
    CHECK(fixture::reasons_of(graph) == "graph.duplicate_id c\ngraph.duplicate_id a\n");
    CHECK(fixture::problems_of(graph).starts_with(
        "graph.duplicate_id node 'c': both graphs have a node of that id"));
  }
}

TEST_CASE("more edges than a graph may have are refused, not made") {
  Graph wide, other;
  for (int i = 0; i < 3000; ++i) {
    wide.nodes.emplace_back().id = text("a{}", i);
    other.nodes.emplace_back().id = text("b{}", i);
  }
  const Result<Graph> graph = then(std::move(wide), std::move(other));
  REQUIRE_FALSE(graph.ok());
  CHECK(graph.error().reason() == Reason::document_limit);
  CHECK(graph.error().message().starts_with("3000 ends before 3000 beginnings make 9000000 edges"));
}

TEST_CASE("a loop stands for its body, joins in it included") {
  const Graph graph = graph_of("x l:loop p q j", "x>l l~p l~q p>j q>j");
  CHECK(sinks_of(graph) == "l");
  CHECK(sources_of(graph) == "x");
  CHECK(sinks_of(graph_of("l:loop p y", "l~p l>y")) == "y");
  CHECK(sources_of(graph_of("l:loop p y", "l~p l>y")) == "l");
}

TEST_CASE("a branch begins at its node and ends at the ends of its arms, or where they join") {
  const Graph open = graph_of("b:branch y y2 n", "b~y:else b~n:it y>y2");
  CHECK(sinks_of(open) == "y2 n");
  CHECK(sources_of(open) == "b");
  const Graph joined = graph_of("b:branch y n k", "b~y:else b~n:it y>k n>k");
  CHECK(sinks_of(joined) == "k");
  CHECK(sources_of(joined) == "b");
  // Only one arm goes on, to a node that also reads an outer one.
  const Graph mixed = graph_of("o b:branch y n k", "b~y b~n y>k o>k");
  CHECK(sinks_of(mixed) == "n k");
  CHECK(sources_of(mixed) == "o b");
  // A function whose control edge has an arm is a branch too; without one the edge is only order.
  CHECK(sinks_of(graph_of("f y z", "f~y:it f~z:else")) == "y z");
  CHECK(sources_of(graph_of("f y", "f~y:it")) == "f");
  CHECK(sinks_of(graph_of("f y", "f~y")) == "y");
  Graph labelled = graph_of("f y", "f~y");
  labelled.edges[0].edit().label = "yes";
  CHECK(sinks_of(labelled) == "y");
  CHECK(sources_of(labelled) == "f");
}

TEST_CASE("a step begins at its node and ends at the ends of its hand-offs, as a branch does") {
  CHECK(sinks_of(graph_of("s:step h h2 r", "s~h h>h2 s>r")) == "h2 r");
  CHECK(sinks_of(graph_of("s:step h h2", "s~h s~h2")) == "h h2");
  CHECK(sources_of(graph_of("s:step h h2", "s~h s~h2")) == "s");
  CHECK(sinks_of(graph_of("s:step g h k", "s~g s~h g>k h>k")) == "k");
}

TEST_CASE("constructs in constructs stand for all that is in them") {
  // A branch in a body: the join of its arms is in the body.
  CHECK(sinks_of(graph_of("l:loop b:branch y n k", "l~b b~y:it b~n:else y>k n>k")) == "l");
  // A loop in an arm, in a loop.
  const Graph deep = graph_of("l:loop b:branch m:loop p n z", "l~b b~m:it m~p b~n:else l>z");
  CHECK(sinks_of(deep) == "z");
  CHECK(sources_of(deep) == "l");
  // A loop in an arm is an end of the branch, its body is none; a branch in an arm ends as arms do.
  CHECK(sinks_of(graph_of("b:branch l:loop p n", "b~l:it l~p b~n:else")) == "l n");
  CHECK(sinks_of(graph_of("b:branch c:branch y n u", "b~c:it c~y:it c~n:else b~u:else")) ==
        "y n u");
  // A join of arms of different depth is where the outer branch is.
  CHECK(sinks_of(graph_of("b:branch c:branch y n u k",
                          "b~c:it c~y:it c~n:else b~u:else y>k n>k u>k")) == "k");
}

TEST_CASE("a captured node leads on to the construct that captures it") {
  const Graph graph = graph_of("o l:loop p", "l~p o^p");
  CHECK(sinks_of(graph) == "l");
  CHECK(sources_of(graph) == "o");
}

TEST_CASE("wrong graphs are put together as well as they can be") {
  // Ends that are not there, an edge to itself, a cycle, an id twice.
  CHECK(sinks_of(graph_of("a b", "a>ghost ghost>b a>a")) == "a b");
  CHECK(sinks_of(graph_of("a b c", "a>b b>a c>a")) == "");
  CHECK(sources_of(graph_of("a b c", "a>b b>a c>a")) == "c");
  CHECK(sources_of(graph_of("l:loop p q", "l~p p>q q>p")) == "l");
  CHECK(ids_of(beside(graph_of("a a", ""), graph_of("b", "")).value()) == "a a b");
}

// ---- Against the definition

namespace {

// What an expression of >> and | means, straight from its definition: sets of nodes and edges.
struct Meaning {
  std::vector<std::string> nodes, sources, sinks;
  std::set<std::pair<std::string, std::string>> edges;
};

Meaning means_then(Meaning a, const Meaning& b) {
  for (const std::string& sink : a.sinks) {
    for (const std::string& source : b.sources) a.edges.emplace(sink, source);
  }
  a.edges.insert(b.edges.begin(), b.edges.end());
  a.nodes.insert(a.nodes.end(), b.nodes.begin(), b.nodes.end());
  a.sinks = b.sinks;
  return a;
}

Meaning means_beside(Meaning a, const Meaning& b) {
  a.edges.insert(b.edges.begin(), b.edges.end());
  a.nodes.insert(a.nodes.end(), b.nodes.begin(), b.nodes.end());
  a.sources.insert(a.sources.end(), b.sources.begin(), b.sources.end());
  a.sinks.insert(a.sinks.end(), b.sinks.begin(), b.sinks.end());
  return a;
}

struct Expression {
  std::string written;
  Graph graph;
  Meaning meaning;
};

class RandomExpression {
 public:
  explicit RandomExpression(u32 seed) : random_(seed) {}

  Expression of(u32 leaves) {
    if (leaves == 1) return leaf();
    const u32 left = 1 + static_cast<u32>(random_() % (leaves - 1));
    Expression a = of(left), b = of(leaves - left);
    const bool is_then = random_() % 2 == 0;
    Expression out;
    out.written = text("({}{}{})", a.written, is_then ? ">>" : "|", b.written);
    out.graph = (is_then ? then : beside)(std::move(a.graph), std::move(b.graph)).value();
    out.meaning = (is_then ? means_then : means_beside)(std::move(a.meaning), b.meaning);
    return out;
  }

 private:
  Expression leaf() {
    const std::string id = text("n{}", ++leaves_);
    return {id, single(id), {{id}, {id}, {id}, {}}};
  }

  std::mt19937 random_;
  u32 leaves_ = 0;
};

}  // namespace

TEST_CASE("random expressions of >> and | mean what the definition says") {
  constexpr u32 rounds = fixture::is_sanitized ? 2000 : 10'000;
  for (u32 seed = 0; seed < rounds; ++seed) {
    const Expression expression = RandomExpression(seed).of(1 + seed % 12);
    CAPTURE(expression.written);
    std::vector<std::string> nodes;
    for (const GraphNode& node : expression.graph.nodes) nodes.push_back(node.id.str());
    std::set<std::pair<std::string, std::string>> edges;
    std::string plain;
    for (const GraphEdge& edge : expression.graph.edges) {
      const Graph& graph = expression.graph;
      edges.emplace(graph.id_of(edge.from), graph.id_of(edge.to));
      GraphEdge bare;
      bare.from = edge.from;
      bare.to = edge.to;
      if (!(edge == bare)) plain += graph.id_of(edge.from);
    }
    REQUIRE(nodes == expression.meaning.nodes);
    REQUIRE(edges == expression.meaning.edges);
    REQUIRE(edges.size() == expression.graph.edges.size());  // none twice
    REQUIRE(plain.empty());
    std::string sources, sinks;
    for (const std::string& id : expression.meaning.sources) sources += " " + id;
    for (const std::string& id : expression.meaning.sinks) sinks += " " + id;
    REQUIRE(" " + sources_of(expression.graph) == sources);
    REQUIRE(" " + sinks_of(expression.graph) == sinks);
  }
}

}  // namespace soma
