// Proves that pictures of plans have a point and an arrow for all that happens, and that no id can
// mean anything to the languages they are written in.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "unit/plan/random_plan.hpp"

namespace soma {

namespace {

using fixture::PlanBuilder;

constexpr Variant sequence = Variant::Sequence, parallel = Variant::Parallel;

Plan wave() {
  PlanBuilder builder;
  builder.open(sequence).execute("a").open(parallel).execute("b").execute("c").close();
  return builder.execute("d").close().take();
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    out.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

TEST_CASE("a wave has a fork and a join") {
  CHECK(wave().mermaid() ==
        "flowchart TD\n"
        "  i1[\"a\"]\n"
        "  i2((\" \"))\n"
        "  o2((\" \"))\n"
        "  i3[\"b\"]\n"
        "  i4[\"c\"]\n"
        "  i5[\"d\"]\n"
        "  i1 --> i2\n"
        "  o2 --> i5\n"
        "  i2 --> i3\n"
        "  i3 --> o2\n"
        "  i2 --> i4\n"
        "  i4 --> o2\n");
  CHECK(wave().dot() ==
        "digraph plan {\n"
        "  rankdir=TB;\n"
        "  i1 [shape=box, label=\"a\"];\n"
        "  i2 [shape=point, label=\"\"];\n"
        "  o2 [shape=point, label=\"\"];\n"
        "  i3 [shape=box, label=\"b\"];\n"
        "  i4 [shape=box, label=\"c\"];\n"
        "  i5 [shape=box, label=\"d\"];\n"
        "  i1 -> i2;\n"
        "  o2 -> i5;\n"
        "  i2 -> i3;\n"
        "  i3 -> o2;\n"
        "  i2 -> i4;\n"
        "  i4 -> o2;\n"
        "}\n");
}

TEST_CASE("arms are labels, hand-offs are dotted, loops are frames") {
  PlanBuilder builder;
  builder.open(sequence).execute("gate").branch("gate", {"score > 0.8", "\"no\""});
  builder.execute("x").execute("y").close();
  builder.step("ask", {"help"}).execute("h").close();
  builder.loop("refine", 4, "judge", "").execute("judge").close().close();
  const Plan plan = builder.take();
  CHECK(plan.mermaid() ==
        "flowchart TD\n"
        "  i1[\"gate\"]\n"
        "  i2{\"gate\"}\n"
        "  o2((\" \"))\n"
        "  i3[\"x\"]\n"
        "  i4[\"y\"]\n"
        "  i5[[\"ask\"]]\n"
        "  o5((\" \"))\n"
        "  i6[\"h\"]\n"
        "  subgraph f7[\"loop, max=4, until=judge\"]\n"
        "    i7([\"refine\"])\n"
        "    i8[\"judge\"]\n"
        "  end\n"
        "  i1 --> i2\n"
        "  o2 --> i5\n"
        "  o5 --> i7\n"
        "  i2 -->|\"score #62; 0.8\"| i3\n"
        "  i3 --> o2\n"
        "  i2 -->|\"#34;no#34;\"| i4\n"
        "  i4 --> o2\n"
        "  i5 --> o5\n"
        "  i5 -.->|\"help\"| i6\n"
        "  i6 --> o5\n"
        "  i7 --> i8\n"
        "  i8 -->|\"again\"| i7\n");
  const std::string dot = plan.dot();
  CHECK(dot.find("  subgraph cluster_f7 { label=\"loop, max=4, until=judge\";\n"
                 "    i7 [shape=box, style=rounded, label=\"refine\"];\n") != dot.npos);
  CHECK(dot.find("  i2 -> i4 [label=\"\\\"no\\\"\"];\n") != dot.npos);
  CHECK(dot.find("  i5 -> i6 [style=dotted, label=\"help\"];\n") != dot.npos);
}

TEST_CASE("parts of a dataflow follow those that they are after") {
  PlanBuilder builder;
  builder.dataflow({{}, {}, {0}, {0, 1}});
  for (const char* id : {"a", "b", "c", "d"}) builder.execute(id);
  const std::string dot = builder.close().take().dot();
  CHECK(dot.substr(dot.find("  i0 -> ")) ==
        "  i0 -> i1;\n"
        "  i0 -> i2;\n"
        "  i1 -> i3;\n"
        "  i1 -> i4;\n"
        "  i2 -> i4;\n"
        "  i3 -> o0;\n"
        "  i4 -> o0;\n"
        "}\n");
}

TEST_CASE("ids mean nothing to the languages") {
  Plan plan = wave();
  plan.nodes[0].id = "\"]; end; %%{init}%% <b>&lt;`#";
  plan.nodes[1].id = "\\N\"];\nx -> y";
  const std::string mermaid = plan.mermaid(), dot = plan.dot();
  CAPTURE(mermaid);
  CAPTURE(dot);
  CHECK(mermaid.find("i1[\"#34;#92;#34;]#59; end#59; #37;#37;#123;init#125;#37;#37; "
                     "#60;b#62;#38;lt#59;#96;#35;#34;\"]\n") != mermaid.npos);
  CHECK(dot.find("i1 [shape=box, label=\"\\\"\\\\\\\"]; end; %%{init}%% "
                 "<b>&amp;lt;`#\\\"\"];\n") != dot.npos);
  CHECK(dot.find("label=\"\\\"\\\\\\\\N\\\\\\\"];\\\\nx -> y\\\"\"];\n") != dot.npos);
}

TEST_CASE("random plans are drawn line by line, with arrows between points that are there") {
  std::mt19937 random(7);
  for (u32 round = 0; round < 300; ++round) {
    const Plan plan = fixture::random_plan(random, round % 50);
    const std::string mermaid = plan.mermaid(), dot = plan.dot();
    CAPTURE(mermaid);
    CAPTURE(dot);
    std::set<std::string_view> points;
    size_t frames = 0, nodes = 0, arrows = 0;
    for (const std::string_view line : lines_of(mermaid)) {
      if (line == "flowchart TD") continue;
      if (line == "end") {
        REQUIRE(frames-- > 0);
      } else if (line.starts_with("subgraph ")) {
        ++frames;
      } else if (const size_t space = line.find(" -"); line.find_first_of("[({") > space) {
        ++arrows;
        REQUIRE(points.count(line.substr(0, space)) == 1);
        REQUIRE(points.count(line.substr(line.rfind(' ') + 1)) == 1);
      } else {
        REQUIRE(points.insert(line.substr(0, line.find_first_of("[({"))).second);
        ++nodes;
      }
    }
    REQUIRE(frames == 0);
    REQUIRE(nodes >= plan.nodes.size());
    // The same in the other language.
    size_t dot_nodes = 0, dot_arrows = 0;
    for (const std::string_view line : lines_of(dot)) {
      dot_nodes += line.find(" [shape=") < line.find('"') ? 1U : 0U;
      dot_arrows += line.find(" -> ") < line.find('"') && line.find(" -> ") < 20 ? 1U : 0U;
      REQUIRE(line.find('\r') == line.npos);
    }
    REQUIRE(dot_nodes == nodes);
    REQUIRE(dot_arrows == arrows);
  }
}

TEST_CASE("what is very deep is drawn without deep recursion") {
  PlanBuilder builder;
  for (u32 i = 0; i < 20000; ++i) builder.loop(text("l{}", i), 1, "", "");
  builder.execute("a");
  for (u32 i = 0; i < 20000; ++i) builder.close();
  const Plan plan = builder.leaves({"l0"}).take();
  CHECK(plan.mermaid().size() < 20000 * 1200);
  CHECK(plan.dot().ends_with("}\n"));
}

}  // namespace soma
