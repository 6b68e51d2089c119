// Proves how runs behave as machines: again and again, in pieces, however deep, without allocating,
// stopped in time, watched, and with values handed over to their last reader.
#include <doctest/doctest.h>

#include "base/clock.hpp"
#include "base/memory.hpp"
#include "unit/plan/plan_builder.hpp"
#include "unit/run/run_text.hpp"
#include "unit/sanitized.hpp"

namespace soma {

namespace {

using fixture::PlanBuilder;

void set_op(PlanBuilder& builder, std::string_view op) { builder.node().op = op; }

Plan chain(u32 nodes, std::string_view op) {
  PlanBuilder builder;
  builder.open(Variant::Sequence);
  for (u32 i = 0; i < nodes; ++i) {
    PlanBuilder::Texts before;
    if (i > 0) before.push_back(text("n{}", i - 1));
    builder.execute(text("n{}", i), before);
    set_op(builder, op);
  }
  builder.close();
  return builder.take();
}

auto count_up = [](NodeCall& call) -> Status {
  call.output() = Value::integer(call.input().integer() + 1);
  return {};
};

}  // namespace

TEST_CASE("a run can start again, with another input, and yields the same of the same") {
  fixture::TestOps ops;
  ops.function("up", count_up);
  const Plan plan = chain(10, "up");
  auto run = Run::create(plan, ops, {}).value();
  CHECK(run->finish().error().id() == "run.not_started");
  for (i64 i = 0; i < 5; ++i) {
    CHECK(run->start(Value::integer(i), nullptr).ok());
    CHECK(run->start(Value::integer(i), nullptr).error().id() == "object.busy");
    CHECK(run->finish().value() == Value::integer(i + 10));
  }
}

TEST_CASE("a chain of a million nodes") {
  fixture::TestOps ops;
  ops.function("up", count_up);
  constexpr u32 many = fixture::is_sanitized ? 20'000 : 1'000'000;
  const Plan plan = chain(many, "up");
  CHECK(fixture::outcome(plan, ops, Value::integer(0)) == text("{}", many));
}

TEST_CASE("a hundred thousand loops within each other") {
  constexpr u32 depth = 100'000;
  fixture::TestOps ops;
  ops.function("up", count_up);
  PlanBuilder builder;
  for (u32 i = 0; i < depth; ++i) builder.loop(text("l{}", i), 1, "", "leaf");
  builder.execute("leaf");
  set_op(builder, "up");
  for (u32 i = 0; i < depth; ++i) builder.close();
  builder.leaves({"l0"});
  CHECK(fixture::outcome(builder.take(), ops, Value::integer(1)) == "2");
}

TEST_CASE("a second run allocates nothing") {
  fixture::TestOps ops;
  ops.function("up", count_up);
  PlanBuilder builder;
  builder.open(Variant::Sequence);
  builder.loop("loop", 50, "", "b");
  builder.open(Variant::Sequence).execute("a");
  set_op(builder, "up");
  builder.execute("b", {"a"});
  set_op(builder, "up");
  builder.close().close();
  builder.execute("gate", {"loop"}).node().op = "up";
  builder.branch("gate", {"it > 0", "else"});
  builder.execute("high").node().op = "up";
  builder.execute("low").node().op = "up";
  builder.close().close().leaves({"high"});
  const Plan plan = builder.take();
  struct Count {
    u64 allocations = 0;
  } count;
  Memory memory({.allocate = [](void* user, size_t size, size_t alignment) -> void* {
                   ++static_cast<Count*>(user)->allocations;
                   const size_t blocks = (size + alignment - 1) / alignment;
                   return std::aligned_alloc(alignment, blocks * alignment);
                 },
                 .release = [](void*, void* block, size_t, size_t) { std::free(block); },
                 .user = &count});
  const MemoryScope scope(&memory);
  {
    auto run = Run::create(plan, ops, {}).value();
    CHECK(run->start(Value::integer(0), nullptr).ok());
    CHECK(run->finish().value() == Value::integer(102));
    const u64 before = count.allocations;
    const Status started = run->start(Value::integer(0), nullptr);
    const Result<Value> value = run->finish();
    CHECK(count.allocations == before);
    CHECK(started.ok());
    CHECK(*value == Value::integer(102));
  }
}

TEST_CASE("a host may go on in pieces") {
  fixture::TestOps ops;
  ops.function("up", count_up);
  const Plan plan = chain(100, "up");
  auto run = Run::create(plan, ops, {}).value();
  CHECK(run->start(Value::integer(0), nullptr).ok());
  u32 pieces = 1;
  while (!run->step(0)) ++pieces;  // no time: one node each
  CHECK(pieces == 101);
  CHECK(run->step(0));
  CHECK(run->finish().value() == Value::integer(100));
}

TEST_CASE("cancelled between two nodes, and by a node") {
  Cancel cancel;
  u32 called = 0;
  auto third_cancels = [&](NodeCall& call) -> Status {
    if (++called == 3) cancel.request();
    if (call.check().ok() == (called == 3)) return fail(Reason::internal, "check is wrong");
    return {};
  };
  fixture::TestOps ops;
  ops.function("third", third_cancels);
  const Plan plan = chain(10, "third");
  auto run = Run::create(plan, ops, {}).value();
  CHECK(run->start(Value(), &cancel).ok());
  const Error error = std::move(run->finish()).error();
  CHECK(error.id() == "cancelled");
  CHECK(error.details()[0].value == "n2");  // it was told to stop itself
  CHECK(called == 3);
}

TEST_CASE("a deadline ends a loop that never would") {
  auto nothing = [](NodeCall& call) -> Status {
    call.output() = Value::boolean(false);
    return {};
  };
  fixture::TestOps ops;
  ops.function("nothing", nothing);
  PlanBuilder builder;
  builder.loop("forever", 0, "body", "body").execute("body").node().op = "nothing";
  builder.close();
  const Plan plan = builder.take();
  Cancel cancel;
  cancel.set_deadline(now_ns() + 2'000'000);
  CHECK(fixture::outcome(plan, ops, Value(), {}, &cancel).starts_with("deadline: "));
}

TEST_CASE("exceptions are failures that say so") {
  auto throws = [](NodeCall&) -> Status { throw std::runtime_error("the disk is full"); };
  auto throws_text = [](NodeCall&) -> Status { throw "what?"; };
  auto has_no_memory = [](NodeCall&) -> Status { throw std::bad_alloc(); };
  fixture::TestOps ops;
  ops.function("throws", throws).function("text", throws_text).function("memory", has_no_memory);
  const auto thrown = [&](std::string_view op) {
    return fixture::outcome(chain(2, op), ops, Value());
  };
  CHECK(thrown("throws") ==
        "run.exception: node 'n0' ended with an exception: 'the disk is full'");
  CHECK(thrown("text") ==
        "run.exception: node 'n0' ended with an exception of a type unknown here");
  CHECK(thrown("memory") == "memory.exhausted: node 'n0': there is no memory left");
}

TEST_CASE("the last reader of a value is its sole owner") {
  auto make = [](NodeCall& call) -> Status {
    call.output() = Value::list({Value::integer(1)});
    return {};
  };
  auto take = [](NodeCall& call) -> Status {
    const Value taken = call.take_input();
    const bool is_sole = taken.is_sole_owner();
    call.output() = Value::boolean(is_sole);
    return {};
  };
  auto look = [](NodeCall& call) -> Status {
    call.output() = Value::boolean(call.input().is_sole_owner());
    return {};
  };
  fixture::TestOps ops;
  ops.function("make", make).function("take", take).function("look", look);
  const auto owned = [&](std::string_view reader, u32 readers, bool in_loop) {
    PlanBuilder builder;
    builder.open(Variant::Sequence).execute("make").node().op = "make";
    if (in_loop) builder.loop("loop", 2, "", "r0");
    builder.open(Variant::Parallel);
    PlanBuilder::Texts leaves;
    for (u32 i = 0; i < readers; ++i) {
      builder.execute(text("r{}", i), {"make"}).node().op = reader;
      leaves.push_back(text("r{}", i));
    }
    builder.close();
    if (in_loop) builder.close();
    builder.close().leaves(in_loop ? PlanBuilder::Texts{"loop"} : leaves);
    return fixture::outcome(builder.take(), ops, Value());
  };
  CHECK(owned("take", 1, false) == "true");
  CHECK(owned("take", 2, false) == R"({"r0":false,"r1":false})");
  CHECK(owned("take", 1, true) == "false");  // the second pass reads it again
  CHECK(owned("look", 1, false) == "true");
  CHECK(owned("look", 2, false) == R"({"r0":true,"r1":true})");
}

TEST_CASE("values are let go of once nobody will read them") {
  struct Live {
    int now = 0, most = 0;
  } live;
  auto make = [&live](NodeCall& call) -> Status {
    call.input();
    live.most = std::max(live.most, ++live.now);
    call.output() = Value::opaque(&live, [](void* of) { --static_cast<Live*>(of)->now; });
    return {};
  };
  fixture::TestOps ops;
  ops.function("make", make);
  const Plan plan = chain(100, "make");
  auto run = Run::create(plan, ops, {}).value();
  CHECK(run->start(Value(), nullptr).ok());
  {
    const Result<Value> value = run->finish();
    CHECK(value.ok());
    CHECK(live.now == 1);
  }
  CHECK(live.now == 0);
  CHECK(live.most == 2);
}

TEST_CASE("an observer sees all in order") {
  fixture::TestOps ops;
  ops.function("up", count_up);
  PlanBuilder builder;
  builder.open(Variant::Sequence);
  builder.loop("loop", 2, "", "a").execute("a").node().op = "up";
  builder.close();
  builder.execute("gate", {"loop"}).node().op = "up";
  builder.branch("gate", {"it > 100", "else"});
  builder.execute("high").node().op = "up";
  builder.execute("low").node().op = "missing";
  builder.close().close().leaves({"low"});
  Plan plan = builder.take();
  struct Watch {
    std::string seen = {};
    i64 last_ns = 0;
    bool in_order = true;
  } watch;
  RunOptions options;
  options.observer = {[](void* user, const Event& event) {
                        auto& at = *static_cast<Watch*>(user);
                        at.in_order = at.in_order && event.at_ns >= at.last_ns;
                        at.last_ns = event.at_ns;
                        at.seen += event_name(event.kind);
                        if (event.node != no_node) at.seen += text(" {}", event.path);
                        if (event.kind == Event::Kind::PassFinished) {
                          at.seen += text(" {} {}", event.pass, static_cast<int>(event.ended));
                        }
                        if (event.kind == Event::Kind::ArmChosen) at.seen += text(" {}", event.arm);
                        at.seen += text(" {}/{}\n", event.done, event.total);
                      },
                      &watch};
  auto fails = [](NodeCall&) -> Status { return fail(Reason::run_input, "no"); };
  ops.function("missing", fails);
  auto run = Run::create(plan, ops, options).value();
  CHECK(run->start(Value::integer(0), nullptr).ok());
  CHECK_FALSE(run->finish().ok());
  CHECK(watch.in_order);
  CHECK(watch.seen ==
        "run_started 0/5\n"
        "node_started loop 0/5\n"
        "node_started loop[1]/a 0/5\n"
        "node_finished loop[1]/a 0/5\n"
        "pass_finished loop 1 0 0/5\n"
        "node_started loop[2]/a 0/5\n"
        "node_finished loop[2]/a 0/5\n"
        "pass_finished loop 2 2 0/5\n"
        "node_finished loop 2/5\n"
        "node_started gate 2/5\n"
        "node_finished gate 3/5\n"
        "arm_chosen gate 1 4/5\n"
        "node_started low 4/5\n"
        "node_failed low 4/5\n"
        "run_failed 4/5\n");
}

TEST_CASE("parts that can't be run are told before, all at once") {
  const fixture::TestOps ops;
  PlanBuilder builder;
  builder.open(Variant::Sequence);
  builder.remote({Target::Kind::Tag, "gpu"}).execute("far").close();
  builder.execute("near", {"far"});
  builder.remote({Target::Kind::Worker, "w7"}).execute("further", {"near"}).close().close();
  const Plan plan = builder.take();
  const Error error = std::move(Run::create(plan, ops, {})).error();
  CHECK(error.id() == "run.no_transport");
  REQUIRE(error.others().size() == 1);
  CHECK(error.others()[0].id() == "run.no_transport");
}

TEST_CASE("remote parts run here if the run says so") {
  fixture::TestOps ops;
  ops.function("up", count_up);
  PlanBuilder builder;
  builder.remote({Target::Kind::Tag, "gpu"}).execute("far").node().op = "up";
  builder.close();
  const Plan plan = builder.take();
  CHECK(fixture::outcome(plan, ops, Value::integer(1)).starts_with("run.no_transport: node 'far'"));
  CHECK(fixture::outcome(plan, ops, Value::integer(1), {.remote_inline = true}) == "2");
}

TEST_CASE("two values that would be one member are refused") {
  const fixture::TestOps ops;
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("a").execute("b", {"a.x", "a.y"}).close();
  Plan plan = builder.take();
  for (PlanNode& node : plan.nodes) node.op = "std.identity";
  CHECK(fixture::outcome(plan, ops, Value())
            .starts_with("graph.ambiguous_port: node 'b': two of the values that it reads"));
}

}  // namespace soma
