// Proves that a comparison of plans names what came, went, moved and changed, no more than that,
// and that it finds nothing exactly where documents are the same.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "plan/diff.hpp"
#include "unit/plan/random_plan.hpp"

namespace soma {

namespace {

using fixture::PlanBuilder;
using fixture::tree;

constexpr Variant sequence = Variant::Sequence;

// What differs, but for the whole plan: leaves differ with the last node.
std::string between(std::string_view before, std::string_view after) {
  PlanDiff found = diff(tree(before), tree(after));
  found.plan.clear();
  return found.text();
}

}  // namespace

TEST_CASE("what is the same does not differ") {
  CHECK(between("s[a p[b c] d]", "s[a p[b c] d]") == "");
  CHECK(diff(tree("s[a b]"), tree("s[a b]")).none());
  CHECK(diff(Plan(PlanBuilder().take()), PlanBuilder().take()).none());
  CHECK(diff(tree("a"), tree("a")).json() ==
        R"({"plan":[],"removed":[],"added":[],"moved":[],"changed":[]})");
}

TEST_CASE("what comes and goes moves nobody else") {
  CHECK(between("s[a b]", "s[x a b]") == "added x: sequence[0]\n");
  CHECK(between("s[a b]", "s[a x b]") == "added x: sequence[1]\n");
  CHECK(between("a", "s[a x]") == "added x: sequence[1]\n");
  CHECK(between("s[a b]", "a") == "removed b: sequence[1]\n");
  CHECK(between("p[a b]", "b") == "removed a: parallel[0]\n");
  CHECK(between("s[a p[b c] d]", "s[a b d]") == "removed c: sequence[1] > parallel[1]\n");
  CHECK(between("s[a b d]", "s[a p[b s[c e]] d]") ==
        "added c: sequence[1] > parallel[1] > sequence[0]\n"
        "added e: sequence[1] > parallel[1] > sequence[1]\n");
  CHECK(between("s[a b]", "p[x y]") ==
        "removed a: sequence[0]\nremoved b: sequence[1]\n"
        "added x: parallel[0]\nadded y: parallel[1]\n");
}

TEST_CASE("what has another relation to the rest moved") {
  CHECK(between("s[a b c]", "s[a c b]") == "moved c: sequence[2] -> sequence[1]\n");
  CHECK(between("s[a b]", "p[a b]") == "moved b: sequence[1] -> parallel[1]\n");
  CHECK(between("s[p[a b] c]", "p[a s[b c]]") ==
        "moved c: sequence[1] -> parallel[1] > sequence[1]\n");
  CHECK(between("p[s[a b c] s[d e]]", "p[s[a b] s[c d e]]") ==
        "moved c: parallel[0] > sequence[2] -> parallel[1] > sequence[0]\n");
  CHECK(between("s[a p[b c] d e]", "s[a e p[b c] d]") == "moved e: sequence[3] -> sequence[1]\n");
  CHECK(between("s[a b c d]", "s[c[a b] c d]") ==
        "moved a: sequence[0] -> sequence[0] > composite\n"
        "moved b: sequence[1] -> sequence[0] > composite\n");
}

TEST_CASE("constructs around a node are a part of its place") {
  const auto make = [](bool is_inside, const std::string& arm) {
    PlanBuilder builder;
    builder.open(sequence).execute("g").branch("g", {arm, "else"}).execute("a").execute("b");
    builder.close().loop("l", 2, "c", "c").open(sequence);
    if (is_inside) builder.execute("m");
    builder.execute("c").close().close();
    if (!is_inside) builder.execute("m");
    return builder.close().leaves({"l"}).take();
  };
  CHECK(diff(make(true, "it == 1"), make(false, "it == 1")).text() ==
        "moved m: sequence[2] > loop(l) > sequence[0] -> sequence[3]\n");
  // The arm of another condition is another arm.
  CHECK(diff(make(true, "it == 1"), make(true, "it == 2")).text() ==
        "moved a: sequence[1] > branch(g)[it == 1] -> sequence[1] > branch(g)[it == 2]\n"
        "changed g arms: [\"it == 1\",\"else\"] -> [\"it == 2\",\"else\"]\n");

  const auto far = [](bool is_one) {
    PlanBuilder builder;
    const Target gpu = {Target::Kind::Tag, "gpu"};
    builder.open(sequence).remote(gpu);
    if (is_one) builder.open(sequence);
    builder.execute("a");
    if (!is_one) builder.close().remote(gpu);
    builder.execute("b");
    builder.node().edit().target = gpu;
    if (is_one) builder.close();
    return builder.close().execute("z").close().take();
  };
  CHECK(diff(far(true), far(false)).text() ==
        "moved b: sequence[0] > remote(target=gpu) > sequence[1] -> sequence[1] > "
        "remote(target=gpu)\n");
}

TEST_CASE("what a node says of itself is compared key by key") {
  Plan before = PlanBuilder()
                    .open(sequence)
                    .execute("a")
                    .execute("b", {"a"})
                    .execute("c", {"a", "b"})
                    .close()
                    .take();
  Plan after = PlanBuilder()
                   .open(sequence)
                   .execute("a")
                   .execute("b", {"a.x:in"})
                   .execute("c", {"b", "a"})
                   .close()
                   .take();
  after.nodes[0].edit().config = Value::map({{"value", Value::number(1.5)}});
  before.nodes[0].op = "std.const";
  before.nodes[0].waits = true;
  after.nodes[2].edit().device = "cuda:1";
  after.mode = PlanMode::NoCache;
  const PlanDiff found = diff(before, after);
  CHECK(found.text() ==
        "plan mode: \"inference\" -> \"no_cache\"\n"
        "changed a op: \"std.const\" -> nothing\n"
        "changed a waits: true -> nothing\n"
        "changed a config: nothing -> {\"value\":1.5}\n"
        "changed b from: [\"a\"] -> [{\"node\":\"a\",\"output\":\"x\",\"input\":\"in\"}]\n"
        "changed c from: [\"a\",\"b\"] -> [\"b\",\"a\"]\n"
        "changed c device: nothing -> \"cuda:1\"\n");
  CHECK(found.json() ==
        R"({"plan":[{"field":"mode","before":"inference","after":"no_cache"}],"removed":[],)"
        R"("added":[],"moved":[],"changed":[{"id":"a","fields":[)"
        R"({"field":"op","before":"std.const","after":null},)"
        R"({"field":"waits","before":true,"after":null},)"
        R"({"field":"config","before":null,"after":{"value":1.5}}]},)"
        R"({"id":"b","fields":[{"field":"from","before":["a"],)"
        R"("after":[{"node":"a","output":"x","input":"in"}]}]},)"
        R"({"id":"c","fields":[{"field":"from","before":["a","b"],"after":["b","a"]},)"
        R"({"field":"device","before":null,"after":"cuda:1"}]}]})");
}

TEST_CASE("what the tree says of nodes is theirs") {
  const auto make = [](u64 bound, const std::string& carry, u32 rows, const std::string& target,
                       bool waits) {
    PlanBuilder builder;
    builder.open(sequence).loop("l", bound, "x", carry).open(sequence).execute("x").execute("y");
    builder.close().close().stream(rows).execute("s");
    builder.node().stream_mode = StreamMode::Stateless;
    builder.close().step("t", {target}).execute("h").close();
    builder.dataflow({{}, waits ? std::vector<u32>{0} : std::vector<u32>{}});
    return builder.execute("d").execute("e").close().close().leaves({"e"}).take();
  };
  CHECK(diff(make(0, "", 8, "h", false), make(4, "y", 8, "h", false)).text() ==
        "changed l max_iterations: nothing -> 4\n"
        "changed l carry_from: nothing -> \"y\"\n");
  CHECK(diff(make(4, "y", 8, "h", false), make(4, "y", 9, "h", true)).text() ==
        "changed s chunk_size: 8 -> 9\n"
        "changed e after: [] -> [\"d\"]\n");
  CHECK(diff(make(4, "y", 8, "h", false), make(4, "y", 8, "i", false)).text() ==
        "moved h: sequence[2] > step(t)[h] -> sequence[2] > step(t)[i]\n"
        "changed t handoffs: [\"h\"] -> [\"i\"]\n");
}

TEST_CASE("lines stay lines, whatever ids and settings hold") {
  Plan before = tree("s[a b]"), after = tree("s[a b]");
  after.nodes[0].id = "x\ny";
  after.nodes[1].edit().config =
      Value::map({{"long", Value::text(std::string(300, 'e') + "\xc2\x9b")}});
  const std::string text = diff(before, after).text();
  CHECK(text.starts_with(
      "removed a: sequence[0]\nadded \"x\\ny\": sequence[0]\nchanged b config: "
      "nothing -> {\"long\":\"eee"));
  CHECK(text.ends_with("eee…\n"));
  CHECK(text.size() < 400);
}

// ---- Against the definitions

namespace {

// The items around each node, from the outside, and what they are.
std::vector<std::vector<u32>> chains_of(const Plan& plan) {
  std::vector<std::vector<u32>> out(plan.nodes.size());
  std::vector<u32> open;
  for (u32 at = 0; at < plan.items.size(); ++at) {
    while (!open.empty() && plan.items[open.back()].end == at) open.pop_back();
    open.push_back(at);
    const Variant variant = plan.items[at].variant;
    if (variant == Variant::Execute || variant == Variant::Step || variant == Variant::Loop) {
      out[plan.items[at].node] = open;
    }
  }
  return out;
}

// The innermost item around two nodes, of which the second comes later.
u32 shared(const std::vector<std::vector<u32>>& chains, u32 a, u32 b) {
  u32 out = 0;
  for (size_t i = 0; i < std::min(chains[a].size(), chains[b].size()); ++i) {
    if (chains[a][i] == chains[b][i]) out = chains[a][i];
  }
  return out;
}

}  // namespace

TEST_CASE("of random plans, nothing differs exactly where documents are the same") {
  std::mt19937 random(8);
  u32 same = 0;
  for (u32 round = 0; round < 6000; ++round) {
    const u32 seed = static_cast<u32>(random()), nodes = 1 + round % 4;
    std::mt19937 first(seed), second(round % 3 == 0 ? seed : seed + 1);
    const Plan a = fixture::random_plan(first, nodes), b = fixture::random_plan(second, nodes);
    const bool is_same = a.document() == b.document();
    CAPTURE(a.display());
    CAPTURE(b.display());
    REQUIRE(diff(a, b).none() == is_same);
    same += is_same ? 1U : 0U;
  }
  CHECK(same >= 2000);
}

TEST_CASE("of small trees, nothing moves exactly where they are the same") {
  // All trees of these nodes in any order: a and b and c in waves and sequences.
  std::vector<std::string> trees;
  std::string nodes = "abc";
  do {
    for (const char* form : {"s[0 1 2]", "p[0 1 2]", "s[p[0 1] 2]", "s[0 p[1 2]]", "p[s[0 1] 2]",
                             "p[0 s[1 2]]", "c[0 1 2]", "s[c[0 1] 2]", "p[c[0 1] 2]"}) {
      std::string out;
      for (const char letter : std::string_view(form)) {
        out += letter >= '0' && letter <= '2' ? nodes[static_cast<size_t>(letter - '0')] : letter;
      }
      trees.push_back(std::move(out));
    }
  } while (std::next_permutation(nodes.begin(), nodes.end()));
  for (const std::string& before : trees) {
    for (const std::string& after : trees) {
      CAPTURE(before);
      CAPTURE(after);
      REQUIRE((diff(tree(before), tree(after)).moved.empty()) == (before == after));
    }
  }
}

TEST_CASE("nodes that stay have the same relations to each other") {
  std::mt19937 random(9);
  size_t stayed = 0;
  for (u32 round = 0; round < 1500; ++round) {
    // Of one seed, the smaller plan ends where the larger goes on: many nodes are in both.
    const u32 seed = static_cast<u32>(random());
    std::mt19937 first(seed), second(round % 4 == 0 ? seed + 1 : seed);
    const Plan a = fixture::random_plan(first, 10 + round % 10);
    const Plan b = fixture::random_plan(second, 20);
    const PlanDiff found = diff(a, b);
    std::set<std::string> not_staying;
    for (const PlanDiff::Moved& moved : found.moved) not_staying.insert(moved.id);
    std::vector<std::pair<u32, u32>> staying;
    for (u32 i = 0; i < b.nodes.size(); ++i) {
      for (u32 k = 0; k < a.nodes.size(); ++k) {
        if (a.nodes[k].id != b.nodes[i].id) continue;
        if (not_staying.count(b.nodes[i].id.str()) == 0) staying.push_back({k, i});
      }
    }
    stayed += staying.size();
    const auto of_a = chains_of(a), of_b = chains_of(b);
    for (size_t x = 0; x < staying.size(); ++x) {
      for (size_t y = x + 1; y < staying.size(); ++y) {
        REQUIRE(staying[x].first < staying[y].first);
        REQUIRE(a.items[shared(of_a, staying[x].first, staying[y].first)].variant ==
                b.items[shared(of_b, staying[x].second, staying[y].second)].variant);
      }
    }
    // What came and went is what only one of them has.
    REQUIRE(found.added.size() + staying.size() + found.moved.size() == b.nodes.size());
    REQUIRE(found.removed.size() + staying.size() + found.moved.size() == a.nodes.size());
  }
  CHECK(stayed > 10000);
}

TEST_CASE("large and deep plans are compared in little more than linear time") {
  const auto deep = [](const char* last) {
    PlanBuilder builder;
    for (u32 i = 0; i < 50000; ++i) builder.loop(text("l{}", i), 1, "", "");
    builder.execute(last);
    for (u32 i = 0; i < 50000; ++i) builder.close();
    return builder.leaves({"l0"}).take();
  };
  const PlanDiff found = diff(deep("a"), deep("b"));
  CHECK(found.moved.empty());
  REQUIRE(found.added.size() == 1);
  CHECK(found.added[0].place.starts_with("… > loop(l49992)"));

  const auto flat = [](bool backwards) {
    PlanBuilder builder;
    builder.open(sequence);
    for (u32 i = 0; i < 50000; ++i) builder.execute(text("n{}", backwards ? 49999 - i : i));
    Plan plan = builder.close().take();
    plan.leaves = {0};
    return plan;
  };
  CHECK(diff(flat(false), flat(true)).moved.size() == 49999);
}

}  // namespace soma
