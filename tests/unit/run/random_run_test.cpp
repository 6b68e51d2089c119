// Proves that what a plan yields, value or error, is the same for one thread and for many, however
// they are launched: on random plans of every shape, whose nodes mix what they read and sometimes
// fail.
#include <doctest/doctest.h>

#include "unit/run/random_run.hpp"
#include "unit/run/rendezvous.hpp"
#include "unit/sanitized.hpp"

namespace soma {

using fixture::RandomPlan;

TEST_CASE("many threads yield what one yields") {
  // A number that depends on all that was read, in its order.
  const auto mixed = [](std::string_view id, const Value& read) {
    u64 hash = 14695981039346656037u;
    for (const char letter : std::string(id) + value_json(read).value()) {
      hash = (hash ^ static_cast<u8>(letter)) * 1099511628211u;
    }
    return Value::integer(static_cast<i64>(hash % 10'000));
  };
  // In streams, rows of rows; of anything else some.
  auto mix = [&mixed](NodeCall& call) -> Status {
    const std::string_view id = call.node().id;
    if (call.node().stream_mode == StreamMode::None) {
      call.output() = mixed(id, call.input());
      return {};
    }
    std::vector<Value> rows;
    if (call.input().is(ValueKind::List)) {
      for (const Value& row : call.input().list()) rows.push_back(mixed(id, row));
    } else {
      rows.assign(5, mixed(id, call.input()));
    }
    call.output() = Value::list(std::move(rows));
    return {};
  };
  auto fails = [](NodeCall& call) -> Status {
    return fail(Reason::run_input, "{} read {}", call.path(), value_json(call.input()).value());
  };
  fixture::TestOps ops;
  ops.function("mix", mix).function("fail", fails);
  const auto pool = fixture::pool_of(4);
  u32 failed = 0;
  constexpr u32 plans = fixture::is_sanitized ? 60 : 250;
  for (u32 seed = 0; seed < plans; ++seed) {
    INFO("seed ", seed);
    const Plan plan = RandomPlan(seed).make();
    Plan alone_plan = plan;
    for (PlanNode& node : alone_plan.nodes) node.waits = false;
    const std::string expected = fixture::outcome(alone_plan, ops, Value::integer(seed));
    failed += expected.starts_with("run.");
    for (const LaunchMode launch : {LaunchMode::Adaptive, LaunchMode::Always}) {
      auto run = Run::create(plan, ops, {.pool = pool.get(), .launch = launch}).value();
      for (u32 again = 0; again < 4; ++again) {
        CHECK(run->start(Value::integer(seed), nullptr).ok());
        REQUIRE(fixture::told(run->finish()) == expected);
      }
    }
    // Nodes said to be slow: waves are shared from the first run on, many branches at a time.
    Plan slow = plan;
    for (PlanNode& node : slow.nodes) node.edit().cost_us = 1000;
    for (u32 again = 0; again < 4; ++again) {
      REQUIRE(fixture::outcome(slow, ops, Value::integer(seed), {.pool = pool.get()}) == expected);
    }
  }
  // Both happen often.
  CHECK(failed > plans / 20);
  CHECK(failed < plans - plans / 20);
}

}  // namespace soma
