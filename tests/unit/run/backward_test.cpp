// Proves where gradients go on their way back through an execution, with numbers made by hand.
#include <doctest/doctest.h>

#include "unit/run/gradient_ops.hpp"
#include "unit/run/step_ops.hpp"

namespace soma {

namespace {

using fixture::GradientOps;
using fixture::PlanBuilder;
using fixture::Traced;
using fixture::traced;
using fixture::value_from;
using fixture::with_gradients;

// Of a plan's input, which is one number, from 1 for its value.
Traced traced_from(PlanBuilder& builder, i64 input, const std::string& gradient = "1") {
  GradientOps ops;
  return traced(with_gradients(builder), ops, Value::integer(input), value_from(gradient));
}

}  // namespace

TEST_CASE("a chain multiplies") {
  PlanBuilder builder;
  builder.open(Variant::Composite).execute("square").execute("add", {"square"});
  builder.execute("square2", {"add"}).close();
  const Traced it = traced_from(builder, 3);
  CHECK(it.value == "100");
  CHECK(it.gradient == "120");  // 2·10 · 1 · 2·3
}

TEST_CASE("at a fan-out gradients add up, at a fan-in each edge gets its own") {
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("square").open(Variant::Parallel);
  builder.execute("same", {"square"}).execute("square2", {"square"}).close();
  builder.execute("times", {"square", "same", "square2:x"}).close();
  const Traced it = traced_from(builder, 3, "10");
  CHECK(it.value == "6561");       // x^8
  CHECK(it.gradient == "174960");  // 10 · 8·x^7
}

TEST_CASE("an edge that names an output carries the gradient of that member") {
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("double").execute("square", {"double.a"});
  builder.execute("add", {"double.b"}).execute("get", {"double"});
  builder.execute("sum", {"double.b:p", "double.b:q"});
  builder.execute("sum2", {"square", "add", "get", "sum"}).close();
  const Traced it = traced_from(builder, 5);
  CHECK(it.value == "46");     // 25 + 6 + 5 + 10
  CHECK(it.gradient == "14");  // a: 10 + 1, b: 1 + 2
}

TEST_CASE("several leaves have a gradient each, and those that are missing none") {
  PlanBuilder builder;
  builder.open(Variant::Parallel).execute("square").execute("add").execute("same").close();
  CHECK(traced_from(builder, 4, R"({"add":3,"square":5})").gradient == "43");
  for (const auto& [gradient, got] :
       {std::pair("7", "the integer 7"), {R"({"x":1})", "member 'x'"}}) {
    PlanBuilder again;
    again.open(Variant::Parallel).execute("square").execute("add").close();
    CHECK(traced_from(again, 4, gradient).gradient ==
          text("run.gradient: the plan yields a map of its 2 leaves: expected as its gradient a "
               "map by their ids, got {}",
               got));
  }
}

TEST_CASE("null is zero") {
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("bare").execute("square", {"bare"}).close();
  CHECK(traced_from(builder, 4, "null").gradient == "null");
}

TEST_CASE("what is not differentiable lets nothing through") {
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("square").execute("cut", {"square"});
  builder.execute("sum", {"square", "cut"}).close();
  CHECK(traced_from(builder, 3).gradient == "6");
  PlanBuilder cut;
  cut.open(Variant::Sequence).execute("square").execute("cut", {"square"}).close();
  CHECK(traced_from(cut, 3).gradient == "null");
}

// ---- Branches

TEST_CASE("an arm's gradient goes to the node that decided; arms not taken give nothing") {
  for (const auto& [input, value, gradient] :
       {std::tuple(3, R"({"square2":81})", "108"), {2, R"({"add":5})", "4"}}) {
    PlanBuilder builder;
    builder.open(Variant::Sequence).execute("square");
    builder.branch("square", {"it > 4", "else"}).execute("square2").execute("add").close().close();
    builder.leaves({"square2", "add"});
    const Traced it = traced_from(builder, input, R"({"square2":1,"add":1})");
    CHECK(it.value == value);
    CHECK(it.gradient == gradient);
  }
}

TEST_CASE("what an arm got as the member 'value' has its gradient there") {
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("choose");
  builder.branch("choose", {"it.branch == \"odd\"", "else"});
  builder.execute("square").execute("add").close();
  builder.execute("sum", {"square", "add"}).close().leaves({"sum"});
  GradientOps ops;
  const Plan plan = with_gradients(builder);
  CHECK(traced(plan, ops, Value::integer(5), Value::integer(1)).gradient == "10");
  CHECK(traced(plan, ops, Value::integer(6), Value::integer(1)).gradient == "1");
}

TEST_CASE("nodes of an arm read outer nodes too") {
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("square").execute("add", {"square"});
  builder.branch("add", {"it > 0"}).execute("times", {"square", "add"}).close().close();
  const Traced it = traced_from(builder, 2);
  CHECK(it.value == "20");      // x²(x² + 1)
  CHECK(it.gradient == "36");   // 4x³ + 2x
}

// ---- Loops

TEST_CASE("a carry's gradient goes to the pass before, and in the first to the loop's input") {
  PlanBuilder builder;
  builder.loop("loop", 3, "", "square").execute("square").close();
  const Traced it = traced_from(builder, 2);
  CHECK(it.value == "256");
  CHECK(it.gradient == "1024");  // 8·x^7
}

TEST_CASE("all passes read outer nodes") {
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("add").loop("loop", 3, "", "times", {"add"});
  builder.open(Variant::Sequence).execute("same").execute("times", {"same", "add"}).close().close();
  builder.close();
  const Traced it = traced_from(builder, 2);
  CHECK(it.value == "81");      // (x + 1)^4
  CHECK(it.gradient == "108");
}

TEST_CASE("without a carry the value is the signal's, and every pass reads the input") {
  // The signal of the last pass is null.
  struct Three {
    static Status forward(void*, NodeCall& call) {
      const bool is_last = call.passes().back() == 3;
      call.output() = is_last ? Value() : Value::boolean(false);
      return {};
    }
  };
  GradientOps ops;
  ops.op("three", Three::forward, nullptr);
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("square").loop("loop", 0, "three", "sum", {"square"});
  builder.open(Variant::Sequence).execute("square2").execute("sum", {"square2"});
  builder.execute("three").close().close().close();
  const Plan plan = with_gradients(builder);
  const Traced it = traced(plan, ops, Value::integer(2), Value::integer(1));
  CHECK(it.value == "65536");   // ((x²)²)²)², three squares in the loop
  CHECK(it.gradient == "524288");  // 16·x^15

  PlanBuilder signal;
  signal.loop("loop", 0, "same", "").execute("same").close();
  GradientOps plain;
  const Traced same = traced(with_gradients(signal), plain, Value::text("stop"), Value::integer(4));
  CHECK(same.value == "\"stop\"");
  CHECK(same.gradient == "4");
}

TEST_CASE("without a carry and a signal a loop yields nothing, and hands nothing back") {
  PlanBuilder builder;
  builder.loop("loop", 3, "", "").execute("square").close();
  const Traced it = traced_from(builder, 2);
  CHECK(it.value == "null");
  CHECK(it.gradient == "null");
}

TEST_CASE("a carry whose node did not run waits for the pass in which it did") {
  // x is squared in the first passes, as long as it is small.
  PlanBuilder builder;
  builder.loop("loop", 4, "", "square").open(Variant::Sequence).execute("same");
  builder.branch("same", {"it < 100", "else"}).execute("square").execute("add").close();
  builder.close().close();
  const Traced it = traced_from(builder, 3);
  CHECK(it.value == "6561");     // x^8: three passes of four
  CHECK(it.gradient == "17496");
  PlanBuilder never;
  never.loop("loop", 2, "", "square").open(Variant::Sequence).execute("same");
  never.branch("same", {"it < 100", "else"}).execute("square").execute("add").close();
  never.close().close();
  CHECK(traced_from(never, 100).value == "100");
  never = PlanBuilder();
  never.loop("loop", 2, "", "square").open(Variant::Sequence).execute("same");
  never.branch("same", {"it < 100", "else"}).execute("square").execute("add").close();
  never.close().close();
  CHECK(traced_from(never, 100, "7").gradient == "7");
}

TEST_CASE("what an arm that was not taken would have yielded is not mistaken for another pass's") {
  // In even passes `same2` reads the arm's node, which did not run: its gradient has no place.
  PlanBuilder builder;
  builder.loop("loop", 2, "", "sum").open(Variant::Sequence).execute("same");
  builder.branch("same", {"it < 10", "else"}).execute("square").execute("add").close();
  builder.execute("same2", {"square"}).execute("sum", {"same2", "same"}).close().close();
  GradientOps ops;
  struct Null {
    static Status forward(void*, NodeCall& call) {
      call.output() = call.input().is_null() ? Value::integer(0) : call.input();
      return {};
    }
    static Status vjp(void*, GradientCall& call) {
      call.output() = call.gradient();
      return {};
    }
  };
  ops.op("zero", Null::forward, Null::vjp);
  Plan plan = with_gradients(builder);
  for (PlanNode& node : plan.nodes) {
    if (node.id == "same2") node.op = "zero";
  }
  const Traced it = traced(plan, ops, Value::integer(4), Value::integer(1));
  CHECK(it.value == "20");      // 4 → 16 + 4; 20 → 0 + 20
  CHECK(it.gradient == "9");    // 2·4 + 1, once
}

TEST_CASE("loops within loops") {
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("add").loop("outer", 2, "", "times", {"add"});
  builder.open(Variant::Sequence).execute("same").loop("inner", 2, "", "square", {"same"});
  builder.execute("square").close().execute("times", {"inner", "add"}).close().close().close();
  const Traced it = traced_from(builder, 0);
  CHECK(it.value == "1");        // (x + 1)^21
  CHECK(it.gradient == "21");
}

// ---- Subgraphs, steps

TEST_CASE("a subgraph's node hands on what its leaves get") {
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("square").execute("map", {"square"});
  builder.execute("add", {"map"}).close();
  CHECK(traced_from(builder, 5).gradient == "10");
  PlanBuilder leaves;
  leaves.open(Variant::Sequence).execute("square").execute("same");
  leaves.execute("map", {"square", "same"}).execute("times", {"map"}).close();
  CHECK(traced_from(leaves, 5).gradient == "75");  // x³
}

TEST_CASE("a step lets nothing through, but nodes behind its hand-offs read others") {
  auto turn = [](StepCall& call) -> Status {
    if (call.input().integer() > 0) {
      call.hand_over("times", call.input());
    } else {
      call.done(Value::integer(3));
    }
    return {};
  };
  GradientOps ops;
  NodeOp op;
  op.name = "turn";
  op.user = &turn;
  op.poll = [](void* user, StepCall& call) { return (*static_cast<decltype(turn)*>(user))(call); };
  CHECK(ops.add(std::move(op)).ok());
  for (const auto& [input, value, gradient] :
       {std::tuple(2, "18", "16"), {0, "3", "null"}}) {
    PlanBuilder builder;
    builder.open(Variant::Sequence).execute("same").step("turn", {"times"}, {"same"});
    builder.open(Variant::Sequence).execute("times", {"same", "turn"});
    builder.execute("square", {"times"}).close().close().execute("sum", {"square", "turn"}).close();
    Plan plan = with_gradients(builder);
    const Traced it = traced(plan, ops, Value::integer(input), Value::integer(1));
    CHECK(it.value == value);
    CHECK(it.gradient == gradient);
  }
}

// ---- What can't be traced

TEST_CASE("without a tape the reason is said") {
  const auto none = [](std::string_view why) {
    return text("run.no_gradient: there is no tape to trace a gradient back along: {}", why);
  };
  GradientOps ops;
  PlanBuilder builder;
  builder.execute("square");
  const Plan plan = with_gradients(builder);
  auto run = Run::create(plan, ops, {}).value();
  const auto backward = [&] { return fixture::told(run->backward(Value::integer(1), nullptr)); };
  CHECK(backward() == none("execute the run first"));
  REQUIRE(run->start(Value::integer(1), nullptr).ok());
  CHECK(backward() == "object.busy: the run has begun already: finish it before gradients are "
                      "traced");
  CHECK(run->finish().ok());
  CHECK(backward() == "2");
  CHECK(backward() == "2");
  run->abandon();
  CHECK(backward() == none("execute the run first"));
  REQUIRE(run->start(Value::integer(5), nullptr).ok());
  CHECK(run->finish().ok());
  CHECK(backward() == "10");

  Plan inference = plan;
  inference.mode = PlanMode::Inference;
  run = Run::create(inference, ops, {}).value();
  CHECK(backward() == none("the plan's mode is inference: compile it as differentiable"));
  PlanBuilder bare;
  bare.execute("bare");
  const Plan without = with_gradients(bare);
  run = Run::create(without, ops, {}).value();
  CHECK(backward() ==
        none("no node that is declared as differentiable, and does not run in chunks, has an op "
             "with a vjp"));
}

TEST_CASE("after an execution that failed there is no tape, not even the last one's") {
  bool fails = false;
  auto maybe = [&fails](NodeCall& call) -> Status {
    if (fails) return fail(Reason::run_input, "no");
    call.output() = call.input();
    return {};
  };
  GradientOps ops;
  ops.function("maybe", maybe);
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("square").execute("maybe", {"square"});
  builder.execute("sum", {"square", "maybe"}).close();
  Plan plan = with_gradients(builder);
  plan.nodes[1].differentiable = false;
  auto run = Run::create(plan, ops, {}).value();
  for (const bool wrong : {false, true, false}) {
    fails = wrong;
    REQUIRE(run->start(Value::integer(3), nullptr).ok());
    CHECK(run->finish().ok() == !wrong);
    CHECK(fixture::told(run->backward(Value::integer(1), nullptr)) ==
          (wrong ? "run.no_gradient: there is no tape to trace a gradient back along: the last "
                   "execution has not ended well"
                 : "6"));
  }
}

TEST_CASE("all nodes that a gradient reaches and that have no vjp are listed at once") {
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("bare").execute("bare2").execute("bare3");
  builder.loop("loop", 3, "", "bare4", {"bare"}).execute("bare4").close();
  builder.execute("cut", {"bare3"}).execute("times", {"loop", "bare2", "cut"}).close();
  GradientOps ops;
  const Plan plan = with_gradients(builder);
  auto run = Run::create(plan, ops, {}).value();
  REQUIRE(run->start(Value::integer(1), nullptr).ok());
  REQUIRE(run->finish().ok());
  const Result<Value> gradient = run->backward(Value::integer(1), nullptr);
  CHECK(fixture::problems_of(gradient) ==
        "run.no_gradient a gradient reaches 3 nodes that can't pass it on: node 'bare', whose op "
        "'bare' has no vjp; node 'bare2', whose op 'bare' has no vjp; node 'bare4', whose op "
        "'bare' has no vjp: give the ops a vjp, or don't declare the nodes as differentiable\n"
        "run.no_gradient node 'bare', whose op 'bare' has no vjp\n");
  // Where no gradient goes, nothing is missing.
  CHECK(fixture::told(run->backward(Value(), nullptr)) == "null");
}

TEST_CASE("of a node that runs in chunks no tape is kept") {
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("same").stream(1).execute("same2", {"same"});
  builder.node().stream_mode = StreamMode::Stateless;
  builder.close().execute("same3", {"same2"}).close();
  const GradientOps ops;
  const Traced it = traced(with_gradients(builder), ops, value_from("[1,2]"), value_from("[1,1]"));
  CHECK(it.value == "[1,2]");
  CHECK(it.gradient.find("node 'same2', whose op 'std.identity' runs in chunks, of which no tape "
                         "is kept") != it.gradient.npos);
  // A node that could, but whose plan has no stream there, runs once.
  PlanBuilder alone;
  alone.open(Variant::Sequence).execute("same").execute("same2", {"same"});
  alone.node().stream_mode = StreamMode::Stateful;
  alone.close();
  CHECK(traced(with_gradients(alone), ops, value_from("[1,2]"), value_from("[1,1]")).gradient ==
        "[1,1]");
}

// ---- Failures

TEST_CASE("a vjp that fails is named with its path, and may be asked again") {
  for (const std::string name : {"fails", "throws"}) {
    PlanBuilder builder;
    builder.loop("loop", 2, "", "square").open(Variant::Sequence);
    builder.execute(name).execute("square", {name}).close().close();
    GradientOps ops;
    const Plan plan = with_gradients(builder);
    auto run = Run::create(plan, ops, {}).value();
    REQUIRE(run->start(Value::integer(2), nullptr).ok());
    REQUIRE(run->finish().ok());
    const Result<Value> gradient = run->backward(Value::integer(1), nullptr);
    REQUIRE(!gradient.ok());
    CHECK(fixture::told(gradient.error()) ==
          (name == "fails"
               ? "run.node_failed: node 'loop[2]/fails' failed: its vjp: not today (run.input)"
               : "run.exception: node 'loop[2]/throws' ended with an exception: 'thrown'"));
    CHECK(gradient.error().details()[0].value == name);
    CHECK(gradient.error().details()[1].value == "loop[2]/" + name);
    ops.is_repaired = true;
    if (name == "fails") {
      CHECK(fixture::told(run->backward(Value::integer(1), nullptr)) == "32");  // x^4
    }
  }
}

TEST_CASE("a gradient that has no place is refused") {
  struct Wrong {
    static Status vjp(void* gradient, GradientCall& call) {
      call.output() = *static_cast<const Value*>(gradient);
      return {};
    }
  };
  for (const auto& [gradient, got] :
       {std::pair("5", "the integer 5"), {R"({"same":1,"other":2})", "member 'other'"}}) {
    Value wrong = value_from(gradient);
    GradientOps ops;
    ops.op("wrong", GradientOps::same, Wrong::vjp, &wrong);
    PlanBuilder builder;
    builder.open(Variant::Sequence).execute("same").execute("square");
    builder.execute("wrong", {"same", "square"}).close();
    CHECK(traced(with_gradients(builder), ops, Value::integer(3), Value::integer(1)).gradient ==
          text("run.gradient: node 'wrong' reads 2 values: expected as the gradient of its input a "
               "map by their keys, got {}",
               got));
  }
}

TEST_CASE("a walk back stops when it is told to") {
  struct Asks {
    static Status vjp(void* cancel, GradientCall& call) {
      CHECK(call.check().ok());
      static_cast<Cancel*>(cancel)->request();
      CHECK(!call.check().ok());
      return {};
    }
  };
  Cancel cancel;
  GradientOps ops;
  ops.op("asks", GradientOps::same, Asks::vjp, &cancel);
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("square").execute("asks", {"square"}).close();
  const Plan plan = with_gradients(builder);
  auto run = Run::create(plan, ops, {}).value();
  REQUIRE(run->start(Value::integer(3), nullptr).ok());
  REQUIRE(run->finish().ok());
  const Result<Value> gradient = run->backward(Value::integer(1), &cancel);
  REQUIRE(!gradient.ok());
  CHECK(gradient.error().id() == "cancelled");
  CHECK(gradient.error().details()[1].value == "asks");
}

// ---- The tape

TEST_CASE("what is recorded is not changed by code that owns what it reads") {
  struct Owner {
    static Status forward(void* was_sole, NodeCall& call) {
      const Value input = call.take_input();
      *static_cast<bool*>(was_sole) = input.is_sole_owner();
      call.output() = input;
      return {};
    }
    static Status vjp(void*, GradientCall& call) {
      CHECK(call.input().text() == "x");
      call.output() = call.gradient();
      return {};
    }
  };
  struct Text {
    static Status forward(void*, NodeCall& call) {
      call.output() = Value::text("x");
      return {};
    }
  };
  for (const PlanMode mode : {PlanMode::Inference, PlanMode::Differentiable}) {
    bool was_sole = false;
    GradientOps ops;
    ops.op("owner", Owner::forward, Owner::vjp, &was_sole);
    ops.op("text", Text::forward, nullptr);
    PlanBuilder builder;
    builder.open(Variant::Sequence).execute("text").execute("owner", {"text"}).close();
    Plan plan = with_gradients(builder, mode);
    plan.nodes[0].differentiable = false;
    traced(plan, ops, Value(), Value::integer(1));
    CHECK(was_sole == (mode == PlanMode::Inference));
  }
}

TEST_CASE("a tape is let go of when the next execution begins, is abandoned, or the run ends") {
  static int released = 0;
  struct Thing {
    static Status forward(void*, NodeCall& call) {
      call.output() = Value::opaque(&released, [](void* count) { ++*static_cast<int*>(count); });
      return {};
    }
    static Status vjp(void*, GradientCall&) { return {}; }
  };
  released = 0;
  GradientOps ops;
  ops.op("thing", Thing::forward, Thing::vjp);
  PlanBuilder builder;
  builder.execute("thing");
  const Plan plan = with_gradients(builder);
  auto run = Run::create(plan, ops, {}).value();
  const auto execute = [&] {
    REQUIRE(run->start(Value(), nullptr).ok());
    REQUIRE(run->finish().ok());
  };
  execute();
  CHECK(released == 0);
  execute();
  CHECK(released == 1);
  run->abandon();
  CHECK(released == 2);
  execute();
  CHECK(released == 2);
  run.reset();
  CHECK(released == 3);
}

// ---- Sums

TEST_CASE("numbers, lists and maps are added; anything else needs the host") {
  GradientOps ops;
  Value left, right;
  const auto give = [](void* gradient, GradientCall& call) -> Status {
    call.output() = *static_cast<const Value*>(gradient);
    return {};
  };
  ops.op("left", GradientOps::same, give, &left);
  ops.op("right", GradientOps::same, give, &right);
  PlanBuilder builder;
  builder.open(Variant::Parallel).execute("left").execute("right").close();
  const Plan plan = with_gradients(builder);
  const auto sum = [&](std::string_view a, std::string_view b) {
    left = value_from(a);
    right = value_from(b);
    return traced(plan, ops, Value::integer(1), value_from(R"({"left":1,"right":1})")).gradient;
  };
  CHECK(sum("1", "2.5") == "3.5");
  CHECK(sum("1", "2") == "3");
  CHECK(sum("null", "2") == "2");
  CHECK(sum("[1,null,[2]]", "[10,20,[30]]") == "[11,20,[32]]");
  CHECK(sum(R"({"a":1,"b":{"c":2}})", R"({"b":{"d":4,"c":8},"e":16})") ==
        R"({"a":1,"b":{"c":10,"d":4},"e":16})");
  CHECK(sum(R"({"a":1,"b":2,"c":3})", R"({"c":30,"b":20,"a":10})") == R"({"a":11,"b":22,"c":33})");
  CHECK(sum("[]", "[]") == "[]");
  const std::string begin = "run.gradient: gradients of the run's input: ";
  CHECK(sum("[1,2]", "[1]") ==
        begin + "a list of 2 and a list of 1 can't be added: the lists differ in length");
  const std::string how =
      " can't be added: numbers, lists and maps can; of anything else the host has to say how";
  CHECK(sum("\"a\"", "\"b\"") == begin + "the text 'a' and the text 'b'" + how);
  CHECK(sum("{\"a\":[1]}", "{\"a\":{}}") == begin + "a list of 1 and an empty map" + how);

  GradientAdder joins;
  joins.add = [](void*, GradientCall& call) -> Status {
    CHECK(!call.has_node());
    const std::span<const Value> both = call.input().list();
    if (!both[0].is(ValueKind::Text)) return fail(Reason::run_input, "no texts");
    call.output() = Value::text(both[0].text() + both[1].text());
    return {};
  };
  REQUIRE(ops.set_gradient_adder(joins).ok());
  CHECK(sum("[\"a\",1,{\"x\":\"c\"}]", "[\"b\",2,{\"x\":\"d\"}]") == R"(["ab",3,{"x":"cd"}])");
  CHECK(sum("true", "true") == "run.input: gradients of the run's input: no texts");
  CHECK(ops.set_gradient_adder(joins).error().id() == "ops.duplicate");
}

TEST_CASE("sums of gradients that nest deep") {
  GradientOps ops;
  struct Deep {
    static Status vjp(void*, GradientCall& call) {
      Value deep = call.gradient();
      for (u32 i = 0; i < 100'000; ++i) deep = Value::list({std::move(deep)});
      call.output() = std::move(deep);
      return {};
    }
  };
  ops.op("deep", GradientOps::same, Deep::vjp);
  PlanBuilder builder;
  builder.open(Variant::Parallel).execute("deep").execute("deep2").close();
  const Plan plan = with_gradients(builder);
  auto run = Run::create(plan, ops, {}).value();
  REQUIRE(run->start(Value(), nullptr).ok());
  REQUIRE(run->finish().ok());
  Value sum = run->backward(value_from(R"({"deep":2,"deep2":3})"), nullptr).value();
  while (sum.is(ValueKind::List)) sum = Value(sum.list()[0]);
  CHECK(sum == Value::integer(5));
}

TEST_CASE("std.get places a gradient where it looked") {
  for (const auto& [path, input, gradient] :
       {std::tuple("it", "3", "7"), {"a.b", R"({"a":{"b":1,"c":2},"d":3})", R"({"a":{"b":7}})"},
        {"a[-1]", R"({"a":[1,2,3]})", R"({"a":[null,null,7]})"},
        {"it[0][1]", "[[1,2],3]", "[[null,7],null]"}}) {
    PlanBuilder builder;
    builder.execute("get");
    Plan plan = with_gradients(builder);
    plan.nodes[0].edit().config = Value::map({{"path", Value::text(path)}});
    CHECK(traced(plan, GradientOps(), value_from(input), Value::integer(7)).gradient == gradient);
  }
}

TEST_CASE("an op's vjp is given once, and to an op that computes") {
  GradientOps ops;
  const Vjp vjp = [](void*, GradientCall&) -> Status { return {}; };
  const auto add = [&](std::string_view name, u32 version) {
    const Status added = ops.add_vjp(name, version, vjp, nullptr, nullptr);
    return added.ok() ? "" : fixture::told(added.error());
  };
  CHECK(add("bare", 1) ==
        "argument.range: there is no op 'bare' of version 1, but of version 0: add it before its "
        "vjp");
  CHECK(add("other", 0) == "argument.range: there is no op 'other' of version 0: add it before its "
                           "vjp");
  CHECK(add("bare", 0) == "");
  CHECK(add("bare", 0) == "ops.duplicate: op 'bare' of version 0 has a vjp already");
  CHECK(add("std.sum", 1) == "ops.duplicate: op 'std.sum' of version 1 has a vjp already");
  CHECK(add("std.concat", 1) == "");
  NodeOp turns;
  turns.name = "turns";
  turns.poll = [](void*, StepCall&) -> Status { return {}; };
  CHECK(ops.add(std::move(turns)).ok());
  CHECK(add("turns", 0) == "argument.range: op 'turns' works in turns, and such have no vjp");
}

}  // namespace soma
