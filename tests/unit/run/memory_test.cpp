// Proves that a run which gets no more memory says so, and leaves nothing behind: at each
// allocation, alone and with other threads; and that nobody waits for what was lost with it.
#include <doctest/doctest.h>

#include "cache/cache.hpp"
#include "journal/memory_store.hpp"
#include "unit/base/failing_memory.hpp"
#include "unit/plan/plan_builder.hpp"
#include "unit/run/random_run.hpp"
#include "unit/run/rendezvous.hpp"
#include "unit/run/step_ops.hpp"
#include "unit/sanitized.hpp"

namespace soma {

namespace {

using fixture::PlanBuilder;

// A wave of chains in a loop, a branch behind it, and texts to allocate everywhere.
Plan small_plan() {
  PlanBuilder builder;
  builder.open(Variant::Sequence);
  builder.loop("loop", 2, "", "join").open(Variant::Sequence).open(Variant::Parallel);
  for (const std::string_view chain : {"x", "y", "z"}) {
    builder.open(Variant::Sequence).execute(text("{}0", chain));
    builder.execute(text("{}1", chain), {text("{}0", chain)}).close();
  }
  builder.close().execute("join", {"x1", "y1", "z1"}).close().close();
  builder.execute("gate", {"loop"}).branch("gate", {"it == \"never\"", "else"});
  builder.execute("a").execute("b").close().close().leaves({"a", "b"});
  Plan plan = builder.take();
  for (PlanNode& node : plan.nodes) node.op = "copy";
  return plan;
}

Plan waiting_plan() {
  Plan plan = fixture::tree("p[a b c]");
  for (PlanNode& node : plan.nodes) {
    node.op = "copy";
    node.waits = true;
  }
  return plan;
}

Plan stream_plan() {
  PlanBuilder builder;
  builder.stream(2);
  for (const std::string_view id : {"a", "b", "c"}) {
    builder.execute(std::string(id), id == "a" ? PlanBuilder::Texts() :
                    PlanBuilder::Texts{id == "b" ? "a" : "b"});
    builder.node().op = "copy";
    builder.node().stream_mode = StreamMode::Stateless;
  }
  builder.close();
  return builder.take();
}

// Three executions, of which one may lack memory: the others yield what is expected.
struct Thrice {
  const Plan& plan;
  const Ops& ops;
  LaunchMode launch;
  bool is_cached;
  std::string expected = {};

  void run(u32 lacks_max) {
    const auto pool = Pool::create(3).value();
    Cache cache({});
    RunOptions options = {.pool = pool.get(), .launch = launch};
    options.cache = is_cached ? &cache : nullptr;
    const auto run = Run::create(plan, ops, options).value();
    for (u32 again = 0, lacks = 0; again < 3; ++again) {
      try {
        Value list = Value::list({Value::integer(1), Value::integer(2), Value::integer(3)});
        if (!run->start(std::move(list), nullptr).ok()) FAIL("it has not ended");
        Result<Value> value = run->finish();
        if (!value.ok() && value.error().id() == "memory.exhausted") throw std::bad_alloc();
        const std::string outcome = fixture::told(std::move(value));
        if (expected.empty()) expected = outcome;
        if (outcome != expected) FAIL("run ", again, ": ", outcome, ", expected ", expected);
      } catch (const std::bad_alloc&) {
        run->abandon();
        if (++lacks > lacks_max) FAIL("it lacks memory once more");
      }
    }
  }
};

// Which are more than `blocks_min`.
void each_block_is_missing(const Plan& plan, const Ops& ops, int blocks_min,
                           bool is_cached = false) {
  CAPTURE(plan.display());
  for (const LaunchMode launch : {LaunchMode::Adaptive, LaunchMode::Always}) {
    Thrice thrice{plan, ops, launch, is_cached};
    thrice.run(0);
    const auto work = [&] {
      try {
        thrice.run(1);
      } catch (const std::bad_alloc&) {   // it was not even made
      }
    };
    CHECK(fixture::without_each_block(work) > blocks_min);
  }
}

}  // namespace

TEST_SUITE_BEGIN("own new");

TEST_CASE("one allocation fails, and nobody waits for what is lost with it") {
  auto copy = [](NodeCall& call) -> Status {
    SOMA_ASSIGN(std::string all, value_json(call.input()));
    call.output() = Value::text(std::move(all));
    return {};
  };
  fixture::AskOnce ask;
  auto answer = [](Effect& effect) { effect.complete(Value::integer(1)); };
  fixture::StepOps ops;
  ops.function("copy", copy);
  ops.step("ask", ask).effect("ask", answer);
  const Plan plans[] = {waiting_plan(), stream_plan(), fixture::steps_side_by_side(3, "ask"),
                        small_plan()};
  for (const Plan& plan : plans) each_block_is_missing(plan, ops, 30);
}

TEST_CASE("one allocation fails, and who waits for a branch that will not come is told so") {
  std::atomic<u32> there{0};
  auto meet = [&there](NodeCall& call) -> Status {
    ++there;
    const i64 until_ns = now_ns() + 20 * fixture::second_ns;
    while (there < 3) {
      SOMA_TRY(call.check());
      if (now_ns() > until_ns) return fail(Reason::internal, "it waits for ever");
      std::this_thread::yield();
    }
    return {};
  };
  fixture::TestOps ops;
  ops.function("meet", meet);
  Plan plan = waiting_plan();
  for (PlanNode& node : plan.nodes) node.op = "meet";
  const auto work = [&] {
    try {
      const auto pool = Pool::create(3).value();
      const auto run = Run::create(plan, ops, {.pool = pool.get()}).value();
      for (u32 again = 0; again < 2; ++again) {
        there = 0;
        if (!run->start(Value(), nullptr).ok()) FAIL("it has not ended");
        const Result<Value> value = run->finish();
        if (!value.ok() && value.error().id() != "memory.exhausted") FAIL(value.error().id());
      }
    } catch (const std::bad_alloc&) {
    }
  };
  CHECK(fixture::without_each_block(work) > 20);
}

TEST_CASE("one allocation fails in random plans: runs that lack nothing yield what they should") {
  auto mix = [](NodeCall& call) -> Status {
    SOMA_ASSIGN(std::string all, value_json(call.input()));
    // Of nothing but that: a cache takes nodes that read the same for the same.
    call.output() = Value::integer(static_cast<i64>(std::hash<std::string>()(all) >> 40));
    return {};
  };
  auto fails = [](NodeCall& call) { return Status(fail(Reason::run_input, "{}", call.path())); };
  fixture::TestOps ops;
  ops.function("mix", mix).function("fail", fails);
  constexpr u32 plans = fixture::is_sanitized ? 12 : 40, nodes_max = 20;
  for (u32 seed = 0, tried = 0; tried < plans; ++seed) {
    Plan plan = fixture::RandomPlan(seed).make();
    if (plan.nodes.size() > nodes_max) continue;
    const bool is_cached = ++tried % 2 == 0;
    for (PlanNode& node : plan.nodes) node.cacheable = is_cached;
    CAPTURE(seed);
    each_block_is_missing(plan, ops, 20, is_cached);  // a plan may have two nodes
  }
}

TEST_CASE("one allocation fails in a run with a journal, which then goes on where it was") {
  constexpr u32 steps = 3;
  fixture::AskOnce ask;
  std::atomic<u32> performed{0};
  auto perform = [&performed](Effect& effect) {
    ++performed;
    effect.complete(Value::integer(7));
  };
  fixture::StepOps ops;
  ops.step("ask", ask).effect("ask", perform, InDoubt::Retry);
  const Plan plan = fixture::steps_side_by_side(steps, "ask");
  const std::string expected = fixture::outcome(plan, ops, Value());
  const auto work = [&] {
    JournalMemory memory;
    performed = 0;
    bool has_ended = false;
    for (u32 again = 0; again < 2 && !has_ended; ++again) {
      try {
        const auto pool = Pool::create(3).value();
        const auto journal = Journal::open(memory.open().value(), {"run", "plan", "in"}).value();
        const auto run = Run::create(plan, ops, {.pool = pool.get()}).value();
        if (!run->start(Value(), nullptr, journal.get()).ok()) FAIL("it does not start");
        Result<Value> value = run->finish();
        if (!value.ok() && value.error().id() == "memory.exhausted") continue;
        const std::string outcome = fixture::told(std::move(value));
        if (outcome != expected) FAIL(outcome);
        has_ended = true;
      } catch (const std::bad_alloc&) {
      }
    }
    if (!has_ended) FAIL("it has lacked one allocation, and not ended the second time");
    // Once more those whose results could not be written: they are written together.
    if (performed < steps || performed > 2 * steps) FAIL(performed.load(), " effects");
  };
  CHECK(fixture::without_each_block(work) > 50);
}

TEST_CASE("the n-th allocation fails") {
  auto copy = [](NodeCall& call) -> Status {
    SOMA_ASSIGN(std::string all, value_json(call.input()));
    call.output() = Value::text(std::move(all));
    return {};
  };
  fixture::TestOps ops;
  ops.function("copy", copy);
  const Plan plan = small_plan();
  const std::string expected = fixture::outcome(plan, ops, Value::text("in"));
  CHECK(expected.starts_with("{\"b\":"));
  const auto run_once = [&](Pool* pool, LaunchMode launch) {
    auto run = Run::create(plan, ops, {.pool = pool, .launch = launch}).value();
    for (u32 again = 0; again < 2; ++again) {
      if (!run->start(Value::text("in"), nullptr).ok()) FAIL("it has not ended");
      Result<Value> value = run->finish();
      if (!value.ok() && value.error().id() == "memory.exhausted") throw std::bad_alloc();
      const std::string outcome = fixture::told(std::move(value));
      if (outcome != expected) FAIL(outcome);
    }
  };
  SUBCASE("alone") {
    CHECK(fixture::run_out_of_memory([&] { run_once(nullptr, LaunchMode::Adaptive); }) > 50);
  }
  SUBCASE("with others") {
    for (const LaunchMode launch : {LaunchMode::Adaptive, LaunchMode::Always}) {
      CHECK(fixture::run_out_of_memory([&] {
              const auto pool = Pool::create(3).value();
              run_once(pool.get(), launch);
            }) > 50);
    }
  }
}

TEST_SUITE_END();

}  // namespace soma
