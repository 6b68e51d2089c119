// Proves which differentiable nodes are fused, and what comes between them.
#include "compiler/passes.hpp"
#include "unit/compiler/compile_text.hpp"
#include "unit/plan/plan_builder.hpp"

namespace soma {

namespace {

// With the given nodes differentiable, and compiled for that.
std::string fused(std::string input, const std::string& ids) {
  for (const std::string& id : fixture::words_of(ids)) {
    input += text("\nnode {}: {{\"differentiable\":true}}", id);
  }
  return fixture::display_of(input + "\nwith: mode=differentiable");
}

}  // namespace

TEST_CASE("maximal runs of two or more") {
  CHECK(fused("nodes: a b c d e f\nedges: a>b b>c c>d d>e e>f", "a b d f") ==
        "Sequence:\n"
        "  Composite(a, b)\n"
        "  Execute(c)\n"
        "  Execute(d)\n"
        "  Execute(e)\n"
        "  Execute(f)\n");
  CHECK(fused("nodes: a b c\nedges: a>b b>c", "a b c") == "Composite(a, b, c)\n");
  CHECK(fused("nodes: a", "a") == "Execute(a)\n");
}

TEST_CASE("only in differentiable mode") {
  CHECK(fixture::display_of("nodes: a b\nedges: a>b\nnode a: {\"differentiable\":true}\n"
                            "node b: {\"differentiable\":true}") ==
        "Sequence:\n"
        "  Execute(a)\n"
        "  Execute(b)\n");
}

TEST_CASE("branches of a wave are neighbours of nobody, but their own nodes are") {
  CHECK(fused("nodes: s a b c j k\nedges: s>a a>b s>c b>j c>j j>k", "s a b c j k") ==
        "Sequence:\n"
        "  Execute(s)\n"
        "  Parallel:\n"
        "    Composite(a, b)\n"
        "    Execute(c)\n"
        "  Composite(j, k)\n");
}

TEST_CASE("in bodies and arms too") {
  CHECK(fused("nodes: l:loop p q\nedges: l~p p>q\nnode l: {\"max_iterations\":2}", "p q") ==
        "Loop(l, max=2, until=q, carry=q):\n"
        "  Composite(p, q)\n");
  CHECK(fused("nodes: b:branch y z n\nedges: b~y:it\nedges: b~n:else\nedges: y>z", "y z n") ==
        "Sequence:\n"
        "  Execute(b)\n"
        "  Branch(b):\n"
        "    [it]:\n"
        "      Composite(y, z)\n"
        "    [else]:\n"
        "      Execute(n)\n");
}

TEST_CASE("a node that decides, one that waits and a step end a run") {
  CHECK(fused("nodes: a c b:branch y\nedges: a>c c>b b~y:else", "a c b y") ==
        "Sequence:\n"
        "  Composite(a, c)\n"
        "  Execute(b)\n"
        "  Branch(b):\n"
        "    [else]:\n"
        "      Execute(y)\n");
  CHECK(fused("nodes: a b c d\nedges: a>b b>c c>d\nnode c: {\"waits\":true}", "a b c d") ==
        "Sequence:\n"
        "  Composite(a, b)\n"
        "  Execute(c)\n"
        "  Execute(d)\n");
  CHECK(fused("nodes: a b s:step c d\nedges: a>b b>s s>c c>d", "a b s c d") ==
        "Sequence:\n"
        "  Composite(a, b)\n"
        "  Step(s)\n"
        "  Composite(c, d)\n");
}

TEST_CASE("a run stays on one target and one device") {
  CHECK(fused("nodes: a b c d\nedges: a>b b>c c>d\nnode c: {\"device\":\"cuda:0\"}\n"
              "node d: {\"device\":\"cuda:0\"}", "a b c d") ==
        "Sequence:\n"
        "  Composite(a, b)\n"
        "  Composite(c, d)\n");
  CHECK(fused("nodes: a b c d e\nedges: a>b b>c c>d d>e\nnode c: {\"target\":{\"tag\":\"gpu\"}}\n"
              "node d: {\"target\":{\"tag\":\"gpu\"}}\nnode e: {\"target\":{\"worker\":\"gpu\"}}",
              "a b c d e") ==
        "Sequence:\n"
        "  Composite(a, b)\n"
        "  Remote(c, target=gpu):\n"
        "    Composite(c, d)\n"
        "  Remote(e, worker=gpu):\n"
        "    Execute(e)\n");
}

TEST_CASE("slices that exist already are looked into, and twice is once") {
  fixture::PlanBuilder builder;
  builder.open(Variant::Sequence).execute("a").remote({Target::Kind::Tag, "gpu"});
  builder.open(Variant::Sequence).execute("b", {"a"}).execute("c", {"b"}).close().close().close();
  Plan plan = builder.take();
  for (PlanNode& node : plan.nodes) node.differentiable = true;
  plan.nodes[2].edit().target = plan.nodes[1].target();
  fuse_differentiable(plan);
  CHECK(plan.verify().ok());
  const std::string once = plan.display();
  CHECK(once ==
        "Sequence:\n"
        "  Execute(a)\n"
        "  Remote(b, target=gpu):\n"
        "    Composite(b, c)\n");
  fuse_differentiable(plan);
  CHECK(plan.display() == once);
}

}  // namespace soma
