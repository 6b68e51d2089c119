// Proves what travels together, that nothing else does, and what can't be sent.
#include "compiler/passes.hpp"

#include <random>

#include "unit/compiler/compile_text.hpp"

namespace soma {

namespace {

// With nodes "a b" placed on the tag "gpu", and those of `workers` on the worker "w".
std::string placed(std::string input, const std::string& tagged, const std::string& workers = "") {
  for (const std::string& id : fixture::words_of(tagged)) {
    input += text("\nnode {}: {{\"target\":{{\"tag\":\"gpu\"}}}}", id);
  }
  for (const std::string& id : fixture::words_of(workers)) {
    input += text("\nnode {}: {{\"target\":{{\"worker\":\"w\"}}}}", id);
  }
  return input;
}

std::string slices_of(const std::string& input, const std::string& tagged,
                      const std::string& workers = "") {
  return fixture::display_of(placed(input, tagged, workers));
}

GraphEdge edge_of(u32 from, u32 to) {
  GraphEdge edge;
  edge.from = from;
  edge.to = to;
  return edge;
}

constexpr const char* chain = "nodes: a b c d e\nedges: a>b b>c c>d d>e";

}  // namespace

TEST_CASE("consecutive nodes of one target make one trip") {
  CHECK(slices_of(chain, "b c e") ==
        "Sequence:\n"
        "  Execute(a)\n"
        "  Remote(b, target=gpu):\n"
        "    Sequence:\n"
        "      Execute(b)\n"
        "      Execute(c)\n"
        "  Execute(d)\n"
        "  Remote(e, target=gpu):\n"
        "    Execute(e)\n");
  CHECK(slices_of(chain, "a b c d e") ==
        "Remote(a, target=gpu):\n"
        "  Sequence:\n"
        "    Execute(a)\n"
        "    Execute(b)\n"
        "    Execute(c)\n"
        "    Execute(d)\n"
        "    Execute(e)\n");
  CHECK(slices_of("nodes: a", "a") == "Remote(a, target=gpu):\n  Execute(a)\n");
}

TEST_CASE("two targets are two trips, and a tag is no worker of that name") {
  CHECK(slices_of("nodes: a b\nedges: a>b", "a", "b") ==
        "Sequence:\n"
        "  Remote(a, target=gpu):\n"
        "    Execute(a)\n"
        "  Remote(b, worker=w):\n"
        "    Execute(b)\n");
  CHECK(slices_of("nodes: a b\nedges: a>b\nnode b: {\"target\":{\"worker\":\"gpu\"}}", "a") ==
        "Sequence:\n"
        "  Remote(a, target=gpu):\n"
        "    Execute(a)\n"
        "  Remote(b, worker=gpu):\n"
        "    Execute(b)\n");
}

TEST_CASE("a wave travels whole, or branch by branch") {
  const char* diamond = "nodes: s l m r j\nedges: s>l l>m s>r m>j r>j";
  CHECK(slices_of(diamond, "l m r j") ==
        "Sequence:\n"
        "  Execute(s)\n"
        "  Remote(l, target=gpu):\n"
        "    Sequence:\n"
        "      Parallel:\n"
        "        Sequence:\n"
        "          Execute(l)\n"
        "          Execute(m)\n"
        "        Execute(r)\n"
        "      Execute(j)\n");
  CHECK(slices_of(diamond, "s l m") ==
        "Sequence:\n"
        "  Remote(s, target=gpu):\n"
        "    Execute(s)\n"
        "  Parallel:\n"
        "    Remote(l, target=gpu):\n"
        "      Sequence:\n"
        "        Execute(l)\n"
        "        Execute(m)\n"
        "    Execute(r)\n"
        "  Execute(j)\n");
}

TEST_CASE("a loop travels with its body, or its body does in every pass") {
  const char* loop = "nodes: a l:loop p q\nedges: a>l l~p p>q\nnode l: {\"max_iterations\":2}";
  CHECK(slices_of(loop, "a l p q") ==
        "Remote(a, target=gpu):\n"
        "  Sequence:\n"
        "    Execute(a)\n"
        "    Loop(l, max=2, until=q, carry=q):\n"
        "      Sequence:\n"
        "        Execute(p)\n"
        "        Execute(q)\n");
  CHECK(slices_of(loop, "p q") ==
        "Sequence:\n"
        "  Execute(a)\n"
        "  Loop(l, max=2, until=q, carry=q):\n"
        "    Remote(p, target=gpu):\n"
        "      Sequence:\n"
        "        Execute(p)\n"
        "        Execute(q)\n");
  const std::string partly = fixture::outcome_of(placed(loop, "l p"));
  CHECK(partly.find("warning distribute.target: loop 'l' is placed on 'gpu', and 'q' in its body "
                    "is not, so it stays here") != std::string::npos);
  CHECK(partly.find("    Remote(p, target=gpu):") != std::string::npos);
}

TEST_CASE("a branch and the node that decides it stay together") {
  const char* branch = "nodes: a b:branch y n k\nedges: a>b b~y:it\nedges: b~n:else\n"
                       "edges: y>k n>k";
  CHECK(slices_of(branch, "b y n") ==
        "Sequence:\n"
        "  Execute(a)\n"
        "  Remote(b, target=gpu):\n"
        "    Sequence:\n"
        "      Execute(b)\n"
        "      Branch(b):\n"
        "        [it]:\n"
        "          Execute(y)\n"
        "        [else]:\n"
        "          Execute(n)\n"
        "  Execute(k)\n");
  // It decides there, and its arm is picked here.
  CHECK(slices_of(branch, "a b y") ==
        "Sequence:\n"
        "  Remote(a, target=gpu):\n"
        "    Sequence:\n"
        "      Execute(a)\n"
        "      Execute(b)\n"
        "  Branch(b):\n"
        "    [it]:\n"
        "      Remote(y, target=gpu):\n"
        "        Execute(y)\n"
        "    [else]:\n"
        "      Execute(n)\n"
        "  Execute(k)\n");
}

TEST_CASE("a step goes where its hand-offs go") {
  const char* step = "nodes: s:step h i\nedges: s~h s~i";
  CHECK(slices_of(step, "s h i") ==
        "Remote(s, target=gpu):\n"
        "  Step(s):\n"
        "    ~> h:\n"
        "      Execute(h)\n"
        "    ~> i:\n"
        "      Execute(i)\n");
  CHECK(slices_of(step, "h").find("    ~> h:\n") == std::string::npos);
  CHECK(fixture::diagnostics_of(placed(step, "s h")).find(
            "error distribute.target: step 's' is placed on 'gpu', and 'i', behind one of its "
            "hand-offs, is not; place a step and all behind its hand-offs on one target") !=
        std::string::npos);
}

TEST_CASE("a part that runs by counting travels whole or child by child") {
  const std::string tangle = "nodes: a b c d\nedges: a>c a>d b>d\nwith: parallelize_dag";
  CHECK(slices_of(tangle, "a b c d").starts_with("Remote(a, target=gpu):\n  Dataflow:\n"));
  const std::string partly = slices_of(tangle, "c d");
  CHECK(partly.starts_with("Dataflow:\n"));
  CHECK(partly.find("  Remote(c, target=gpu):\n    Execute(c)\n") != std::string::npos);
}

TEST_CASE("twice is once, and what nodes read stays as it was") {
  for (const auto& [tagged, workers] : std::vector<std::pair<std::string, std::string>>{
           {"a", "b c"}, {"b c d", ""}, {"a b c d e", ""}, {"a c e", "b d"}, {"", ""}}) {
    Compilation made = fixture::compiled(placed(chain, tagged, workers));
    REQUIRE(made.plan);
    Plan& plan = *made.plan;
    const std::string once = plan.document();
    Diagnostics diagnostics;
    distribute(plan, diagnostics);
    CHECK(plan.document() == once);
    CHECK(diagnostics.text() == "");
    for (u32 node = 1; node < plan.nodes.size(); ++node) {
      REQUIRE(plan.sources_of(node).size() == 1);
      CHECK(plan.sources_of(node)[0].node == node - 1);
    }
  }
}

TEST_CASE("random graphs: each node runs where it is placed, and twice is once") {
  std::mt19937 random(3);
  for (u32 round = 0; round < 500; ++round) {
    Graph graph;
    const u32 nodes = 1 + static_cast<u32>(random() % 10);
    for (u32 i = 0; i < nodes; ++i) {
      GraphNode& node = graph.nodes.emplace_back();
      node.id = text("n{}", i);
      node.differentiable = random() % 2 == 0;
      if (random() % 3 != 0) {
        node.edit().target = {Target::Kind::Tag, random() % 4 == 0 ? "w" : "gpu"};
      }
      for (u32 from = 0; from < i; ++from) {
        if (random() % 3 == 0) graph.edges.emplace_back(edge_of(from, i));
      }
    }
    CompileOptions options;
    options.mode = random() % 2 == 0 ? PlanMode::Differentiable : PlanMode::Inference;
    options.parallelize_dag = random() % 2 == 0;
    Compilation made = fixture::compiled(graph, options);
    CAPTURE(graph.document());
    REQUIRE(made.plan);
    Plan& plan = *made.plan;
    CAPTURE(plan.display());
    const Target* around = nullptr;
    u32 end = 0;                  // of the slice at hand
    for (u32 at = 0; at < plan.items.size(); ++at) {
      const PlanItem& item = plan.items[at];
      if (at >= end) around = nullptr;
      if (item.variant == Variant::Remote) {
        REQUIRE(around == nullptr);
        around = &plan.nodes[item.node].target();
        end = item.end;
      } else if (item.variant == Variant::Execute) {
        REQUIRE(plan.nodes[item.node].target() == (around ? *around : Target()));
      }
    }
    const std::string once = plan.document();
    Diagnostics diagnostics;
    distribute(plan, diagnostics);
    REQUIRE(plan.document() == once);
  }
}

// ---- What can't be sent

namespace {

std::string refused(const std::string& input, const std::string& tagged) {
  const std::string said = fixture::diagnostics_of(placed(input, tagged));
  std::string out;
  for (size_t at = 0; at < said.size();) {
    const size_t end = said.find('\n', at);
    const std::string line = said.substr(at, end - at);
    const std::string start = "error distribute.opaque: ";
    if (line.starts_with(start)) {
      out += line.substr(start.size(), line.find(';') - start.size()) + "\n";
    }
    at = end + 1;
  }
  return out;
}

constexpr const char* opaque_output = R"({"outputs":[{"name":"o","dtype":"opaque"}]})";
constexpr const char* opaque_input = R"({"inputs":[{"name":"i","dtype":"opaque"}]})";

}  // namespace

TEST_CASE("an opaque port at either end of an edge into or out of a slice") {
  const std::string pair = text("nodes: a b c\nedges: a>b b>c\nnode b: {}", opaque_output);
  CHECK(refused(pair, "c") == "'b' -> 'c' carries an opaque value, and 'c' runs on 'gpu'\n");
  CHECK(refused(pair, "b") == "'b' -> 'c' carries an opaque value, and 'b' runs on 'gpu'\n");
  CHECK(refused(pair, "b c") == "");
  CHECK(refused(text("nodes: a b c\nedges: a>b b>c\nnode b: {}", opaque_input), "b c") ==
        "'a' -> 'b' carries an opaque value, and 'b' runs on 'gpu'\n");
}

TEST_CASE("of several outputs the one that is read") {
  const std::string pair = "nodes: a b\nnode a: {\"outputs\":[{\"name\":\"x\",\"dtype\":\"f32\"},"
                           "{\"name\":\"y\",\"dtype\":\"opaque\"}]}\n";
  CHECK(refused(pair + "edges: a.x>b", "b") == "");
  CHECK(refused(pair + "edges: a.y>b", "b") ==
        "'a' -> 'b' carries an opaque value, and 'b' runs on 'gpu'\n");
}

TEST_CASE("what no edge shows is sent too") {
  CHECK(refused(text("nodes: a b\nedges: a>b\nnode a: {}", opaque_input), "a") ==
        "'a' reads the run's input as an opaque value, and 'a' runs on 'gpu'\n");
  CHECK(refused(text("nodes: a b\nedges: a>b\nnode b: {}", opaque_output), "b") ==
        "the plan yields the value of 'b', which is opaque, and 'b' runs on 'gpu'\n");
  const std::string loop = "nodes: l:loop p q\nedges: l~p p>q\nnode l: {\"max_iterations\":2}\n";
  CHECK(refused(loop + text("node p: {}", opaque_input), "p q") ==
        "'l' hands an opaque value to 'p', and 'p' runs on 'gpu'\n");
  CHECK(refused(loop + text("node q: {}", opaque_output), "p q") ==
        "loop 'l' takes the value of 'q' from pass to pass, which is opaque, and 'q' runs on "
        "'gpu'\n");
  CHECK(refused(loop + text("node q: {}", opaque_output), "l p q") == "");
  CHECK(refused(text("nodes: b:branch y\nedges: b~y:else\nnode b: {}", opaque_output), "y") ==
        "'b' hands an opaque value to 'y', and 'y' runs on 'gpu'\n");
}

}  // namespace soma
