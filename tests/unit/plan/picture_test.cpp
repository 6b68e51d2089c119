// Proves that pictures of plans are what they were when somebody last looked at them, that no text
// can mean anything to XML, that they say what they leave out, and that size and depth are bounded.
//
// With SOMA_GOLDEN_WRITE set, the pictures are written anew instead; look at them.
#include "plan/picture.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "plan/picture_layout.hpp"
#include "plan/picture_text.hpp"
#include "unit/plan/random_plan.hpp"

namespace soma {

namespace {

using fixture::PlanBuilder;

constexpr Variant sequence = Variant::Sequence, parallel = Variant::Parallel;

void check_picture(const std::string& name, const Plan& plan) {
  REQUIRE(fixture::problems_of(plan.verify()) == "");
  const std::string path = "tests/golden/pictures/" + name + ".svg", made = plan_svg(plan);
  if (std::getenv("SOMA_GOLDEN_WRITE")) {
    std::ofstream(path) << made;
    return;
  }
  std::ifstream file(path);
  REQUIRE(file.good());
  std::ostringstream known;
  known << file.rdbuf();
  CHECK(made == known.str());
}

Plan constructs() {
  PlanBuilder builder;
  builder.open(sequence).execute("load").open(parallel).execute("left", {"load"});
  builder.open(sequence).execute("right", {"load"}).execute("far", {"right"}).close().close();
  builder.execute("join", {"load", "left", "far"});
  builder.branch("join", {"it > 0.8", "\"again\"", "else"});
  builder.execute("deploy").open(sequence).execute("tune").execute("retrain", {"tune"}).close();
  builder.execute("stop").close();
  builder.loop("refine", 4, "judge", "revise", {"join"}).open(sequence);
  builder.execute("revise").execute("judge", {"revise"}).close().close();
  builder.step("ask", {"help", "a target"}, {"refine"}).execute("help").execute("other").close();
  return builder.execute("end", {"ask", "help", "other"}).close().take();
}

Plan frames() {
  PlanBuilder builder;
  builder.open(sequence).execute("s");
  builder.node().edit().cost_us = 12.5;
  builder.node().op = "std.identity";
  builder.remote({Target::Kind::Tag, "gpu"}).execute("a", {"s"}).close();
  builder.open(Variant::Composite).execute("d", {"a"}).execute("e", {"d"}).close();
  builder.stream(8).execute("f", {"e"});
  builder.node().stream_mode = StreamMode::Stateless;
  builder.execute("g", {"f"});
  builder.node().stream_mode = StreamMode::Barrier;
  builder.close();
  builder.dataflow({{}, {}, {0}, {0, 1}});
  builder.execute("p", {"g"}).execute("q", {"g"}).execute("r", {"p"}).execute("t", {"p", "q"});
  return builder.close().close().take();
}

Plan chain(u32 nodes) {
  PlanBuilder builder;
  builder.open(sequence);
  for (u32 i = 0; i < nodes; ++i) builder.execute(text("n{}", i));
  return builder.close().take();
}

size_t count(std::string_view text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

bool overlap(const PictureCell& a, const PictureCell& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.bottom() && b.y < a.bottom();
}

// What is in a cell lies in it, and cells beside each other do not touch.
bool are_in_place(const PictureLayout& layout) {
  bool all = true;
  for (u32 at = 0; at < layout.cells.size(); ++at) {
    const PictureCell& own = layout.cells[at];
    all = all && own.x >= 0 && own.x + own.width <= layout.width && own.bottom() <= layout.height;
    const PictureCell* before = nullptr;
    layout.each_in(at, [&](u32 child) {
      const PictureCell& inner = layout.cells[child];
      all = all && inner.outer == at && inner.x >= own.x && inner.y >= own.y &&
            inner.x + inner.width <= own.x + own.width && inner.bottom() <= own.bottom() &&
            (before == nullptr || !overlap(*before, inner));
      before = &inner;
    });
  }
  return all;
}

}  // namespace

TEST_CASE("golden pictures") {
  check_picture("constructs", constructs());
  check_picture("frames", frames());
  check_picture("empty", Plan(PlanBuilder().take()));
}

TEST_CASE("text is cut by character and steers nobody") {
  CHECK(picture_text("score", 5) == "score");
  CHECK(picture_text("scores", 5) == "score…");
  CHECK(picture_text("größer", 3) == "grö…");
  CHECK(picture_text("a\n\x1b\x7f\xc2\x9b", 9) == "a\\u000a\\u001b\\u007f\\u009b");
  CHECK(picture_text("\xe2\x80\xae" "abc\xe2\x81\xa6", 9) == "\\u202eabc\\u2066");
  CHECK(picture_text("\xef\xbf\xbe\xef\xbf\xbf\xef\xbb\xbf", 9) == "\\ufffe\\uffff\\ufeff");
  CHECK(picture_text("\xff" "a\xc3", 9) == "\xef\xbf\xbd" "a\xef\xbf\xbd");
  // Not between what belongs together: an accent, a colour of skin, a family.
  CHECK(picture_text("ae\xcc\x81x", 2) == "a…");
  CHECK(picture_text("a\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbdx", 2) == "a…");
  CHECK(picture_text("a\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7x", 3) == "a…");
  CHECK(picture_text("a\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7x", 4) ==
        "a\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7…");
  CHECK(picture_text("שלום", 2) == "של…");
  CHECK(picture_columns("score…") == 6);
  CHECK(picture_columns("漢字\xf0\x9f\x91\x8d") == 6);
  CHECK(xml_escaped("<a href='&\"'>") == "&lt;a href=&#39;&amp;&quot;&#39;&gt;");
}

TEST_CASE("ids mean nothing to XML") {
  Plan plan = constructs();
  plan.nodes[0].id = "]]><script>\"'&amp;--></svg>\x1b\n";
  plan.nodes[1].id = std::string(5'000'000, 'x');
  const std::string svg = plan_svg(plan), html = plan_html(plan);
  for (const std::string& picture : {svg, html}) {
    CHECK(picture.size() < 100'000);
    CHECK(picture.find("<script") == picture.npos);
    CHECK(picture.find("-->") == picture.npos);
    CHECK(picture.find('\x1b') == picture.npos);
    CHECK(picture.find("&lt;script&gt;&quot;&#39;&amp;amp;--&gt;") != picture.npos);
    CHECK(picture.find(std::string(32, 'x') + "…") != picture.npos);
  }
  CHECK(count(svg, "<svg") == 1);
  CHECK(count(html, "</svg>") == 1);
}

TEST_CASE("a page has facts for every node that it shows, and wants no script") {
  const std::string html = plan_html(frames());
  CHECK(count(html, "<aside id=\"n") == 10);
  CHECK(count(html, "<a href=\"#n3\">") == 2);  // of the box and of the outline
  CHECK(html.find("<dt>cost_us</dt><dd>12.5</dd>") != html.npos);
  CHECK(html.find("<dt>target</dt><dd>{&quot;tag&quot;:&quot;gpu&quot;}</dd>") != html.npos);
  CHECK(html.find("<dt>from</dt><dd>p, q</dd>") != html.npos);
  CHECK(html.find("default-src 'none'") != html.npos);
  CHECK(count(html, "<details") == count(html, "</details>"));
  CHECK(html.find("http") == html.find("http-equiv"));
}

TEST_CASE("random plans: everything in its place, the same bytes again") {
  std::mt19937 random(8);
  for (u32 round = 0; round < 300; ++round) {
    const Plan plan = fixture::random_plan(random, round % 50);
    CAPTURE(plan.display());
    const PictureLayout layout = lay_out(plan);
    REQUIRE(are_in_place(layout));
    REQUIRE(layout.nodes_left_out == 0);
    u32 shown = 0;
    for (const PictureCell& cell : layout.cells) shown += cell.node != no_node ? 1U : 0U;
    REQUIRE(shown == plan.nodes.size());
    const std::string html = plan_html(plan);
    REQUIRE(html == plan_html(plan));
    REQUIRE(count(html, "<details") == count(html, "</details>"));
    REQUIRE(count(html, "<g ") == count(html, "</g>"));
  }
}

TEST_CASE("what a picture has no room for is counted") {
  for (const Plan& plan : {chain(100'000), [] {
         PlanBuilder builder;
         builder.open(parallel);
         for (u32 i = 0; i < 100'000; ++i) builder.execute(text("n{}", i));
         return builder.close().take();
       }()}) {
    const PictureLayout layout = lay_out(plan);
    REQUIRE(are_in_place(layout));
    CHECK(layout.cells.size() == picture_cells_max + 1);
    CHECK(layout.cells.back().title == "… 98001 more");
    const std::string svg = plan_svg(plan);
    CHECK(svg.find(">1999 of 100000 nodes are shown</text>") != svg.npos);
    CHECK(svg.size() < 1'000'000);
  }
}

TEST_CASE("arms beyond the room are counted, and so are curves") {
  std::vector<std::string> arms;
  for (u32 i = 0; i < 3000; ++i) arms.push_back(text("it == {}", i));
  PlanBuilder builder;
  builder.open(sequence).execute("gate").branch("gate", arms);
  for (u32 i = 0; i < 3000; ++i) builder.execute(text("n{}", i));
  const PictureLayout layout = lay_out(builder.close().close().take());
  REQUIRE(are_in_place(layout));
  CHECK(layout.nodes_left_out == 3000 - (picture_cells_max - 4) / 2);

  PlanBuilder dense;
  dense.open(sequence);
  std::vector<std::string> all;
  for (u32 i = 0; i < 200; ++i) {
    dense.execute(text("n{}", i), all);
    all.push_back(text("n{}", i));
  }
  const PictureLayout full = lay_out(dense.close().take());
  CHECK(full.curves_left_out == 200 * 199 / 2 - 199 - picture_curves_max);
}

TEST_CASE("what is very deep is drawn down to a depth") {
  PlanBuilder builder;
  for (u32 i = 0; i < 100'000; ++i) builder.loop(text("l{}", i), 1, "", "");
  builder.execute("a");
  for (u32 i = 0; i < 100'000; ++i) builder.close();
  const Plan plan = builder.leaves({"l0"}).take();
  const PictureLayout layout = lay_out(plan);
  REQUIRE(are_in_place(layout));
  CHECK(layout.cells.size() == picture_depth_max + 1);
  CHECK(layout.nodes_left_out == 100'001 - picture_depth_max);
  CHECK(plan_html(plan).size() < 200'000);
}

}  // namespace soma
