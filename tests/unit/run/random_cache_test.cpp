// Proves that random plans of every shape yield the same with a cache as without one, value or
// error, cold and warm, on one thread and on many, for several runs at once.
#include <doctest/doctest.h>

#include <set>

#include "cache/cache.hpp"
#include "unit/run/random_run.hpp"
#include "unit/run/rendezvous.hpp"
#include "unit/sanitized.hpp"

namespace soma {

namespace {

// A number that depends on the node's settings and on all that was read, in its order.
class Mix {
 public:
  Status operator()(NodeCall& call) {
    if (call.node().cacheable && call.node().deterministic) ++kept_calls_;
    const Result<std::string> read = value_json(call.input());
    u64 hash = 14695981039346656037u;
    for (const char letter : call.node().config().find("n")->text() + *read) {
      hash = (hash ^ static_cast<u8>(letter)) * 1099511628211u;
    }
    call.output() = Value::integer(static_cast<i64>(hash % 10'000));
    return {};
  }
  u64 take_kept_calls() { return kept_calls_.exchange(0); }

 private:
  std::atomic<u64> kept_calls_{0};
};

Status fail_at_once(NodeCall& call) {
  return fail(Reason::run_input, "{} read {}", call.path(), value_json(call.input()).value());
}

void rename(PlanNode& node, const std::string& name) {
  node.edit().config = Value::map({{"n", Value::text(name)}});
}

Plan random_plan(u32 seed) {
  Plan plan = fixture::RandomPlan(seed).make();
  std::minstd_rand random(seed + 1);
  for (PlanNode& node : plan.nodes) {
    rename(node, text("{}", random() % (2 * plan.nodes.size())));  // some are twins
    node.waits = false;
    node.cacheable = random() % 3 != 0 && node.stream_mode != StreamMode::Stateful;
    node.deterministic = random() % 12 != 0;
  }
  return plan;
}

}  // namespace

TEST_CASE("random plans yield the same with a cache, cold and warm, whatever changes in between") {
  Mix mix;
  auto fails = fail_at_once;
  fixture::TestOps ops;
  ops.function("mix", mix).function("fail", fails);
  const auto pool = fixture::pool_of(4);
  u64 hits = 0, skipped = 0, failed = 0;
  constexpr u32 plans = fixture::is_sanitized ? 40 : 250;
  for (u32 seed = 0; seed < plans; ++seed) {
    INFO("seed ", seed);
    Plan plan = random_plan(seed);
    Cache cache({});
    for (u32 change = 0; change < 4; ++change) {
      const Value input = Value::integer(seed + (change == 1 ? 1 : 0));
      if (change > 1) rename(plan.nodes[plan.nodes.size() / change], text("new {}", change));
      const std::string expected = fixture::outcome(plan, ops, input);
      const bool is_value = !expected.starts_with("run.");
      failed += is_value ? 0 : 1;
      RunOptions options;
      options.cache = &cache;
      REQUIRE(fixture::outcome(plan, ops, input, options) == expected);
      mix.take_kept_calls();
      REQUIRE(fixture::outcome(plan, ops, input, options) == expected);
      if (is_value) REQUIRE(mix.take_kept_calls() == 0);
      options.pool = pool.get();
      options.launch = LaunchMode::Always;
      REQUIRE(fixture::outcome(plan, ops, input, options) == expected);
      if (is_value) REQUIRE(mix.take_kept_calls() == 0);
    }
    CHECK(cache.counts().failed_writes == 0);
    hits += cache.counts().hits;
    skipped += cache.counts().skipped;
  }
  CHECK(hits > 10 * plans);
  CHECK(skipped > plans);
  CHECK(failed > plans / 10);
}

TEST_CASE("several runs share one small cache at once, each on several threads") {
  Mix mix;
  auto fails = fail_at_once;
  fixture::TestOps ops;
  ops.function("mix", mix).function("fail", fails);
  const auto pool = fixture::pool_of(4);
  constexpr u32 plans = fixture::is_sanitized ? 10 : 60;
  Cache cache({.memory_bytes = 30'000, .disk_bytes = 0});  // always too small for all of them
  for (u32 seed = 0; seed < plans; ++seed) {
    INFO("seed ", seed);
    const Plan plan = random_plan(1000 + seed);
    const std::string expected = fixture::outcome(plan, ops, Value::integer(seed));
    std::atomic<u32> wrong{0};
    std::vector<std::thread> threads;
    for (u32 t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        RunOptions options;
        options.cache = &cache;
        options.pool = pool.get();
        options.launch = LaunchMode::Always;
        auto run = Run::create(plan, ops, options).value();
        for (u32 again = 0; again < 4; ++again) {
          const bool started = run->start(Value::integer(seed), nullptr).ok();
          if (!started || fixture::told(run->finish()) != expected) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    REQUIRE(wrong == 0);
  }
  CHECK(cache.counts().hits > 0);
}

}  // namespace soma
