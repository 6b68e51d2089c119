// Proves that a run which gets no more memory says so, and leaves nothing behind: at each
// allocation, alone and with other threads.
#include <doctest/doctest.h>

#include "unit/base/failing_memory.hpp"
#include "unit/plan/plan_builder.hpp"
#include "unit/run/run_text.hpp"

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

}  // namespace

TEST_SUITE_BEGIN("own new");

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
