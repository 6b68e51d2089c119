// Proves that verify() takes what is a plan, and that each of its rules, broken once, is refused by
// a message that says which and where.
#include <doctest/doctest.h>

#include "unit/plan/random_plan.hpp"

namespace soma {

namespace {

using fixture::PlanBuilder;
using fixture::problems_of;

constexpr Variant sequence = Variant::Sequence, parallel = Variant::Parallel;

// One of each variant.
Plan sound() {
  PlanBuilder builder;
  builder.open(sequence).execute("load");
  builder.open(parallel).execute("left", {"load.x"}).execute("right", {"load:in"}).close();
  builder.remote({Target::Kind::Tag, "gpu"}).execute("far", {"left", "right"}).close();
  builder.open(Variant::Composite).execute("c1").execute("c2", {"c1"}).close();
  builder.stream(8).execute("s1", {"c2"});
  builder.node().stream_mode = StreamMode::Stateless;
  builder.execute("s2", {"s1"});
  builder.node().stream_mode = StreamMode::Barrier;
  builder.close();
  builder.loop("refine", 4, "judge", "draft").open(sequence).execute("draft").execute("judge");
  builder.close().close();
  builder.step("ask", {"help", "stop"}).execute("h1").execute("h2").close();
  builder.execute("gate", {"ask"}, NodeKind::Branch);
  builder.branch("gate", {"it == 1", "\"no\"", "else"});
  builder.execute("x").execute("y").execute("z", {"gate"}).close();
  builder.dataflow({{}, {0}, {}}).execute("d1", {"x", "y"}).execute("d2", {"d1"});
  builder.execute("d3", {"h1", "h2"}).close();
  return builder.close().leaves({"d3", "d2"}).take();
}

u32 node_of(const Plan& plan, std::string_view id) {
  u32 index = 0;
  while (plan.nodes[index].id != id) ++index;
  return index;
}
PlanNode& node(Plan& plan, std::string_view id) { return plan.nodes[node_of(plan, id)]; }

// The first item of that variant; of several, the one of that node.
PlanItem& item(Plan& plan, Variant variant, std::string_view id = "") {
  for (PlanItem& at : plan.items) {
    if (at.variant == variant && (id.empty() || plan.nodes[at.node].id == id)) return at;
  }
  FAIL("no such item");
  return plan.items[0];
}

// The first problem of the sound plan after `change`.
template <typename Change>
std::string broken(Change change) {
  Plan plan = sound();
  change(plan);
  const std::string problems = problems_of(plan.verify());
  CHECK(problems_of(plan.verify()) == problems);
  return problems.substr(0, problems.find('\n'));
}

bool has(const std::string& text, std::string_view part) {
  CAPTURE(text);
  CAPTURE(part);
  CHECK(text.starts_with("document.type "));
  return text.find(part) != text.npos;
}

}  // namespace

TEST_CASE("a plan of all variants is sound, and so are small ones") {
  CHECK(problems_of(sound().verify()) == "");
  CHECK(problems_of(PlanBuilder().take().verify()) == "");
  CHECK(problems_of(PlanBuilder().execute("a").take().verify()) == "");
  CHECK(problems_of(PlanBuilder().step("a", {}).close().take().verify()) == "");
}

// ---- Items

TEST_CASE("items nest") {
  CHECK(has(problems_of(Plan().verify()), "a plan has at least one item"));
  CHECK(has(broken([](Plan& plan) { plan.items[0].end -= 1; }), "item 0 ends before item"));
  CHECK(has(broken([](Plan& plan) { plan.items[0].end += 1; }), "item 0 ends before item"));
  CHECK(has(broken([](Plan& plan) { plan.items[1].end = 1; }), "item 1 ends before item 1"));
  CHECK(has(broken([](Plan& plan) { plan.items[1].end = 0; }), "item 1 ends before item 0"));
  CHECK(has(broken([](Plan& plan) { plan.items[3].end = 7; }), "item 3 ends before item 7"));
  CHECK(has(broken([](Plan& plan) { plan.items.back().end += 1; }), "ends before item"));
  CHECK(has(broken([](Plan& plan) { plan.items[2].variant = static_cast<Variant>(11); }),
            "item 2 is of variant 11"));
}

TEST_CASE("only a whole plan is empty") {
  CHECK(has(broken([](Plan& plan) { plan.items[1].variant = Variant::Empty; }),
            "item 1, empty 'load': an item of this variant names no node"));
  Plan plan = PlanBuilder().take();
  plan.nodes.emplace_back().id = "a";
  CHECK(has(problems_of(plan.verify()), "node 'a': it has no place in the tree"));
}

TEST_CASE("variants have the children that they may have") {
  const auto of_one = [](auto make) {
    PlanBuilder builder;
    builder.open(sequence).execute("a").execute("b", {}, NodeKind::Function);
    Plan plan = builder.close().take();
    plan.items = {{sequence, no_node, 4, 0}, {Variant::Execute, 0, 2, 0}, {}, {}};
    make(plan);
    return problems_of(plan.verify());
  };
  for (const Variant variant : {sequence, parallel, Variant::Composite}) {
    CHECK(has(of_one([&](Plan& plan) {
                plan.items[2] = {variant == sequence ? parallel : variant, no_node, 4, 0};
                plan.items[3] = {Variant::Execute, 1, 4, 0};
              }),
              "the number of its children is 1, and at least 2 is expected"));
  }
  CHECK(has(of_one([](Plan& plan) {
              plan.items[2] = {Variant::Execute, 1, 4, 0};
              plan.items[3] = {Variant::Execute, 1, 4, 0};
            }),
            "its node has another place too"));
  CHECK(has(broken([](Plan& plan) { plan.dataflows[0].pop_back(); }),
            "it has 3 children, and 2 lists of children before them for them"));
  CHECK(has(broken([](Plan& plan) { plan.branches[0].pop_back(); }),
            "it has 3 children, and 2 arms"));
  CHECK(has(broken([](Plan& plan) { plan.handoffs[0].emplace_back("more"); }),
            "it has 2 children, and 3 targets"));
  // A remote and a loop of two children, a stream and a branch of none.
  CHECK(has(broken([](Plan& plan) { item(plan, Variant::Composite).variant = Variant::Remote; }),
            "it names no node of the table"));
  CHECK(has(broken([](Plan& plan) {
              PlanItem& composite = item(plan, Variant::Composite);
              composite = {Variant::Remote, node_of(plan, "c1"), composite.end, 0};
              node(plan, "c1").edit().target = {Target::Kind::Tag, "t"};
            }),
            "the number of its children is 2, and 1 is expected"));
}

TEST_CASE("groups of a kind do not lie in each other") {
  CHECK(has(broken([](Plan& plan) { item(plan, parallel).variant = sequence; }),
            "sequence: it lies directly in another sequence"));
  Plan plan = PlanBuilder()
                  .open(parallel)
                  .execute("a")
                  .open(sequence)
                  .execute("b")
                  .execute("c")
                  .close()
                  .close()
                  .take();
  CHECK(problems_of(plan.verify()) == "");
  plan.items[2].variant = parallel;
  CHECK(has(problems_of(plan.verify()), "item 2, parallel: it lies directly in another parallel"));
}

TEST_CASE("chains hold nothing but nodes") {
  PlanBuilder builder;
  builder.open(Variant::Composite).execute("a").open(parallel).execute("b").execute("c");
  CHECK(
      has(problems_of(builder.close().close().take().verify()), "a composite holds only execute"));
  CHECK(has(broken([](Plan& plan) { node(plan, "s2").stream_mode = StreamMode::None; }),
            "'s2': it lies in a stream, and its node has no stream mode"));
  CHECK(has(broken([](Plan& plan) { plan.sources[node(plan, "s2").sources_begin].node -= 1; }),
            "'s2': it lies in a stream, and does not read just the node before it"));
  CHECK(has(broken([](Plan& plan) { item(plan, Variant::Stream).detail = 0; }),
            "a chunk has at least one row"));
}

// ---- Nodes of items

TEST_CASE("each node has one place, in the order of the table") {
  CHECK(has(broken([](Plan& plan) { plan.items[1].node = 99; }), "it names no node of the table"));
  CHECK(has(broken([](Plan& plan) { plan.items[1].node = no_node; }), "it names no node"));
  CHECK(has(broken([](Plan& plan) { plan.items[4].node = 1; }), "its node has another place too"));
  CHECK(has(broken([](Plan& plan) { std::swap(plan.items[3].node, plan.items[4].node); }),
            "its node is number 2 of the table, and number 1 is next"));
  CHECK(has(broken([](Plan& plan) { plan.items[0].node = 0; }), "names no node"));
  CHECK(has(broken([](Plan& plan) {
              plan.nodes.emplace_back().id = "unplaced";
              plan.nodes.back().sources_begin = plan.nodes.back().sources_end =
                  static_cast<u32>(plan.sources.size());
            }),
            "node 'unplaced': it has no place in the tree"));
}

TEST_CASE("loops and steps are nodes of their kinds, and nothing else is") {
  CHECK(has(broken([](Plan& plan) { node(plan, "refine").kind = NodeKind::Function; }),
            "loop 'refine': a node of kind function has the variant execute"));
  CHECK(has(broken([](Plan& plan) { node(plan, "ask").kind = NodeKind::Loop; }),
            "step 'ask': a node of kind loop has the variant loop"));
  CHECK(has(broken([](Plan& plan) { node(plan, "load").kind = NodeKind::Step; }),
            "execute 'load': a node of kind step has the variant step"));
}

TEST_CASE("a remote names its first node, which is not local") {
  CHECK(has(broken([](Plan& plan) { item(plan, Variant::Remote).node += 1; }),
            "it names another node than the first one in it"));
  CHECK(has(broken([](Plan& plan) { node(plan, "far").edit().target = {}; }),
            "remote 'far': the target of its node is local"));
}

TEST_CASE("a branch is decided by the node that the item before it executed last") {
  constexpr std::string_view problem =
      "the item before it in its sequence does not execute its node";
  CHECK(has(broken([](Plan& plan) { item(plan, Variant::Branch).node -= 1; }), problem));
  // In another sequence, not at all, or one too early.
  const auto with = [](auto before) {
    PlanBuilder builder;
    builder.open(sequence);
    before(builder);
    return problems_of(builder.branch("a", {"else"}).execute("z").close().close().take().verify());
  };
  CHECK(has(with([](PlanBuilder& builder) { builder.execute("a").execute("b"); }), problem));
  CHECK(has(with([](PlanBuilder& builder) {
              builder.open(parallel).execute("b").execute("a").close();
            }),
            problem));
  CHECK(has(with([](PlanBuilder& builder) { builder.loop("a", 1, "", "").execute("b").close(); }),
            problem));
  CHECK(with([](PlanBuilder& builder) { builder.execute("a"); }) == "");
  CHECK(with([](PlanBuilder& builder) { builder.step("a", {}).close(); }) == "");
  CHECK(with([](PlanBuilder& builder) { builder.step("a", {"t"}).execute("b").close(); }) == "");
  CHECK(with([](PlanBuilder& builder) {
          builder.open(Variant::Composite).execute("b").execute("a").close();
        }) == "");
  CHECK(with([](PlanBuilder& builder) {
          builder.remote({Target::Kind::Tag, "t"}).open(sequence).execute("b").execute("a");
          builder.close().close();
        }) == "");
  CHECK(has(with([](PlanBuilder& builder) {
              builder.open(Variant::Composite).execute("a").execute("b").close();
            }),
            problem));
  // Two branches of one node: the second is not directly behind it.
  PlanBuilder twice;
  twice.open(sequence).execute("a").branch("a", {"else"}).execute("b").close();
  twice.branch("a", {"else"}).execute("c").close().close();
  CHECK(has(problems_of(twice.take().verify()), problem));
}

// ---- Details

TEST_CASE("each detail belongs to one item") {
  for (const Variant variant : {Variant::Step, Variant::Loop, Variant::Branch, Variant::Dataflow}) {
    CAPTURE(variant_name(variant));
    CHECK(has(broken([&](Plan& plan) { item(plan, variant).detail = 1; }),
              "its detail is row 1 of 1"));
  }
  CHECK(has(broken([](Plan& plan) { item(plan, parallel).detail = 1; }),
            "an item of this variant has no detail"));
  CHECK(has(broken([](Plan& plan) { plan.loops.push_back({1, no_node, no_node}); }),
            "1 of 2 loops belong to no item"));
  Plan two = PlanBuilder()
                 .open(sequence)
                 .loop("a", 1, "", "")
                 .execute("b")
                 .close()
                 .loop("c", 1, "", "")
                 .execute("d")
                 .close()
                 .close()
                 .take();
  CHECK(problems_of(two.verify()) == "");
  two.items[3].detail = 0;
  CHECK(has(problems_of(two.verify()),
            "loop 'c': its detail is row 0 of loops, as another item's is"));
}

TEST_CASE("loops end, and their signal and carry are of their body") {
  CHECK(has(broken([](Plan& plan) { plan.loops[0].max_iterations = 0; }), "a bound is from 1 to"));
  CHECK(has(broken([](Plan& plan) { plan.loops[0].max_iterations = (u64{1} << 53) + 1; }),
            "a bound is from 1 to"));
  CHECK(
      has(broken([](Plan& plan) { plan.loops[0] = {}; }), "neither a bound nor a signal ends it"));
  CHECK(broken([](Plan& plan) { plan.loops[0] = {4, no_node, no_node}; }) == "");
  CHECK(broken([](Plan& plan) { plan.loops[0].max_iterations.reset(); }) == "");
  for (const std::string_view id : {"load", "refine", "d1"}) {
    CHECK(has(broken([&](Plan& plan) { plan.loops[0].signal = node_of(plan, id); }),
              "its signal is not from a node of its body"));
    CHECK(has(broken([&](Plan& plan) { plan.loops[0].carry = node_of(plan, id); }),
              "its carry is not from a node of its body"));
  }
  CHECK(has(broken([](Plan& plan) { plan.loops[0].carry = 99; }), "its carry is not from"));
  // Nor are they of a loop's body within it, each pass of which has another value.
  const auto nested = [](const std::string& signal) {
    return problems_of(PlanBuilder()
                           .loop("out", 1, signal, "")
                           .loop("in", 1, "", "a")
                           .execute("a")
                           .close()
                           .close()
                           .take()
                           .verify());
  };
  CHECK(nested("in") == "");
  CHECK(has(nested("a"), "loop 'out': its signal is not from a node of its body"));
}

TEST_CASE("arms differ, and the one that takes all comes last") {
  CHECK(has(broken([](Plan& plan) { plan.branches[0][1] = Arm::parse("it==1").value(); }),
            "branch 'gate': two arms are 'it == 1'"));
  CHECK(has(broken([](Plan& plan) { std::swap(plan.branches[0][1], plan.branches[0][2]); }),
            "branch 'gate': an arm is tried after `else`"));
  CHECK(has(broken([](Plan& plan) { plan.branches[0][1] = Arm::label("else"); }),
            "branch 'gate': an arm is tried after `else`"));
  CHECK(broken([](Plan& plan) { plan.branches[0][2] = Arm::label("other"); }) == "");
}

TEST_CASE("hand-offs have targets, which differ") {
  CHECK(has(broken([](Plan& plan) { plan.handoffs[0][1] = "help"; }),
            "step 'ask': two hand-offs have the target 'help'"));
  CHECK(has(broken([](Plan& plan) { plan.handoffs[0][1] = ""; }), "a hand-off has no target"));
}

TEST_CASE("parts of a dataflow are after parts before them") {
  for (const std::vector<u32>& after : std::vector<std::vector<u32>>{{1}, {7}, {0, 0}, {2}}) {
    CHECK(has(broken([&](Plan& plan) { plan.dataflows[0][1] = after; }),
              text("child 1 is after {}", after.back())));
  }
  CHECK(has(broken([&](Plan& plan) { plan.dataflows[0][2] = {1, 0}; }), "child 2 is after 0"));
  CHECK(broken([&](Plan& plan) { plan.dataflows[0][2] = {0, 1}; }) == "");
}

// ---- Records

TEST_CASE("nodes have ids of their own, and no loop's settings") {
  CHECK(has(broken([](Plan& plan) { node(plan, "d2").id = ""; }), "an id is some UTF-8 text"));
  CHECK(has(broken([](Plan& plan) { node(plan, "d2").id = "\xff"; }), "an id is some UTF-8 text"));
  CHECK(has(broken([](Plan& plan) { node(plan, "d2").id = std::string("a\0b", 3); }),
            "an id is some UTF-8 text"));
  CHECK(has(broken([](Plan& plan) { node(plan, "d2").id = "load"; }),
            "another node has the same id"));
  constexpr std::string_view loops =
      "node 'refine': a loop's bound, stop rule and carry do not lie";
  CHECK(has(broken([](Plan& plan) { node(plan, "refine").edit().max_iterations = 4; }), loops));
  CHECK(has(broken([](Plan& plan) { node(plan, "refine").edit().carry_from = "judge"; }), loops));
  CHECK(has(broken([](Plan& plan) {
              node(plan, "refine").edit().until.kind = StopRule::Kind::Exhaust;
            }),
            loops));
}

TEST_CASE("the table of sources is that of the nodes, in their order") {
  CHECK(has(broken([](Plan& plan) { node(plan, "left").sources_end += 1; }),
            "node 'right': its sources are rows 1 to 2 of"));
  CHECK(has(broken([](Plan& plan) { node(plan, "left").sources_begin = 99; }),
            "node 'left': its sources are rows 99 to 1"));
  CHECK(has(broken([](Plan& plan) { plan.nodes.back().sources_end = ~0U; }),
            "node 'd3': its sources"));
  CHECK(has(broken([](Plan& plan) { plan.nodes.back().sources_begin = ~0U; }),
            "node 'd3': its sources"));
  CHECK(has(broken([](Plan& plan) { plan.sources.emplace_back(); }), "sources belong to no node"));
  CHECK(has(broken([](Plan& plan) { plan.sources[0].output = 9; }),
            "a port that it reads is name 9 of"));
  CHECK(has(broken([](Plan& plan) { plan.sources[0].input = 9; }),
            "a port that it reads is name 9 of"));
  CHECK(has(broken([](Plan& plan) { plan.names[0] = "x"; }), "name 0 of the table of ports"));
  CHECK(has(broken([](Plan& plan) { plan.names[1] = ""; }), "name 1 of the table of ports"));
  CHECK(has(broken([](Plan& plan) { plan.names.clear(); }), "name 0 of the table of ports"));
}

TEST_CASE("a digest is one, a mode is one") {
  const auto with_digest = [](size_t size, char digit) {
    return broken([&](Plan& plan) { plan.origin = GraphOrigin(std::string(size, digit)); });
  };
  CHECK(with_digest(64, 'a') == "");
  CHECK(has(with_digest(64, 'g'), "is no digest"));
  CHECK(has(with_digest(63, 'a'), "is no digest"));
  CHECK(has(broken([](Plan& plan) { plan.mode = static_cast<PlanMode>(3); }), "mode 3 is none"));
}

// ---- Reads

namespace {

// What is said of a plan in which `reader` reads `source`, which it did not before.
std::string reading(Plan plan, std::string_view reader, std::string_view source) {
  const u32 index = node_of(plan, reader);
  plan.sources.insert(plan.sources.begin() + plan.nodes[index].sources_end,
                      {node_of(plan, source), 0, 0});
  ++plan.nodes[index].sources_end;
  for (u32 i = index + 1; i < plan.nodes.size(); ++i) {
    ++plan.nodes[i].sources_begin;
    ++plan.nodes[i].sources_end;
  }
  return problems_of(plan.verify());
}
std::string reading(std::string_view reader, std::string_view source) {
  return reading(sound(), reader, source);
}

}  // namespace

TEST_CASE("what ran before may be read") {
  for (const auto& [reader, source] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"far", "load"},       // of a sequence
           {"c1", "left"},        // of a wave that is over
           {"c1", "far"},         // of a remote
           {"d1", "s1"},          // of a stream
           {"refine", "load"}, {"draft", "load"}, {"judge", "draft"},  // in a body, into it
           {"gate", "refine"},    // a loop that is over
           {"h1", "ask"},         // what the step passed
           {"gate", "h1"}, {"gate", "h2"},  // hand-offs from behind, there or not
           {"x", "gate"}, {"x", "h2"}, {"d2", "x"}, {"d2", "z"},  // arms
           {"d3", "z"}, {"d2", "load"}}) {
    CAPTURE(reader);
    CAPTURE(source);
    CHECK(reading(reader, source) == "");
  }
}

TEST_CASE("what did not run yet, or runs at the same time or elsewhere, may not") {
  const auto hidden = [](std::string_view reader, std::string_view source, std::string_view why) {
    CHECK(has(reading(reader, source),
              text("node '{}': it reads '{}', which {}", reader, source, why)));
  };
  hidden("load", "left", "does not run before it");
  hidden("load", "load", "does not run before it");
  hidden("draft", "judge", "does not run before it");
  hidden("right", "left", "runs at the same time");
  hidden("judge", "refine", "is the loop that it lies in");
  hidden("gate", "judge", "lies in the body of a loop that is over");
  hidden("z", "draft", "lies in the body of a loop that is over");
  hidden("h2", "h1", "lies in another hand-off");
  hidden("y", "x", "lies in another arm");
  hidden("d3", "d1", "the part that it lies in is not after");
  hidden("d3", "d2", "the part that it lies in is not after");
}

TEST_CASE("what is deep is seen as what it lies in is") {
  PlanBuilder builder;
  builder.open(sequence).execute("a").open(parallel);
  builder.open(sequence)
      .execute("b")
      .loop("l", 1, "", "")
      .execute("c")
      .close()
      .execute("d")
      .close();
  builder.dataflow({{}, {}, {0, 1}});
  builder.open(sequence).execute("e").execute("f").close();
  builder.dataflow({{}, {}}).execute("g").execute("h").close();
  builder.open(parallel).execute("i").execute("j").close();
  builder.close().close().execute("k").close();
  const Plan plan = builder.take();
  CHECK(problems_of(plan.verify()) == "");
  CHECK(reading(plan, "k", "c").find("lies in the body of a loop") != std::string::npos);
  CHECK(reading(plan, "d", "c").find("lies in the body of a loop") != std::string::npos);
  CHECK(reading(plan, "h", "c").find("lies in the body of a loop") != std::string::npos);
  CHECK(reading(plan, "k", "l") == "");
  CHECK(reading(plan, "i", "f") == "");
  CHECK(reading(plan, "j", "h") == "");
  CHECK(reading(plan, "k", "h") == "");
  CHECK(reading(plan, "h", "a") == "");
  CHECK(reading(plan, "h", "g").find("the part that it lies in is not after") != std::string::npos);
  CHECK(reading(plan, "g", "f").find("the part that it lies in is not after") != std::string::npos);
  CHECK(reading(plan, "h", "b").find("runs at the same time") != std::string::npos);
  CHECK(reading(plan, "j", "i").find("runs at the same time") != std::string::npos);
}

TEST_CASE("what a node reads has different keys") {
  const auto keys = [](const PlanBuilder::Texts& sources) {
    PlanBuilder builder;
    builder.open(sequence).execute("a").execute("b").execute("c", sources);
    return problems_of(builder.close().leaves({"c"}).take().verify());
  };
  CHECK(keys({"a", "b"}) == "");
  CHECK(keys({"a:in", "a"}) == "");
  CHECK(keys({"a.x:p", "a.y:q"}) == "");
  CHECK(has(keys({"a.x", "a.y"}), "two of the values that it reads have the key 'a'"));
  CHECK(has(keys({"a", "a"}), "have the key 'a'"));
  CHECK(has(keys({"a:b", "b"}), "have the key 'b'"));
  CHECK(has(keys({"a:p", "b:p"}), "have the key 'p'"));
  CHECK(has(broken([](Plan& plan) { plan.sources[0].node = 99; }),
            "it reads node 99, and the table"));
}

TEST_CASE("leaves are nodes that the end of the plan sees, each once") {
  CHECK(
      has(broken([](Plan& plan) { plan.leaves = {}; }), "a plan that has nodes yields the value"));
  CHECK(
      has(broken([](Plan& plan) { plan.leaves = {0, 1, 0}; }), "node 'load': it is a leaf twice"));
  CHECK(has(broken([](Plan& plan) { plan.leaves = {99}; }), "leaf 99 is no node of the table"));
  CHECK(has(broken([](Plan& plan) { plan.leaves = {node_of(plan, "judge")}; }),
            "node 'judge': it is a leaf, and lies in the body of a loop"));
  CHECK(broken([](Plan& plan) { plan.leaves = {node_of(plan, "x"), node_of(plan, "h1")}; }) == "");
}

// ---- All of it

TEST_CASE("problems of all kinds come at once") {
  Plan plan = sound();
  plan.loops[0] = {};
  plan.leaves = {99};
  plan.items[1].node = 7;
  node(plan, "d2").id = "d1";
  const std::string problems = problems_of(plan.verify());
  CAPTURE(problems);
  for (const std::string_view part :
       {"another node has the same id", "neither a bound nor a signal ends it", "leaf 99",
        "node 'load': it has no place in the tree", "its node has another place too"}) {
    CAPTURE(part);
    CHECK(problems.find(part) != problems.npos);
  }
}

TEST_CASE("random changes of random plans are never a crash, and mostly found") {
  std::mt19937 random(5);
  u32 found = 0;
  const u32 rounds = 4000;
  for (u32 round = 0; round < rounds; ++round) {
    Plan plan = fixture::random_plan(random, 1 + round % 30);
    const auto any = [&](auto& list) -> auto& { return list[random() % list.size()]; };
    const u32 number = random() % 3 ? static_cast<u32>(random() % 40) : static_cast<u32>(random());
    const u32 choice = static_cast<u32>(random() % 12);
    PlanItem& item = any(plan.items);
    if (choice == 0) item.end = number;
    if (choice == 1) item.node = number;
    if (choice == 2) item.detail = number;
    if (choice == 3) item.variant = static_cast<Variant>(number % 12);
    if (choice == 4) any(plan.nodes).sources_begin = number;
    if (choice == 5) any(plan.nodes).sources_end = number;
    if (choice == 6 && !plan.sources.empty()) any(plan.sources).node = number;
    if (choice == 7) plan.leaves.push_back(number);
    if (choice == 8 && !plan.loops.empty()) any(plan.loops).signal = number;
    if (choice == 9 && !plan.branches.empty()) any(plan.branches).pop_back();
    if (choice == 10 && !plan.dataflows.empty()) any(any(plan.dataflows)).push_back(number);
    if (choice == 11) std::swap(any(plan.items), any(plan.items));
    const Status status = plan.verify();
    if (!status.ok()) {
      ++found;
      continue;
    }
    // What passes can be walked, printed and read.
    REQUIRE(problems_of(Plan::parse(plan.document())) == "");
  }
  CHECK(found > rounds / 3);
}

TEST_CASE("a million nodes, flat or deep, are verified without deep recursion") {
  PlanBuilder deep;
  for (u32 i = 0; i < 200000; ++i) deep.loop(text("l{}", i), 1, "", "");
  deep.execute("a");
  for (u32 i = 0; i < 200000; ++i) deep.close();
  CHECK(problems_of(deep.leaves({"l0"}).take().verify()) == "");

  Plan flat;
  ItemWriter items;
  items.open(sequence);
  flat.nodes.resize(1000000);
  for (u32 i = 0; i < flat.nodes.size(); ++i) {
    flat.nodes[i].id = text("n{}", i);
    items.leaf(Variant::Execute, i);
    flat.nodes[i].sources_begin = static_cast<u32>(flat.sources.size());
    if (i > 0) flat.sources.push_back({i - 1, 0, 0});
    flat.nodes[i].sources_end = static_cast<u32>(flat.sources.size());
  }
  items.close();
  flat.items = std::move(items).take();
  flat.leaves = {999999};
  CHECK(problems_of(flat.verify()) == "");
}

}  // namespace soma
