// Proves that a hundred thousand waves within each other, and as many strands that wait at once,
// are run, stopped and failed in time: whatever goes through a list for each of them shows here.
#include <doctest/doctest.h>

#include "run/step_run.hpp"
#include "unit/plan/plan_builder.hpp"
#include "unit/run/rendezvous.hpp"
#include "unit/sanitized.hpp"

namespace soma {

namespace {

constexpr u32 depth = fixture::is_sanitized ? 5'000 : 100'000;

// Sequence [n0, Parallel [leaf0, Sequence [n1, Parallel [leaf1, … Sequence [n<depth>]]]]], or with
// each leaf behind the sequence.
Plan nest(bool leaf_first) {
  Plan plan;
  ItemWriter items;
  const auto add = [&](u32 number, std::string_view prefix) {
    PlanNode& node = plan.nodes.emplace_back();
    node.id = text("{}{}", prefix, number);
    node.op = prefix;
    items.leaf(Variant::Execute, static_cast<u32>(plan.nodes.size() - 1));
  };
  for (u32 i = 0; i < depth; ++i) {
    items.open(Variant::Sequence);
    add(i, "n");
    items.open(Variant::Parallel);
    if (leaf_first) add(i, "leaf");
  }
  items.open(Variant::Sequence);
  add(depth, "n");
  plan.nodes.back().op = "last";
  const u32 last = static_cast<u32>(plan.nodes.size() - 1);
  add(depth + 1, "n");
  items.close();
  for (u32 i = depth; i-- > 0;) {
    if (!leaf_first) add(i, "leaf");
    items.close();
    items.close();
  }
  plan.items = std::move(items).take();
  plan.leaves = {last};
  return plan;
}

struct Nothing {
  Status operator()(NodeCall&) const { return {}; }
} nothing;

struct Yield {
  Status operator()(NodeCall& call) const {
    call.output() = call.input();
    return {};
  }
} yield;

struct Fail {
  Status operator()(NodeCall& call) const {
    return fail(Reason::callback_failed, "{} fails", call.node().id.view());
  }
} fails;

constexpr LaunchMode modes[] = {LaunchMode::Adaptive, LaunchMode::Always};

}  // namespace

TEST_CASE("a hundred thousand waves within each other") {
  fixture::TestOps ops;
  ops.function("n", nothing).function("leaf", nothing).function("last", yield);
  for (const bool leaf_first : {true, false}) {
    const Plan plan = nest(leaf_first);
    const auto pool = fixture::pool_of(leaf_first ? 2 : 4);
    for (const LaunchMode launch : modes) {
      CHECK(fixture::outcome(plan, ops, Value::integer(7),
                             {.pool = pool.get(), .launch = launch}) == "7");
    }
  }
}

TEST_CASE("the innermost of a hundred thousand waves fails") {
  fixture::TestOps ops;
  ops.function("n", nothing).function("leaf", nothing).function("last", fails);
  for (const bool leaf_first : {true, false}) {
    const Plan plan = nest(leaf_first);
    const auto pool = fixture::pool_of(2);
    for (const LaunchMode launch : modes) {
      const std::string outcome = fixture::outcome(plan, ops, Value::integer(7),
                                                   {.pool = pool.get(), .launch = launch});
      CHECK(outcome.starts_with("run.node_failed"));
      CHECK(outcome.find(text("n{} fails", depth)) != outcome.npos);
    }
  }
}

// The first leaf waits for the innermost node and fails; that one goes on until it is told to stop.
TEST_CASE("a hundred thousand waves are stopped from outside") {
  const Plan plan = nest(true);
  for (const LaunchMode launch : modes) {
    fixture::Signal is_inside;
    auto leaf = [&](NodeCall& call) -> Status {
      if (call.node().id != "leaf0") return {};
      is_inside.wait();
      return fail(Reason::callback_failed, "enough");
    };
    auto last = [&](NodeCall& call) -> Status {
      is_inside.set();
      while (call.check().ok()) std::this_thread::yield();
      return {};
    };
    fixture::TestOps ops;
    ops.function("n", nothing).function("leaf", leaf).function("last", last);
    const auto pool = fixture::pool_of(3);
    const std::string outcome =
        fixture::outcome(plan, ops, Value(), {.pool = pool.get(), .launch = launch});
    CHECK(outcome == "run.node_failed: node 'leaf0' failed: enough (callback.failed)");
  }
}

// ---- Steps, which park their strands

namespace {

struct AskTwice {
  Status operator()(StepCall& call) const {
    if (call.turn() < 2) {
      call.await({{"ask", Value()}});
    } else {
      call.done(Value::integer(1));
    }
    return {};
  }
} ask_twice;

// Holds the effects of each turn until all have asked, then ends them.
class Desk {
 public:
  Desk(u32 first, u32 second) : wanted_{first, second} {}
  void operator()(Effect& effect) {
    std::vector<Effect*> all;
    {
      const std::lock_guard lock(mutex_);
      effect.retain();
      held_.push_back(&effect);
      if (held_.size() < wanted_[turn_ % 2]) return;
      ++turn_;
      all = std::exchange(held_, {});
    }
    for (Effect* one : all) {
      one->complete(Value());
      one->release();
    }
  }

 private:
  const u32 wanted_[2];
  std::mutex mutex_;
  std::vector<Effect*> held_;
  u32 turn_ = 0;
};

void add_steps(fixture::TestOps& ops, Desk& desk) {
  NodeOp op;
  op.name = "ask";
  op.poll = [](void*, StepCall& call) { return ask_twice(call); };
  CHECK(ops.add(std::move(op)).ok());
  EffectHandler handler;
  handler.name = "ask";
  handler.user = &desk;
  handler.perform = [](void* user, Effect& effect) { (*static_cast<Desk*>(user))(effect); };
  CHECK(ops.add(std::move(handler)).ok());
}

}  // namespace

TEST_CASE("a hundred thousand steps wait side by side") {
  fixture::PlanBuilder builder;
  builder.open(Variant::Parallel);
  for (u32 i = 0; i < depth; ++i) {
    builder.step(text("s{}", i), {});
    builder.node().op = "ask";
    builder.close();
  }
  builder.close();
  Plan plan = builder.take();
  plan.leaves = {0};
  for (const i32 threads : {1, 2}) {
    const auto pool = fixture::pool_of(threads);
    Desk desk(depth, depth);
    fixture::TestOps ops;
    add_steps(ops, desk);
    auto run = Run::create(plan, ops, {.pool = pool.get()}).value();
    for (u32 again = 0; again < 2; ++again) {
      CHECK(run->start(Value(), nullptr).ok());
      CHECK(fixture::told(run->finish()) == "1");
    }
  }
}

TEST_CASE("a step waits in each of ten thousand waves within each other") {
  constexpr u32 waves = depth / 10;
  fixture::PlanBuilder builder;
  for (u32 i = 0; i < waves; ++i) {
    builder.open(Variant::Parallel);
    builder.step(text("s{}", i), {});
    builder.node().op = "ask";
    builder.close();
    builder.open(Variant::Sequence);
    builder.execute(text("n{}", i));
    builder.node().op = "n";
  }
  builder.execute("last");
  builder.node().op = "last";
  for (u32 i = 0; i < waves; ++i) builder.close().close();
  const Plan plan = builder.take();
  for (const i32 threads : {1, 2}) {
    const auto pool = fixture::pool_of(threads);
    Desk desk(waves, waves);
    fixture::TestOps ops;
    ops.function("n", nothing).function("last", yield);
    add_steps(ops, desk);
    auto run = Run::create(plan, ops, {.pool = pool.get()}).value();
    CHECK(run->start(Value::integer(7), nullptr).ok());
    CHECK(run->finish().ok());
  }
}

}  // namespace soma
