// Proves that cut gradients are found by paths: in straight graphs, and through constructs. The
// last cases hold random graphs, and such with a loop, to a list of all their paths.
#include <algorithm>
#include <random>

#include "unit/compiler/compile_text.hpp"

namespace soma {

namespace {

// What is said of gradients if the given nodes are differentiable: "a<b" if b cuts some paths of a,
// "a<<b" if it cuts all.
std::string cuts_of(const std::string& input, const std::string& differentiable) {
  std::string graph = input;
  for (const std::string& id : fixture::words_of(differentiable)) {
    graph += text("\nnode {}: {{\"differentiable\":true}}", id);
  }
  const Compilation made = fixture::compiled(graph);
  CHECK(made.plan.has_value());   // warnings don't block
  std::string out;
  for (const Diagnostic& one : made.diagnostics.list()) {
    const bool is_partly = one.reason == Reason::gradient_partly_cut;
    if (!is_partly && one.reason != Reason::gradient_cut) continue;
    CHECK(one.level == Level::Warning);
    out += text("{}{}{}{}", out.empty() ? "" : " ", one.nodes.at(0), is_partly ? "<" : "<<",
                one.nodes.at(1));
  }
  return out;
}

}  // namespace

TEST_CASE("chains: what is cut, and what was never to have a gradient") {
  CHECK(cuts_of("nodes: a b c\nedges: a>b b>c", "") == "");
  CHECK(cuts_of("nodes: a b c\nedges: a>b b>c", "a b c") == "");
  CHECK(cuts_of("nodes: a b c\nedges: a>b b>c", "c") == "");       // an opaque prefix
  CHECK(cuts_of("nodes: a b c\nedges: a>b b>c", "a c") == "a<<b");
  CHECK(cuts_of("nodes: a b c d\nedges: a>b b>c c>d", "a d") == "a<<b");  // the first that is met
}

TEST_CASE("an opaque end cuts all before it, and a loss that is a leaf too only some") {
  CHECK(cuts_of("nodes: a loss metric\nedges: a>loss loss>metric", "a loss") ==
        "a<<metric loss<<metric");
  CHECK(cuts_of("nodes: a loss out metric\nedges: a>loss loss>out loss>metric", "a loss out") ==
        "a<metric loss<metric");
}

TEST_CASE("branches of a wave: the answer is that of paths, in whatever order they come") {
  const char* forth = "nodes: a b c d e\nedges: a>b b>c a>d c>e d>e";
  const char* back = "nodes: a d c b e\nedges: a>d d>e a>b b>c c>e";
  CHECK(cuts_of(forth, "a b d e") == "a<c b<<c");
  CHECK(cuts_of(back, "a b d e") == "a<c b<<c");
  CHECK(cuts_of("nodes: a b c j\nedges: a>b a>c b>j c>j", "a j") == "a<<b");
}

TEST_CASE("nodes that only wait are no readers, and a value that nobody reads says nothing") {
  CHECK(cuts_of("nodes: a b c\nedges: a~b b>c", "a c") == "");
  CHECK(cuts_of("nodes: a b c\nedges: a>b b~c", "a c") == "");  // no path to a leaf
}

TEST_CASE("a path into a loop leads through its body to its carry and on") {
  const char* loop = R"(nodes: a l:loop p q e
edges: a>l l~p p>q l>e
node l: {"max_iterations":2})";
  CHECK(cuts_of(loop, "a p q e") == "");
  CHECK(cuts_of(loop, "a q e") == "a<<p");
  CHECK(cuts_of(loop, "a p q") == "a<<e p<<e q<<e");  // behind the loop
  CHECK(cuts_of(loop, "a p e") == "a<<q p<<q");
}

TEST_CASE("what a body computes beside its carry cuts nothing") {
  const char* loop = R"(nodes: a l:loop p judge e
edges: a>l l~p p>judge l>e
node l: {"max_iterations":2,"until":{"when_signaled":"judge"},"carry_from":"p"})";
  CHECK(cuts_of(loop, "a p e") == "");
  CHECK(cuts_of(loop, "p") == "p<<e");
}

TEST_CASE("loops in loops") {
  const char* loops = R"(nodes: a l:loop m:loop p q r e
edges: a>l l~m m~p p>q m>r l>e
node l: {"max_iterations":2}
node m: {"max_iterations":2})";
  CHECK(cuts_of(loops, "a p q r e") == "");
  CHECK(cuts_of(loops, "a p q e") == "a<<r p<<r q<<r");
  CHECK(cuts_of(loops, "a p r e") == "a<<q p<<q");
  CHECK(cuts_of(loops, "a p q r") == "a<<e p<<e q<<e r<<e");
}

TEST_CASE("a captured value is read in the body") {
  const char* loop = R"(nodes: a o l:loop p q e
edges: a>l o>l o^q l~p p>q l>e
node l: {"max_iterations":2})";
  CHECK(cuts_of(loop, "o q e") == "o<p");         // as the loop's input it meets p
  CHECK(cuts_of(loop, "o p e") == "o<<q p<<q");
}

TEST_CASE("what a body captures goes on behind the loop, whichever of the two was added first") {
  for (const char* nodes : {"o l:loop p q e", "l:loop p q e o", "e q p l:loop o"}) {
    const std::string loop = text("nodes: {}\nedges: o^q l~p p>q l>e\n"
                                  "node l: {{\"max_iterations\":2}}", nodes);
    CAPTURE(nodes);
    CHECK(cuts_of(loop, "o q e") == "");
    CHECK(cuts_of(loop, "o e") == "o<<q");
    CHECK(cuts_of(loop, "o") == "o<<q");
    CHECK(cuts_of(loop, "o q").find("o<<e") != std::string::npos);
  }
}

TEST_CASE("arms read what their node decided by, and a join reads the arms") {
  const char* branch = "nodes: a b:branch y n j\nedges: a>b b~y:it\nedges: b~n:else\n"
                       "edges: y>j n>j";
  CHECK(cuts_of(branch, "a b y n j") == "");
  CHECK(cuts_of(branch, "a b y j") == "a<n b<n");
  CHECK(cuts_of(branch, "a y n j") == "a<<b");
}

TEST_CASE("a subgraph's node hands on what its leaf yields, and cuts nothing") {
  const char* graph = R"(nodes: a g:subgraph e
edges: a>g g>e
node g: {"graph":{"soma":"graph","version":1,"edges":[],"nodes":[{"id":"p","differentiable":true}]}}
)";
  CHECK(cuts_of(graph, "a e") == "");
  CHECK(cuts_of(graph, "a") == "a<<e g/p<<e");
}

namespace {

// Values and who reads them, the graph's leaves reading nothing: what is said of each, by a list of
// all paths. Values that are no nodes stand behind them.
struct PathList {
  std::vector<std::vector<u32>> readers;
  std::vector<bool> is_opaque, is_leaf;

  std::string cuts(const Graph& graph) const {
    std::string out;
    for (u32 i = 0; i < graph.nodes.size(); ++i) {
      if (!graph.nodes[i].differentiable) continue;
      u32 whole = 0, cut = 0;
      std::vector<std::pair<u32, bool>> open = {{i, false}};  // each entry is one path so far
      while (!open.empty()) {
        const auto [value, is_cut] = open.back();
        open.pop_back();
        if (is_leaf[value]) ++(is_cut ? cut : whole);
        for (const u32 reader : readers[value]) {
          open.push_back({reader, is_cut || is_opaque[reader]});
        }
      }
      if (cut > 0) out += text("{}{} ", graph.nodes[i].id.view(), whole > 0 ? "<" : "<<");
    }
    return out;
  }
};

std::string cuts_of(const Graph& graph) {
  const Compilation made = fixture::compiled(graph, {});
  REQUIRE(made.plan);
  std::string out;
  for (const Diagnostic& one : made.diagnostics.list()) {
    if (one.reason == Reason::gradient_partly_cut) out += one.nodes[0] + "< ";
    if (one.reason == Reason::gradient_cut) out += one.nodes[0] + "<< ";
  }
  return out;
}

GraphEdge& add_edge(Graph& graph, u32 from, u32 to) {
  GraphEdge& edge = graph.edges.emplace_back();
  edge.from = from;
  edge.to = to;
  return edge;
}

// Nodes of which some are differentiable, before any edge.
Graph random_nodes(std::mt19937& random, u32 count, PathList& paths) {
  Graph graph;
  for (u32 i = 0; i < count; ++i) {
    GraphNode& node = graph.nodes.emplace_back();
    node.id = text("n{}", i);
    node.differentiable = random() % 4 != 0;
    paths.is_opaque.push_back(!node.differentiable);
  }
  paths.readers.resize(count);
  paths.is_leaf.assign(count, true);
  return graph;
}

}  // namespace

TEST_CASE("random graphs: both warnings are those of a list of all paths") {
  std::mt19937 random(7);
  for (u32 round = 0; round < 400; ++round) {
    const u32 nodes = 2 + static_cast<u32>(random() % 6);
    PathList paths;
    Graph graph = random_nodes(random, nodes, paths);
    for (u32 i = 0; i < nodes; ++i) {
      for (u32 j = i + 1; j < nodes; ++j) {
        if (random() % 2 == 0) continue;
        add_edge(graph, i, j);
        paths.readers[i].push_back(j);
        paths.is_leaf[i] = false;
      }
    }
    CAPTURE(graph.document());
    REQUIRE(cuts_of(graph) == paths.cuts(graph));
  }
}

TEST_CASE("random graphs with a loop: nodes before it, in its body and behind it") {
  std::mt19937 random(8);
  constexpr u32 loop = 2, body = 3, behind = 6, nodes = 8, yielded = nodes;
  const auto is_in_body = [](u32 node) { return node >= body && node < behind; };
  for (u32 round = 0; round < 1000; ++round) {
    PathList paths;
    Graph graph = random_nodes(random, nodes, paths);
    GraphNode& node = graph.nodes[loop];
    node.kind = NodeKind::Loop;
    node.differentiable = false;
    node.edit().max_iterations = 3;
    node.edit().until.kind = StopRule::Kind::Exhaust;
    const u32 carry = body + static_cast<u32>(random() % (behind - body));
    node.edit().carry_from = graph.nodes[carry].id;
    paths.readers.resize(nodes + 1);
    paths.is_opaque[loop] = false;
    paths.is_opaque.push_back(false);
    paths.is_leaf.push_back(true);
    paths.is_leaf[loop] = false;
    for (u32 i = body; i < behind; ++i) paths.is_leaf[i] = false;
    paths.readers[carry].push_back(yielded);
    for (u32 to = 1; to < nodes; ++to) {
      bool reads = false, is_inner = false;
      for (u32 from = 0; from < to; ++from) {
        const bool leaves_body = is_in_body(from) && to >= behind;
        const bool enters_body = from == loop && is_in_body(to);
        if (leaves_body || enters_body || random() % 2 == 0) continue;
        add_edge(graph, from, to).capture = from < loop && is_in_body(to);
        const u32 value = from == loop ? u32{yielded} : from;
        paths.readers[value].push_back(to);
        paths.is_leaf[value] = false;
        reads = true;
        is_inner = is_inner || is_in_body(from);
      }
      if (!is_in_body(to)) continue;
      if (!is_inner) add_edge(graph, loop, to).kind = EdgeKind::Control;
      if (!reads) paths.readers[loop].push_back(to);
    }
    std::shuffle(graph.edges.begin(), graph.edges.end(), random);
    CAPTURE(graph.document());
    REQUIRE(cuts_of(graph) == paths.cuts(graph));
  }
}

}  // namespace soma
