// Proves which chains become streams, and what is refused of a node that has a stream mode.
#include "compiler/passes.hpp"
#include "unit/compiler/compile_text.hpp"
#include "unit/plan/plan_builder.hpp"

namespace soma {

namespace {

// With the given nodes streamed.
std::string streamed(std::string input, const std::string& ids) {
  for (const std::string& id : fixture::words_of(ids)) {
    input += text("\nnode {}: {{\"stream_mode\":\"stateless\"}}", id);
  }
  return input + "\nwith: chunk=8";
}

}  // namespace

TEST_CASE("maximal chains become streams, single nodes too, and the rest stays") {
  CHECK(fixture::display_of(streamed("nodes: a b c d e\nedges: a>b b>c c>d d>e", "b c e")) ==
        "Sequence:\n"
        "  Execute(a)\n"
        "  Stream(b, c, chunk=8)\n"
        "  Execute(d)\n"
        "  Stream(e, chunk=8)\n");
  CHECK(fixture::display_of(streamed("nodes: a b\nedges: a>b", "a b")) ==
        "Stream(a, b, chunk=8)\n");
  CHECK(fixture::display_of(streamed("nodes: a", "a")) == "Stream(a, chunk=8)\n");
}

TEST_CASE("without the option, modes change nothing") {
  CHECK(fixture::display_of("nodes: a b\nedges: a>b\nnode a: {\"stream_mode\":\"barrier\"}") ==
        "Sequence:\n"
        "  Execute(a)\n"
        "  Execute(b)\n");
}

TEST_CASE("branches of a wave are chains of their own, before and after a fan of whole values") {
  CHECK(fixture::display_of(streamed("nodes: s a b c d j\nedges: s>a a>b s>c c>d b>j d>j",
                                     "a b c d")) ==
        "Sequence:\n"
        "  Execute(s)\n"
        "  Parallel:\n"
        "    Stream(a, b, chunk=8)\n"
        "    Stream(c, d, chunk=8)\n"
        "  Execute(j)\n");
  // The last of a chain may be read by several, if they take it whole.
  CHECK(fixture::display_of(streamed("nodes: a b x y\nedges: a>b b>x b>y", "a b")).find(
            "Stream(a, b, chunk=8)") != std::string::npos);
}

TEST_CASE("neighbours in a sequence that do not read each other are two streams") {
  CHECK(fixture::display_of(streamed("nodes: a b\nedges: a~b", "a b")) ==
        "Sequence:\n"
        "  Stream(a, chunk=8)\n"
        "  Stream(b, chunk=8)\n");
}

TEST_CASE("a chain ends where only a part of a value is read, or on another target") {
  CHECK(fixture::display_of(streamed("nodes: a b\nedges: a.x>b", "a b")) ==
        "Sequence:\n"
        "  Stream(a, chunk=8)\n"
        "  Stream(b, chunk=8)\n");
  CHECK(fixture::display_of(streamed("nodes: a b\nedges: a.x>b\nnode a: {\"outputs\":[{\"name\":"
                                     "\"x\"}]}", "a b")) == "Stream(a, b, chunk=8)\n");
  CHECK(fixture::display_of(streamed("nodes: a b c d\nedges: a>b b>c c>d\n"
                                     "node b: {\"target\":{\"tag\":\"gpu\"}}\n"
                                     "node c: {\"target\":{\"tag\":\"gpu\"}}", "a b c d")) ==
        "Sequence:\n"
        "  Stream(a, chunk=8)\n"
        "  Remote(b, target=gpu):\n"
        "    Stream(b, c, chunk=8)\n"
        "  Stream(d, chunk=8)\n");
}

TEST_CASE("chains in bodies and arms") {
  CHECK(fixture::display_of(streamed("nodes: l:loop p q\nedges: l~p p>q\n"
                                     "node l: {\"max_iterations\":3}", "p q")) ==
        "Loop(l, max=3, until=q, carry=q):\n"
        "  Stream(p, q, chunk=8)\n");
  CHECK(fixture::display_of(streamed("nodes: b:branch y z n\nedges: b~y:it\nedges: b~n:else\n"
                                     "edges: y>z", "y z")) ==
        "Sequence:\n"
        "  Execute(b)\n"
        "  Branch(b):\n"
        "    [it]:\n"
        "      Stream(y, z, chunk=8)\n"
        "    [else]:\n"
        "      Execute(n)\n");
}

TEST_CASE("in differentiable mode a stream stays one") {
  CHECK(fixture::display_of(streamed("nodes: a b c d\nedges: a>b b>c c>d\n"
                                     "with: mode=differentiable\n"
                                     "node a: {\"differentiable\":true}\n"
                                     "node b: {\"differentiable\":true}\n"
                                     "node c: {\"differentiable\":true}\n"
                                     "node d: {\"differentiable\":true}", "a b")) ==
        "Sequence:\n"
        "  Stream(a, b, chunk=8)\n"
        "  Composite(c, d)\n");
}

TEST_CASE("chunks have at least one row, and no more than a number of rows can say") {
  Plan plan = fixture::tree("a");
  for (const i64 rows : {i64{0}, i64{-1}, INT64_MIN, i64{1} << 40}) {
    Diagnostics diagnostics;
    stream(plan, rows, diagnostics);
    CHECK(diagnostics.text() ==
          text("error stream.chunk_size: a chunk can't have {} rows; it has 1 to 2147483648\n",
               rows));
  }
  Diagnostics none;
  stream(plan, i64{1} << 31, none);
  CHECK(none.text() == "");
}

TEST_CASE("fans inside a stream are refused") {
  CHECK(fixture::diagnostics_of(streamed("nodes: a x b c\nedges: a>c x>c c>b", "c")) ==
        "error stream.fan: streamed node 'c' reads 2 values; streams are chains: end this one "
        "before the fan\n");
  CHECK(fixture::diagnostics_of(streamed("nodes: a b c\nedges: a>b a>c", "a b")).find(
            "error stream.fan: the value of streamed node 'a' is read 2 times, also by a streamed "
            "node") != std::string::npos);
  // A loop reads its carry, after every pass.
  CHECK(fixture::diagnostics_of(streamed(
            "nodes: l:loop p q\nedges: l~p p>q\n"
            "node l: {\"max_iterations\":3,\"carry_from\":\"p\"}", "p q")) ==
        "error stream.fan: the value of streamed node 'p' is read 2 times, also by a streamed "
        "node; streams are chains: end this one before the fan\n");
}

TEST_CASE("only functions are streamed") {
  const std::string said = fixture::diagnostics_of(
      streamed("nodes: s:step l:loop p b:branch y f z g:subgraph\n"
               "edges: l~p b~y:else\nedges: f~z:else\nnode l: {\"max_iterations\":1}\n"
               "node g: {\"graph\":{\"soma\":\"graph\",\"version\":1,\"nodes\":[],\"edges\":[]}}",
               "s l b f g"));
  for (const char* what : {"'s' is a step", "'l' is a loop", "'b' is a branch", "'f' is a branch",
                           "'g' is a subgraph"}) {
    CAPTURE(said);
    CHECK(said.find(text("error stream.construct: node {} and has a stream mode", what)) !=
          std::string::npos);
  }
}

}  // namespace soma
