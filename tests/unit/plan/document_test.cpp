// Proves that plan documents are read as their keys say and printed canonically, and that all else
// in them is refused, each problem with its place, all of them at once.
#include <doctest/doctest.h>

#include <ctime>
#include <random>

#include "unit/plan/random_plan.hpp"

namespace soma {

namespace {

using fixture::PlanBuilder;
using fixture::problems_of;

// Every variant but Empty, in one plan.
constexpr std::string_view example =
    R"({"soma":"plan","version":1,"mode":"differentiable","graph":)"
    R"("d049ab14edc061d1c767f2e20695bee2131c0bafc2e4009b6a7fe490792dd8d3","nodes":[)"
    R"({"id":"load","op":"std.identity","outputs":[{"name":"x"},{"name":"y"}]},)"
    R"({"id":"left","from":[{"node":"load","output":"x"}]},)"
    R"({"id":"right","differentiable":true,"from":[{"node":"load","output":"y","input":"in"}]},)"
    R"({"id":"far","target":{"tag":"gpu"},"from":["left","right"]},)"
    R"({"id":"c1","from":["far"]},)"
    R"({"id":"c2","from":["c1"]},)"
    R"({"id":"s1","stream_mode":"stateless","from":["c2"]},)"
    R"({"id":"s2","stream_mode":"barrier","from":["s1"]},)"
    R"({"id":"refine","kind":"loop","from":["s2"]},)"
    R"({"id":"judge"},)"
    R"({"id":"ask","kind":"step","op":"std.exec","max_turns":3,"from":["refine"]},)"
    R"({"id":"help"},)"
    R"({"id":"gate","kind":"branch","from":["ask"]},)"
    R"({"id":"deploy"},)"
    R"({"id":"retrain"},)"
    R"({"id":"d1","from":["deploy","retrain"]},)"
    R"({"id":"d2"},)"
    R"({"id":"d3","from":["d1"]}],)"
    R"("leaves":["d3","d2"],"plan":{"sequence":[)"
    R"({"execute":{"node":"load","from":[]}},)"
    R"({"parallel":[{"execute":{"node":"left","from":["load"]}},)"
    R"({"execute":{"node":"right","from":["load"]}}]},)"
    R"({"remote":{"node":"far","target":{"tag":"gpu"},"plan":)"
    R"({"execute":{"node":"far","from":["left","right"]}}}},)"
    R"({"composite":["c1","c2"]},)"
    R"({"stream":{"nodes":["s1","s2"],"chunk_size":8}},)"
    R"({"loop":{"node":"refine","body":{"execute":{"node":"judge","from":[]}},)"
    R"("max_iterations":4,"until":{"when_signaled":"judge"},"carry_from":"judge"}},)"
    R"({"step":{"node":"ask","handoffs":[["help",{"execute":{"node":"help","from":[]}}]]}},)"
    R"({"execute":{"node":"gate","from":["ask"]}},)"
    R"({"branch":{"node":"gate","arms":[["score > 0.8",{"execute":{"node":"deploy","from":[]}}],)"
    R"(["\"again\"",{"execute":{"node":"retrain","from":[]}}]]}},)"
    R"({"dataflow":[{"after":[],"plan":{"execute":{"node":"d1","from":["deploy","retrain"]}}},)"
    R"({"after":[],"plan":{"execute":{"node":"d2","from":[]}}},)"
    R"({"after":[0],"plan":{"execute":{"node":"d3","from":["d1"]}}}]}]}})";

constexpr std::string_view empty_plan =
    R"({"soma":"plan","version":1,"mode":"inference","graph":"","nodes":[],"leaves":[],)"
    R"("plan":"empty"})";

std::string reprinted(std::string_view json, Plan::Reading reading = Plan::Reading::Strict) {
  const Result<Plan> plan = Plan::parse(json, reading);
  return plan.ok() ? plan->document() : problems_of(plan);
}

// The example with one text in place of another.
std::string changed(std::string_view from, std::string_view to) {
  std::string out(example);
  const size_t at = out.find(from);
  REQUIRE(at != out.npos);
  REQUIRE(out.find(from, at + 1) == out.npos);
  return out.replace(at, from.size(), to);
}

// A plan of nodes "a" and "b", which reads "a", with this tree.
std::string with_tree(std::string_view tree) {
  return text(R"({{"soma":"plan","version":1,"mode":"inference","graph":"",)"
              R"("nodes":[{{"id":"a"}},{{"id":"b","from":["a"]}}],"leaves":["b"],"plan":{}}})",
              tree);
}

}  // namespace

TEST_CASE("every variant is read key by key") {
  const Result<Plan> parsed = Plan::parse(example);
  REQUIRE(problems_of(parsed) == "");
  const Plan& plan = *parsed;
  CHECK(plan.mode == PlanMode::Differentiable);
  CHECK(plan.graph_digest().starts_with("d049"));
  CHECK(plan.nodes.size() == 18);
  CHECK(plan.leaves == std::vector<u32>{17, 16});
  CHECK(plan.names == std::vector<std::string>{"", "x", "y", "in"});
  CHECK(plan.sources_of(0).empty());
  REQUIRE(plan.sources_of(2).size() == 1);
  CHECK(plan.sources_of(2)[0] == Source{0, 2, 3});
  REQUIRE(plan.sources_of(3).size() == 2);
  CHECK(plan.sources_of(3)[1] == Source{2, 0, 0});
  CHECK(plan.nodes[10].max_turns() == 3);

  std::vector<Variant> variants;
  plan.each_child(0, [&](u32 at) { variants.push_back(plan.items[at].variant); });
  CHECK(variants == std::vector<Variant>{Variant::Execute, Variant::Parallel, Variant::Remote,
                                         Variant::Composite, Variant::Stream, Variant::Loop,
                                         Variant::Step, Variant::Execute, Variant::Branch,
                                         Variant::Dataflow});
  CHECK(plan.loops == std::vector<PlanLoop>{{4, 9, 9}});
  CHECK(plan.handoffs == std::vector<std::vector<std::string>>{{"help"}});
  REQUIRE(plan.branches.size() == 1);
  REQUIRE(plan.branches[0].size() == 2);
  CHECK(plan.branches[0][0].text() == "score > 0.8");
  CHECK(plan.branches[0][1].kind() == Arm::Kind::Label);
  CHECK(plan.dataflows == std::vector<std::vector<std::vector<u32>>>{{{}, {}, {0}}});
}

TEST_CASE("what is read is printed again, byte for byte") {
  CHECK(reprinted(example) == example);
  CHECK(reprinted(empty_plan) == empty_plan);
  CHECK(Plan::parse(example)->digest().size() == 64);
  CHECK(Plan::parse(example)->digest() != Plan::parse(empty_plan)->digest());
  // Python: hashlib.blake2b(document, digest_size=32)
  CHECK(Plan::parse(empty_plan)->digest() ==
        "0d3a0dbe28ce7b33e66fd755e9cb14aa56911ee135e3807c2623b7ffaddcdd86");
}

TEST_CASE("the order of keys and what is left at its default do not matter") {
  CHECK(reprinted(R"({"plan":"empty","leaves":[],"nodes":[],"graph":"","mode":"inference",)"
                  R"("version":1,"soma":"plan"})") == empty_plan);
  CHECK(reprinted(changed(R"({"id":"judge"})",
                          R"({"from":[],"kind":"function","waits":false,"id":"judge"})")) ==
        example);
  CHECK(reprinted(changed(R"(,{"id":"help"})", R"(,{"id":"help","config":{}})")) == example);
  CHECK(reprinted(changed(R"({"node":"load","output":"x"})",
                          R"({"input":"","output":"x","node":"load"})")) == example);
  CHECK(reprinted(changed(R"("max_turns":3,"from":["refine"])",
                          R"("max_turns":3,"from":[{"node":"refine"}])")) == example);
  CHECK(reprinted(changed("score > 0.8", "score>0.80")) == example);
  // A loop may leave out what would be null.
  const std::string unbounded = changed(R"("max_iterations":4,)", R"("max_iterations":null,)");
  CHECK(reprinted(unbounded) == unbounded);
  CHECK(reprinted(changed(R"("max_iterations":4,)", "")) == unbounded);
  CHECK(reprinted(changed(R"(,"carry_from":"judge"}})", "}}")) ==
        changed(R"("carry_from":"judge")", R"("carry_from":null)"));
  const std::string exhaust = changed(R"({"when_signaled":"judge"})", R"("exhaust")");
  CHECK(reprinted(exhaust) == exhaust);
}

TEST_CASE("random plans are sound, print, are read again, and print the same") {
  std::mt19937 random(4);
  for (u32 round = 0; round < 1000; ++round) {
    CAPTURE(round);
    const Plan plan = fixture::random_plan(random, round % 60);
    REQUIRE(problems_of(plan.verify()) == "");
    const std::string document = plan.document();
    const Result<Plan> again = Plan::parse(document);
    REQUIRE(problems_of(again) == "");
    REQUIRE(again->document() == document);
    REQUIRE(again->items == plan.items);
    REQUIRE(again->leaves == plan.leaves);
    REQUIRE(Plan::parse(document, Plan::Reading::Lenient)->document() == document);
  }
}

// ---- Refusals

namespace {

struct Refusal {
  std::string_view from, to;      // in the example
  std::string_view problem;       // reason and place
};

constexpr Refusal refusals[] = {
    {R"("soma":"plan",)", "", "document.type soma: "},
    {R"("soma":"plan",)", R"("soma":"graph",)", "document.type soma: "},
    {R"("version":1,)", "", "document.type version: "},
    {R"("version":1,)", R"("version":"1",)", "document.type version: "},
    {R"("version":1,)", R"("version":2,)",
     "document.version version: the document is of version 2, and this libsoma reads version 1"},
    {R"("mode":"differentiable",)", "", "document.type mode: "},
    {R"("mode":"differentiable",)", R"("mode":"training",)", "document.type mode: "},
    {R"("mode":"differentiable",)", R"("mode":1,)", "document.type mode: "},
    {R"("graph":"d049)", R"("graph":"D049)", "document.type 'D049"},
    {R"("graph":"d049)", R"("graph":"049)", "document.type '049"},
    {R"("graph":)", R"("grape":)", "document.unknown_key grape: "},
    {R"("leaves":["d3","d2"],)", "", "document.type leaves: "},
    {R"("leaves":["d3","d2"],)", R"("leaves":"d3",)", "document.type leaves: "},
    {R"("leaves":["d3","d2"],)", R"("leaves":["d3",2],)", "document.type leaves[1]: "},
    {R"("leaves":["d3","d2"],)", R"("leaves":["d3","d4"],)", "document.type leaves[1]: "},
    {R"("leaves":["d3","d2"],)", R"("leaves":["d3","d3"],)", "document.type node 'd3': "},
    {R"("leaves":["d3","d2"],)", R"("leaves":[],)", "document.type a plan that has nodes"},

    {R"({"id":"judge"})", "7", "document.type nodes[9]: "},
    {R"({"id":"judge"})", R"({"id":"left"})", "document.type nodes[9].id: "},
    {R"({"id":"judge"})", R"({"id":"judge","graph":{"nodes":[]}})",
     "document.unknown_key nodes[9].graph: "},
    {R"("kind":"loop",)", R"("kind":"loop","max_iterations":4,)",
     "document.unknown_key nodes[8].max_iterations: a node has no such key; it may have id, kind, "
     "op, op_version, max_turns, model, task, deployment, inputs, outputs, differentiable, "
     "cacheable, deterministic, waits, stream_mode, cost_us, target, device, state, config, from"},
    {R"("kind":"loop",)", R"("kind":"lop",)", "graph.unknown_kind nodes[8].kind: "},
    {R"("from":["s2"])", R"("from":"s2")", "document.type nodes[8].from: "},
    {R"("from":["s2"])", R"("from":["judge"])",
     "document.type nodes[8].from[0]: 'judge' is the id of no node before this one"},
    {R"("from":["s2"])", R"("from":["refine"])", "document.type nodes[8].from[0]: "},
    {R"("from":["s2"])", R"("from":[null])", "document.type nodes[8].from[0]: "},
    {R"("from":["s2"])", R"("from":[{"output":"x"}])", "document.type nodes[8].from[0].node: "},
    {R"("from":["s2"])", R"("from":[{"node":"s2","port":"x"}])",
     "document.unknown_key nodes[8].from[0].port: "},
    {R"("from":["s2"])", R"("from":[{"node":"s2","output":1}])",
     "document.type nodes[8].from[0].output: "},

    {R"({"execute":{"node":"load","from":[]}})", R"("load")", "document.type plan.sequence[0]: "},
    {R"({"execute":{"node":"load","from":[]}})", R"({"run":{"node":"load"}})",
     "document.unknown_key plan.sequence[0].run: "},
    {R"({"execute":{"node":"load","from":[]}})", "{}", "document.type plan.sequence[0]: "},
    {R"({"execute":{"node":"load","from":[]}})",
     R"({"execute":{"node":"load","from":[]},"composite":[]})",
     "document.type plan.sequence[0].composite: "},
    {R"({"execute":{"node":"load","from":[]}})", R"({"execute":"load"})",
     "document.type plan.sequence[0].execute: "},
    {R"({"execute":{"node":"load","from":[]}})", R"({"execute":{"node":"load"}})",
     "document.type plan.sequence[0].execute.from: "},
    {R"({"execute":{"node":"load","from":[]}})", R"({"execute":{"from":[]}})",
     "document.type plan.sequence[0].execute.node: "},
    {R"({"execute":{"node":"load","from":[]}})", R"({"execute":{"node":"load","from":[],"id":1}})",
     "document.unknown_key plan.sequence[0].execute.id: "},
    {R"({"node":"left","from":["load"]})", R"({"node":"left","from":["loads"]})",
     "document.type plan.sequence[1].parallel[0].execute.from[0]: "},
    {R"({"node":"left","from":["load"]})", R"({"node":"left","from":[]})",
     "document.type plan.sequence[1].parallel[0].execute.from: in the table of nodes, 'left'"},
    {R"({"node":"far","from":["left","right"]})", R"({"node":"far","from":["right","left"]})",
     "document.type plan.sequence[2].remote.plan.execute.from: "},
    {R"("target":{"tag":"gpu"},"plan")", R"("target":{"worker":"gpu"},"plan")",
     "document.type plan.sequence[2].remote.target: in the table of nodes, 'far' has another"},
    {R"("target":{"tag":"gpu"},"plan")", R"("target":7,"plan")",
     "document.type plan.sequence[2].remote.target: "},
    {R"("target":{"tag":"gpu"},"plan")", R"("plan")",
     "document.type plan.sequence[2].remote.target: "},
    {R"("target":{"tag":"gpu"},"plan")", R"("target":{"tag":"gpu"},"slice")",
     "document.unknown_key plan.sequence[2].remote.slice: "},
    {R"(["c1","c2"])", R"(["c1",{"execute":{"node":"c2","from":["c1"]}}])",
     "document.type plan.sequence[3].composite[1]: "},
    {R"(["c1","c2"])", R"({"nodes":["c1","c2"]})", "document.type plan.sequence[3].composite: "},
    {R"("chunk_size":8)", R"("chunk_size":0)",
     "document.type plan.sequence[4].stream.chunk_size: "},
    {R"(,"chunk_size":8)", "", "document.type plan.sequence[4].stream.chunk_size: "},
    {R"("chunk_size":8)", R"("chunk_size":4294967296)",
     "document.type plan.sequence[4].stream.chunk_size: "},
    {R"("nodes":["s1","s2"],)", "", "document.type plan.sequence[4].stream.nodes: "},
    {R"("max_iterations":4)", R"("max_iterations":0)",
     "document.type plan.sequence[5].loop.max_iterations: "},
    {R"("max_iterations":4)", R"("max_iterations":1.5)",
     "document.type plan.sequence[5].loop.max_iterations: "},
    {R"("until":{"when_signaled":"judge"},)", "", "document.type plan.sequence[5].loop.until: "},
    {R"("until":{"when_signaled":"judge"},)", R"("until":"body_terminal",)",
     "document.type plan.sequence[5].loop.until: "},
    {R"({"when_signaled":"judge"})", R"({"when_signaled":"nobody"})",
     "document.type plan.sequence[5].loop.until.when_signaled: "},
    {R"({"when_signaled":"judge"})", R"({"when_signaled":"judge","value":1})",
     "document.unknown_key plan.sequence[5].loop.until.value: "},
    {R"({"when_signaled":"judge"})", R"({"when_signaled":"load"})",
     "document.type item 13, loop 'refine': its signal is not from a node of its body"},
    {R"("carry_from":"judge")", R"("carry_from":1)",
     "document.type plan.sequence[5].loop.carry_from: "},
    {R"(["help",{)", R"([1,{)", "document.type plan.sequence[6].step.handoffs[0][0]: "},
    {R"([["help",{"execute":{"node":"help","from":[]}}]])", R"([["help"]])",
     "document.type plan.sequence[6].step.handoffs[0]: "},
    {R"(["help",{"execute":{"node":"help","from":[]}}])",
     R"(["help",{"execute":{"node":"help","from":[]}},1])",
     "document.type plan.sequence[6].step.handoffs[0]: "},
    {R"(,"handoffs":[["help",{"execute":{"node":"help","from":[]}}]])", "",
     "document.type plan.sequence[6].step.handoffs: "},
    {"score > 0.8", "score >", "predicate.syntax plan.sequence[8].branch.arms[0][0]: "},
    {"score > 0.8", "else", "document.type item 18, branch 'gate': an arm is tried after `else`"},
    {R"("score > 0.8")", "true", "document.type plan.sequence[8].branch.arms[0][0]: "},
    {R"({"after":[0],)", R"({"after":[2],)",
     "document.type plan.sequence[9].dataflow[2].after[0]: "},
    {R"({"after":[0],)", R"({"after":[-1],)",
     "document.type plan.sequence[9].dataflow[2].after[0]: "},
    {R"({"after":[0],)", "{", "document.type plan.sequence[9].dataflow[2].after: "},
    {R"({"after":[0],)", R"({"after":[1],)",
     "document.type node 'd3': it reads 'd1', which the part that it lies in is not after"},
};

}  // namespace

TEST_CASE("what is refused is named with its place") {
  for (const Refusal& refusal : refusals) {
    const std::string document = changed(refusal.from, refusal.to);
    CAPTURE(refusal.from);
    CAPTURE(refusal.to);
    const std::string problems = reprinted(document);
    CAPTURE(problems);
    CHECK(problems.starts_with(refusal.problem));
  }
}

TEST_CASE("lenient reading passes over unknown keys and nothing else") {
  std::string document(example);
  for (const std::string_view object : {R"("mode")", R"("id":"judge")", R"("chunk_size")",
                                        R"("until")", R"("after":[0])"}) {
    document.insert(document.find(object), R"("later":{"a":[]},)");
  }
  CHECK(reprinted(document, Plan::Reading::Lenient) == example);
  CHECK(reprinted(document).starts_with("document.unknown_key later: "));
  CHECK(reprinted(with_tree(R"({"later":1})"), Plan::Reading::Lenient)
            .starts_with("document.type plan: \"empty\" or an object of"));
}

TEST_CASE("all problems come at once") {
  CHECK(reprinted(R"({"soma":"plan","version":1,"mode":"x","nodes":[{"id":"a"},{"od":"b"},)"
                  R"({"id":"c","from":["d"]}],"leaves":["a","z"],"plan":{"sequence":[)"
                  R"({"execute":{"node":"a"}},{"loop":{"node":"y","until":"never"}}]}})") ==
        "document.type mode: one of inference, differentiable, no_cache is expected, 'x' is "
        "there\n"
        "document.type graph: the digest of a graph is expected, and the key is missing\n"
        "document.type nodes[1].id: a text is expected, and the key is missing\n"
        "document.unknown_key nodes[1].od: a node has no such key; it may have id, kind, op, "
        "op_version, max_turns, model, task, deployment, inputs, outputs, differentiable, "
        "cacheable, deterministic, waits, stream_mode, cost_us, target, device, state, config, "
        "from\n"
        "document.type nodes[2].from[0]: 'd' is the id of no node before this one\n"
        "document.type leaves[1]: 'z' is the id of no node of the table\n"
        "document.type plan.sequence[0].execute.from: a list of ids is expected, and the key is "
        "missing\n"
        "document.type plan.sequence[1].loop.node: 'y' is the id of no node of the table\n"
        "document.type plan.sequence[1].loop.body: \"empty\" or an object of execute, sequence, "
        "parallel, step, loop, branch, remote, composite, stream or dataflow is expected, and the "
        "key is missing\n"
        "document.type plan.sequence[1].loop.until: \"exhaust\" or {\"when_signaled\": the id of a "
        "node} is expected, 'never' is there\n");
}

TEST_CASE("the tree's own rules hold for documents") {
  const auto refused = [](std::string_view tree, std::string_view problem) {
    CAPTURE(tree);
    const std::string problems = reprinted(with_tree(tree));
    CAPTURE(problems);
    CHECK(problems.starts_with(problem));
  };
  const std::string a = R"({"execute":{"node":"a","from":[]}})";
  const std::string b = R"({"execute":{"node":"b","from":["a"]}})";
  CHECK(reprinted(with_tree(text(R"({{"sequence":[{},{}]}})", a, b))).starts_with("{"));
  refused(text(R"({{"sequence":[{},{}]}})", b, a),
          "document.type item 1, execute 'b': its node is number 1 of the table");
  refused(text(R"({{"parallel":[{},{}]}})", a, b),
          "document.type node 'b': it reads 'a', which runs");
  refused(text(R"({{"sequence":[{},{},{}]}})", a, b, b), "document.type item 3, execute 'b': its");
  refused(a, "document.type node 'b': it has no place in the tree");
  refused(R"("empty")", "document.type node 'a': it has no place in the tree");
  refused(text(R"({{"sequence":[{},{},"empty"]}})", a, b), "document.type item 3, empty: only");
  refused(text(R"({{"sequence":[{},{{"sequence":[{}]}}]}})", a, b),
          "document.type item 2, sequence: it lies directly in another sequence");
}

TEST_CASE("what is no strict JSON, or has a key twice, is refused in both readings") {
  for (const Plan::Reading reading : {Plan::Reading::Strict, Plan::Reading::Lenient}) {
    CHECK(Plan::parse("", reading).error().reason() == Reason::document_syntax);
    CHECK(Plan::parse("[]", reading).error().reason() == Reason::document_type);
    CHECK(Plan::parse(changed(R"("version":1,)", R"("version":1,"version":1,)"), reading)
              .error()
              .reason() == Reason::document_duplicate_key);
    CHECK(Plan::parse(changed(R"("chunk_size":8)", R"("chunk_size":8,"chunk_size":8)"), reading)
              .error()
              .reason() == Reason::document_duplicate_key);
  }
}

// ---- Sizes

namespace {

// Loops in loops, with a node in the innermost.
Plan nested(u32 depth) {
  PlanBuilder builder;
  for (u32 i = 0; i < depth; ++i) {
    builder.loop(text("l{}", i), 2, "", "");
  }
  builder.execute("a");
  for (u32 i = 0; i < depth; ++i) builder.close();
  return builder.leaves({depth > 0 ? "l0" : "a"}).take();
}

Plan chain(u32 count) {
  PlanBuilder builder;
  builder.open(Variant::Sequence);
  for (u32 i = 0; i < count; ++i) {
    builder.execute(text("n{}", i), i > 0 ? PlanBuilder::Texts{text("n{}", i - 1)}
                                          : PlanBuilder::Texts{});
  }
  return builder.close().take();
}

// Of the processor, not of the clock: others may be using the machine.
double seconds_to_reprint(const Plan& plan) {
  const std::clock_t begin = std::clock();
  const std::string document = plan.document();
  CHECK(reprinted(document) == document);
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

}  // namespace

TEST_CASE("plans nest as deep as JSON may, and are printed however deep they are") {
  CHECK(reprinted(nested(200).document()) == nested(200).document());
  const Plan deep = nested(100000);
  CHECK(problems_of(deep.verify()) == "");
  const Result<Plan> refused = Plan::parse(deep.document());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().reason() == Reason::document_limit);
}

TEST_CASE("a chain of 50,000 nodes is read and printed in linear time") {
  const double small = seconds_to_reprint(chain(5000));
  const double large = seconds_to_reprint(chain(50000));
  CAPTURE(small);
  CAPTURE(large);
  CHECK(large < 30 * small + 0.1);
}

TEST_CASE("a flood of problems is bounded") {
  std::string nodes = "0";
  for (int i = 0; i < 100000; ++i) nodes += ",0";
  const Result<Plan> plan = Plan::parse(changed(R"({"id":"judge"})", nodes));
  REQUIRE_FALSE(plan.ok());
  CHECK(plan.error().others().size() <= 16);
}

}  // namespace soma
