// Proves what graphs yield: documents go in, and the value or the error comes out. What nodes read,
// what constructs hand over and yield, and where a failure says it was.
#include <doctest/doctest.h>

#include "unit/run/run_text.hpp"

namespace soma {

namespace {

std::string yields(std::string_view nodes_and_edges, std::string_view input = "null") {
  fixture::TestOps ops;
  // A judge of counts: {"done": count >= 3, "count": count}.
  auto judge = [](NodeCall& call) -> Status {
    const i64 count = call.input().integer();
    call.output() = Value::map({{"done", Value::boolean(count >= 3)},
                                {"count", Value::integer(count)}});
    return {};
  };
  // Takes the count out of it again, or counts from 0.
  auto count = [](NodeCall& call) -> Status {
    const Value& read = call.input();
    const i64 before = read.is(ValueKind::Map) ? read.find("count")->integer() : 0;
    call.output() = Value::integer(before + 1);
    return {};
  };
  auto keys = [](NodeCall& call) -> Status {
    std::string all;
    for (const Member& member : call.input().map()) all += member.key + " ";
    call.output() = Value::text(std::move(all));
    return {};
  };
  ops.function("judge", judge).function("count", count).function("keys", keys);
  return fixture::outcome(nodes_and_edges, ops, input);
}

}  // namespace

TEST_CASE("a graph without nodes yields its input") {
  CHECK(yields(R"("nodes":[],"edges":[])", "[1]") == "[1]");
}

TEST_CASE("a chain, and a diamond whose join reads a map in the order of its edges") {
  CHECK(yields(R"("nodes":[{"id":"a","op":"std.add","config":{"value":1}},
                           {"id":"b","op":"std.add","config":{"value":10}}],
                  "edges":[{"from":"a","to":"b"}])", "5") == "16");
  CHECK(yields(R"("nodes":[{"id":"s","op":"std.identity"},
                           {"id":"l","op":"std.add","config":{"value":1}},
                           {"id":"r","op":"std.add","config":{"value":2}},
                           {"id":"j","op":"std.identity"}],
                  "edges":[{"from":"s","to":"l"},{"from":"s","to":"r"},
                           {"from":"r","to":"j"},{"from":"l","to":"j"}])", "5") ==
        R"({"r":7,"l":6})");
}

TEST_CASE("edges that name inputs and outputs") {
  CHECK(yields(R"("nodes":[
      {"id":"a","op":"std.const","config":{"value":{"loss":1,"grad":2}},
       "outputs":[{"name":"loss"},{"name":"grad"}]},
      {"id":"b","op":"std.identity","inputs":[{"name":"x"},{"name":"y"}]}],
      "edges":[{"from":"a","to":"b","output":"grad","input":"x"},
               {"from":"a","to":"b","output":"loss","input":"y"}])") == R"({"x":2,"y":1})");
  CHECK(yields(R"("nodes":[
      {"id":"a","op":"std.const","config":{"value":{"loss":1,"grad":2}},
       "outputs":[{"name":"loss"},{"name":"grad"}]},
      {"id":"b","op":"std.identity"}],
      "edges":[{"from":"a","to":"b","output":"grad"}])") == "2");
  CHECK(yields(R"("nodes":[
      {"id":"a","op":"std.const","config":{"value":{"loss":1}},
       "outputs":[{"name":"loss"},{"name":"grad"}]},
      {"id":"b","op":"std.identity"}],
      "edges":[{"from":"a","to":"b","output":"grad"}])") ==
        "run.node_failed: node 'b' failed: it reads output 'grad' of node 'a', which yielded a map "
        "of 'loss' (run.input)");
}

TEST_CASE("several leaves yield a map in the order of the nodes") {
  CHECK(yields(R"("nodes":[{"id":"b","op":"std.identity"},
                           {"id":"a","op":"std.add","config":{"value":1}}],"edges":[])", "1") ==
        R"({"b":1,"a":2})");
}

TEST_CASE("a branch runs the first arm that takes the value, which the arm reads") {
  const std::string_view graph = R"("nodes":[
      {"id":"gate","kind":"branch","op":"std.identity"},
      {"id":"high","op":"std.format","config":{"template":"high {it}"}},
      {"id":"low","op":"std.format","config":{"template":"low {it}"}},
      {"id":"join","op":"std.identity"}],
      "edges":[{"from":"gate","to":"high","kind":"control","arm":"it > 10"},
               {"from":"gate","to":"low","kind":"control","arm":"it > 1"},
               {"from":"high","to":"join"},{"from":"low","to":"join"}])";
  CHECK(yields(graph, "11") == R"({"high":"high 11"})");
  CHECK(yields(graph, "2") == R"({"low":"low 2"})");
  CHECK(yields(graph, "0") ==
        "run.no_arm: branch 'gate': no arm takes the integer 0; there are it > 10, it > 1: add an "
        "arm for it, or one for all else");
  CHECK(yields(graph, R"("x")").starts_with("run.predicate: branch 'gate', arm 'it > 10': "));
}

TEST_CASE("a label picks an arm by the member branch, and hands over the member value") {
  const std::string_view graph = R"("nodes":[
      {"id":"gate","op":"std.identity"},
      {"id":"yes","op":"std.identity"},{"id":"no","op":"std.identity"}],
      "edges":[{"from":"gate","to":"yes","kind":"control","label":"deploy"},
               {"from":"gate","to":"no","kind":"control","label":"default"}])";
  CHECK(yields(graph, R"({"branch":"deploy","value":[1]})") == R"({"yes":[1]})");
  CHECK(yields(graph, R"("deploy")") == R"({"yes":"deploy"})");
  CHECK(yields(graph, R"({"branch":"other"})") == R"({"no":{"branch":"other"}})");
}

TEST_CASE("a loop carries its last value until its signal says stop") {
  const std::string_view graph = R"("nodes":[
      {"id":"refine","kind":"loop","max_iterations":MAX},
      {"id":"count","op":"count"},{"id":"judge","op":"judge"}],
      "edges":[{"from":"refine","to":"count","kind":"control"},{"from":"count","to":"judge"}])";
  const auto capped = [&](std::string_view most) {
    std::string text(graph);
    return text.replace(text.find("MAX"), 3, most);
  };
  CHECK(yields(capped("10")) == R"({"done":true,"count":3})");
  CHECK(yields(capped("2")) == R"({"done":false,"count":2})");
}

TEST_CASE("a loop without a bound of its own reads its input in each pass, if nothing is carried") {
  // exhaust, and a body of two ends has no single terminal to carry.
  CHECK(yields(R"("nodes":[
      {"id":"in","op":"std.const","config":{"value":4}},
      {"id":"loop","kind":"loop","max_iterations":3,"until":"exhaust","carry_from":"inc"},
      {"id":"inc","op":"std.add","config":{"value":1}}],
      "edges":[{"from":"in","to":"loop"},{"from":"loop","to":"inc","kind":"control"}])") == "7");
}

TEST_CASE("a signal that says neither") {
  const auto signalled = [](std::string_view value) {
    return yields(text(R"("nodes":[
        {{"id":"loop","kind":"loop","max_iterations":2}},
        {{"id":"say","op":"std.const","config":{{"value":{}}}}}],
        "edges":[{{"from":"loop","to":"say","kind":"control"}}])", value));
  };
  for (const std::string_view stop : {"null", "true", R"("done")", R"("stop")"}) {
    CHECK(signalled(stop) == stop);
  }
  CHECK(signalled("7") ==
        "run.signal: loop 'loop': expected node 'say' to say stop (null, true, 'done', 'stop', "
        "{\"done\": true}) or go on (false, 'continue', {\"done\": false}) in pass 1, got the "
        "integer 7");
  CHECK(signalled(R"({"done":1})").starts_with("run.signal: "));
  CHECK(signalled(R"("continue")") == R"("continue")");
}

TEST_CASE("an arm not taken in this pass shows nothing of an older one") {
  // Pass 1 takes `first`, pass 2 does not: the join's keys change.
  CHECK(yields(R"("nodes":[
      {"id":"loop","kind":"loop","max_iterations":2,"until":"exhaust","carry_from":"inc"},
      {"id":"inc","op":"std.add","config":{"value":1}},
      {"id":"gate","kind":"branch","op":"std.identity"},
      {"id":"first","op":"std.identity"},{"id":"later","op":"std.identity"},
      {"id":"join","op":"keys"},
      {"id":"end","op":"std.format","config":{"template":"{it}"}}],
      "edges":[{"from":"loop","to":"inc","kind":"control"},{"from":"inc","to":"gate"},
               {"from":"gate","to":"first","kind":"control","arm":"it == 1"},
               {"from":"gate","to":"later","kind":"control","arm":"else"},
               {"from":"inc","to":"join"},{"from":"first","to":"join"},{"from":"later","to":"join"},
               {"from":"join","to":"end"}])", "0") == "2");
}

TEST_CASE("a node that sets nothing yields null, whatever it set before") {
  // More nodes than share a note of what was set; those in the loop begin and end amid notes.
  constexpr u32 beside = 700;
  std::string nodes = R"({"id":"loop","kind":"loop","max_iterations":2,"until":"exhaust",)"
                      R"("carry_from":"last"})";
  std::string edges;
  for (u32 node = 0; node < beside; ++node) {
    nodes += text(R"(,{{"id":"once{}","op":"once"}},{{"id":"often{}","op":"often"}})", node, node);
    edges += text(R"({{"from":"loop","to":"once{}","kind":"control"}},)"
                  R"({{"from":"once{}","to":"last"}},)", node, node);
  }
  nodes += R"(,{"id":"last","op":"given"})";
  edges.pop_back();
  // In the first pass of the first execution, and never again.
  std::atomic<u32> left{beside};
  auto once = [&left](NodeCall& call) -> Status {
    u32 more = left.load();
    while (more > 0 && !left.compare_exchange_weak(more, more - 1)) {
    }
    if (more > 0) call.output() = Value::integer(1);
    return {};
  };
  auto often = [](NodeCall& call) -> Status {
    if (!call.input().is_null()) call.output() = call.input();
    return {};
  };
  auto given = [](NodeCall& call) -> Status {
    i64 count = 0;
    for (const Member& member : call.input().map()) count += member.value.is_null() ? 0 : 1;
    call.output() = Value::integer(count);
    return {};
  };
  fixture::TestOps ops;
  ops.function("once", once).function("often", often).function("given", given);
  const Plan plan =
      fixture::compiled(text(R"("nodes":[{}],"edges":[{}])", nodes, edges)).value();
  const std::unique_ptr<Run> run = Run::create(plan, ops, {}).value();
  for (const i64 input : {7, 0, 8}) {
    CHECK(run->start(input == 0 ? Value() : Value::integer(input), nullptr).ok());
    const Value value = run->finish().value();
    CHECK(value.find("loop")->integer() == 0);
    for (const u32 node : {0u, 255u, 256u, beside - 1}) {
      const Value& often_set = *value.find(text("often{}", node));
      CHECK((input == 0 ? often_set.is_null() : often_set.integer() == input));
    }
  }
}

TEST_CASE("a failure says which node, where, and what its code said") {
  const auto failing = [](std::string_view nodes_and_edges) {
    const fixture::TestOps ops;
    const Plan plan = fixture::compiled(nodes_and_edges).value();
    auto run = Run::create(plan, ops, {}).value();
    CHECK(run->start(Value(), nullptr).ok());
    return std::move(run->finish()).error();
  };
  const Error error = failing(R"("nodes":[
      {"id":"refine","kind":"loop","max_iterations":3},
      {"id":"get","op":"std.get","config":{"path":"text"}}],
      "edges":[{"from":"refine","to":"get","kind":"control"}])");
  CHECK(fixture::told(error) ==
        "run.node_failed: node 'refine[1]/get' failed: text: expected it to be a map with a member "
        "'text', got null; has(…) asks for a member (run.predicate)");
  const auto detail = [&error](std::string_view key) {
    for (const Detail& one : error.details()) {
      if (one.key == key) return one.value;
    }
    return std::string();
  };
  CHECK(detail("node") == "get");
  CHECK(detail("path") == "refine[1]/get");
  CHECK(detail("cause") == "run.predicate");
  REQUIRE(error.others().size() == 1);
  CHECK(error.others()[0].id() == "run.predicate");
}

TEST_CASE("all ops without code are told before anything runs") {
  CHECK(yields(R"("nodes":[{"id":"a","op":"nowhere"},{"id":"b","op":"std.fail",
      "config":{"message":"must not run"}},{"id":"c"},{"id":"d","op":"nowhere"},
      {"id":"e","op":"std.sum","op_version":3}],
      "edges":[{"from":"b","to":"a"}])") ==
        "run.unbound_op: the plan names 3 ops that the run has no code for: 'c' version 1 (node "
        "'c'), 'nowhere' version 1 (node 'a' and 1 more), 'std.sum' version 3 (node 'e'; there is "
        "version 1): register them, or correct the nodes' ops");
}

TEST_CASE("a subgraph's node yields its leaves") {
  CHECK(yields(R"("nodes":[
      {"id":"outer","kind":"subgraph","graph":{"soma":"graph","version":1,"nodes":[
        {"id":"x","op":"std.add","config":{"value":1}},
        {"id":"y","op":"std.add","config":{"value":2}}],"edges":[]}},
      {"id":"sum","op":"std.sum"}],
      "edges":[{"from":"outer","to":"sum"}])", "10") == "23");
}

}  // namespace soma
