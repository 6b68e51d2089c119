// Proves that a plan's tree is shown as documented, one item a line, whatever its ids hold.
#include <doctest/doctest.h>

#include <algorithm>

#include "unit/plan/random_plan.hpp"

namespace soma {

namespace {

using fixture::PlanBuilder;
using fixture::tree;

constexpr Variant sequence = Variant::Sequence, parallel = Variant::Parallel;

}  // namespace

TEST_CASE("small plans") {
  CHECK(PlanBuilder().take().display() == "Empty\n");
  CHECK(PlanBuilder().execute("a").take().display() == "Execute(a)\n");
  CHECK(PlanBuilder().open(parallel).execute("a").execute("b").close().take().display() ==
        "Parallel:\n"
        "  Execute(a)\n"
        "  Execute(b)\n");
}

TEST_CASE("waves and sequences in each other") {
  CHECK(tree("s[a p[s[b b2 b3] s[c c2]] d]").display() ==
        "Sequence:\n"
        "  Execute(a)\n"
        "  Parallel:\n"
        "    Sequence:\n"
        "      Execute(b)\n"
        "      Execute(b2)\n"
        "      Execute(b3)\n"
        "    Sequence:\n"
        "      Execute(c)\n"
        "      Execute(c2)\n"
        "  Execute(d)\n");
  CHECK(tree("s[p[s[a a2] b] p[c d]]").display() ==
        "Sequence:\n"
        "  Parallel:\n"
        "    Sequence:\n"
        "      Execute(a)\n"
        "      Execute(a2)\n"
        "    Execute(b)\n"
        "  Parallel:\n"
        "    Execute(c)\n"
        "    Execute(d)\n");
  CHECK(tree("s[a p[s[b p[x d] e] f] g]").display() ==
        "Sequence:\n"
        "  Execute(a)\n"
        "  Parallel:\n"
        "    Sequence:\n"
        "      Execute(b)\n"
        "      Parallel:\n"
        "        Execute(x)\n"
        "        Execute(d)\n"
        "      Execute(e)\n"
        "    Execute(f)\n"
        "  Execute(g)\n");
  CHECK(tree("p[s[a b x d] other]").display() ==
        "Parallel:\n"
        "  Sequence:\n"
        "    Execute(a)\n"
        "    Execute(b)\n"
        "    Execute(x)\n"
        "    Execute(d)\n"
        "  Execute(other)\n");
  CHECK(tree("s[s0 p[l r] j]").display() ==
        "Sequence:\n"
        "  Execute(s0)\n"
        "  Parallel:\n"
        "    Execute(l)\n"
        "    Execute(r)\n"
        "  Execute(j)\n");
}

TEST_CASE("a loop says its bound, its signal and its carry") {
  PlanBuilder builder;
  builder.loop("refine", 4, "judge", "judge").open(sequence).execute("revise");
  builder.execute("worker", {"revise"}).execute("judge", {"worker"}).close().close();
  Plan plan = builder.take();
  CHECK(plan.display() ==
        "Loop(refine, max=4, until=judge, carry=judge):\n"
        "  Sequence:\n"
        "    Execute(revise)\n"
        "    Execute(worker)\n"
        "    Execute(judge)\n");
  plan.loops[0] = {7, no_node, no_node};
  CHECK(plan.display().starts_with("Loop(refine, max=7, until=exhaust):\n"));
  plan.loops[0] = {std::nullopt, 3, 1};
  CHECK(plan.display().starts_with("Loop(refine, until=judge, carry=revise):\n"));
}

TEST_CASE("arms and hand-offs have lines of their own") {
  PlanBuilder builder;
  builder.open(sequence).execute("gate").branch("gate", {"score > 0.8", "\"again\"", "else"});
  builder.execute("deploy").open(sequence).execute("tune").execute("retrain").close();
  builder.execute("stop").close();
  builder.step("ask", {"help", "a target"}).execute("help").open(parallel).execute("x");
  builder.execute("y").close().close().step("alone", {}).close().close();
  CHECK(builder.take().display() ==
        "Sequence:\n"
        "  Execute(gate)\n"
        "  Branch(gate):\n"
        "    [score > 0.8]:\n"
        "      Execute(deploy)\n"
        "    [\"again\"]:\n"
        "      Sequence:\n"
        "        Execute(tune)\n"
        "        Execute(retrain)\n"
        "    [else]:\n"
        "      Execute(stop)\n"
        "  Step(ask):\n"
        "    ~> help:\n"
        "      Execute(help)\n"
        "    ~> \"a target\":\n"
        "      Parallel:\n"
        "        Execute(x)\n"
        "        Execute(y)\n"
        "  Step(alone)\n");
}

TEST_CASE("remote, composite, stream and dataflow") {
  PlanBuilder builder;
  builder.open(sequence).remote({Target::Kind::Tag, "gpu"}).execute("a").close();
  builder.remote({Target::Kind::Worker, "w1"}).open(sequence).execute("b").execute("c").close();
  builder.close().open(Variant::Composite).execute("d").execute("e").close();
  builder.stream(8).execute("f").execute("g", {"f"}).close();
  builder.dataflow({{}, {}, {0, 1}}).execute("h").execute("i").execute("j").close();
  CHECK(builder.close().take().display() ==
        "Sequence:\n"
        "  Remote(a, target=gpu):\n"
        "    Execute(a)\n"
        "  Remote(b, worker=w1):\n"
        "    Sequence:\n"
        "      Execute(b)\n"
        "      Execute(c)\n"
        "  Composite(d, e)\n"
        "  Stream(f, g, chunk=8)\n"
        "  Dataflow:\n"
        "    Execute(h)\n"
        "    Execute(i)\n"
        "    Execute(j)\n");
}

TEST_CASE("ids that could be taken for more than one word are quoted") {
  const auto shown = [](const std::string& id) {
    Plan plan = PlanBuilder().execute("a").take();
    plan.nodes[0].id = id;
    return plan.display();
  };
  CHECK(shown("größer") == "Execute(größer)\n");
  CHECK(shown("outer/inner") == "Execute(outer/inner)\n");
  CHECK(shown("std.identity:2") == "Execute(std.identity:2)\n");
  CHECK(shown("a b") == "Execute(\"a b\")\n");
  CHECK(shown("a, max=4") == "Execute(\"a, max=4\")\n");
  CHECK(shown("a)") == "Execute(\"a)\")\n");
  CHECK(shown("\"") == "Execute(\"\\\"\")\n");
  CHECK(shown("a\nb") == "Execute(\"a\\nb\")\n");
  CHECK(shown("\x1b[31m") == "Execute(\"\\u001b[31m\")\n");
  CHECK(shown("\xc2\x9b" "31m") == "Execute(\"\\u009b31m\")\n");
  CHECK(shown("\x7f") == "Execute(\"\\u007f\")\n");
  CHECK(shown("\xc2\xa0") == "Execute(\xc2\xa0)\n");
}

TEST_CASE("random plans have a line for each item, arm and hand-off, and no control characters") {
  std::mt19937 random(6);
  for (u32 round = 0; round < 300; ++round) {
    const Plan plan = fixture::random_plan(random, round % 50);
    size_t lines = plan.items.size();
    for (u32 at = 0; at < plan.items.size(); ++at) {
      const Variant variant = plan.items[at].variant;
      size_t children = 0;
      plan.each_child(at, [&](u32) { ++children; });
      if (variant == Variant::Branch || variant == Variant::Step) lines += children;
      if (variant == Variant::Composite || variant == Variant::Stream) lines -= children;
    }
    const std::string shown = plan.display();
    CAPTURE(shown);
    REQUIRE(static_cast<size_t>(std::count(shown.begin(), shown.end(), '\n')) == lines);
    REQUIRE(std::none_of(shown.begin(), shown.end(),
                         [](char c) { return static_cast<u8>(c) < 0x20 && c != '\n'; }));
  }
}

TEST_CASE("what is very deep says so instead of being moved to the right") {
  PlanBuilder builder;
  for (u32 i = 0; i < 50000; ++i) builder.loop(text("l{}", i), 1, "", "");
  builder.execute("a");
  for (u32 i = 0; i < 50000; ++i) builder.close();
  const std::string shown = builder.leaves({"l0"}).take().display();
  CHECK(shown.size() < 50000 * 350);
  CHECK(shown.ends_with("(level 50000) Execute(a)\n"));
  CHECK(shown.find("  (level 129) Loop(l129, max=1, until=exhaust):\n") != shown.npos);
  CHECK(shown.find("(level 128)") == shown.npos);
}

}  // namespace soma
