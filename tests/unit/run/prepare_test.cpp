// Proves that states are prepared before the code of their nodes, seen by it and by its vjp, and
// cached in the modes that cache them.
#include <doctest/doctest.h>

#include "cache/cache.hpp"
#include "unit/run/gradient_ops.hpp"

namespace soma {

namespace {

// An op that counts what is called of it. Its state is the double of what it reads and its setting
// "add", after what the node declares; it yields the sum of state and input.
class PreparedOps : public fixture::GradientOps {
 public:
  PreparedOps() {
    op("work", work, work_gradient, this);
    REQUIRE(add_prepare("work", 0, prepare, this, nullptr).ok());
  }
  u32 prepared = 0, worked = 0;
  bool fails = false, is_opaque = false;

  std::string calls() {
    return text("{} prepared, {} worked", std::exchange(prepared, 0), std::exchange(worked, 0));
  }

 private:
  static Status prepare(void* user, NodeCall& call) {
    auto& self = *static_cast<PreparedOps*>(user);
    ++self.prepared;
    if (self.fails) return fail(Reason::run_input, "no state");
    CHECK((call.state().is_null() ? 0 : call.state().bytes().size()) == call.node().state().size());
    const Value* more = call.node().config().is_null() ? nullptr : call.node().config().find("add");
    const i64 state = 2 * call.input().integer() + (more ? more->integer() : 0);
    call.output() = Value::list({Value::integer(state)});
    if (self.is_opaque) {
      call.output() = Value::list({Value::integer(state), Value::opaque(&self, nullptr)});
    }
    return {};
  }
  static Status work(void* user, NodeCall& call) {
    ++static_cast<PreparedOps*>(user)->worked;
    CHECK(call.output().is_null());
    call.output() = Value::integer(call.state().list()[0].integer() + call.input().integer());
    return {};
  }
  static Status work_gradient(void*, GradientCall& call) {
    call.output() = Value::integer(call.state().list()[0].integer() * call.gradient().integer());
    return {};
  }
};

Plan plan_of(PlanMode mode, bool is_cacheable = true) {
  fixture::PlanBuilder builder;
  builder.loop("loop", 2, "", "work").execute("work").close();
  Plan plan = fixture::with_gradients(builder, mode);
  plan.nodes[1].cacheable = is_cacheable;
  return plan;
}

std::string executed(const Plan& plan, const Ops& ops, Cache* cache, i64 input = 1) {
  return fixture::outcome(plan, ops, Value::integer(input), {.cache = cache});
}

}  // namespace

TEST_CASE("a state is made of what the node reads, each time, and seen by its code") {
  PreparedOps ops;
  for (const PlanMode mode : {PlanMode::Inference, PlanMode::NoCache, PlanMode::Differentiable}) {
    CHECK(executed(plan_of(mode), ops, nullptr) == "9");  // 1 → 3 → 9
    CHECK(ops.calls() == "2 prepared, 2 worked");
  }
  Plan plan = plan_of(PlanMode::Inference);
  plan.nodes[1].edit().state = {1, 2, 3};
  plan.nodes[1].edit().config = fixture::value_from(R"({"add":10})");
  CHECK(executed(plan, ops, nullptr) == "49");            // 1 → 13 → 49
}

TEST_CASE("a vjp sees the state of its pass") {
  PreparedOps ops;
  CHECK(fixture::traced(plan_of(PlanMode::Differentiable), ops, Value::integer(1),
                        Value::integer(1))
            .gradient == "12");  // 2·3 in the second pass, 2·1 in the first
}

TEST_CASE("inference caches values and states, differentiable states, no_cache nothing") {
  PreparedOps ops;
  const auto cache = std::make_unique<Cache>(CacheLimits());
  CHECK(executed(plan_of(PlanMode::Differentiable), ops, cache.get()) == "9");
  CHECK(ops.calls() == "2 prepared, 2 worked");
  CHECK(executed(plan_of(PlanMode::Differentiable), ops, cache.get()) == "9");
  CHECK(ops.calls() == "0 prepared, 2 worked");
  CHECK(executed(plan_of(PlanMode::NoCache), ops, cache.get()) == "9");
  CHECK(ops.calls() == "2 prepared, 2 worked");
  // Its states are there, its values not yet.
  CHECK(executed(plan_of(PlanMode::Inference), ops, cache.get()) == "9");
  CHECK(ops.calls() == "0 prepared, 2 worked");
  CHECK(executed(plan_of(PlanMode::Inference), ops, cache.get()) == "9");
  CHECK(ops.calls() == "0 prepared, 0 worked");
  // Another input, another declared state, other settings, another version: another state.
  CHECK(executed(plan_of(PlanMode::Differentiable), ops, cache.get(), 2) == "18");
  CHECK(ops.calls() == "2 prepared, 2 worked");
  Plan other = plan_of(PlanMode::Differentiable);
  other.nodes[1].edit().state = {1};
  CHECK(executed(other, ops, cache.get()) == "9");
  CHECK(ops.calls() == "2 prepared, 2 worked");
  other.nodes[1].edit().config = fixture::value_from(R"({"add":1})");
  CHECK(executed(other, ops, cache.get()) == "13");
  CHECK(ops.calls() == "2 prepared, 2 worked");
  other.nodes[1].op_version = 9;
  CHECK(executed(other, ops, cache.get()) == "13");
  CHECK(ops.calls() == "2 prepared, 2 worked");
}

TEST_CASE("what is not cacheable, not deterministic or opaque is not kept") {
  PreparedOps ops;
  const auto cache = std::make_unique<Cache>(CacheLimits());
  Plan plan = plan_of(PlanMode::Differentiable, false);
  for (u32 again = 0; again < 2; ++again) {
    CHECK(executed(plan, ops, cache.get()) == "9");
    CHECK(ops.calls() == "2 prepared, 2 worked");
  }
  plan.nodes[1].cacheable = true;
  ops.is_opaque = true;
  for (u32 again = 0; again < 2; ++again) {
    CHECK(executed(plan, ops, cache.get()) == "9");
    CHECK(ops.calls() == "2 prepared, 2 worked");
  }
  plan.nodes[1].deterministic = false;
  ops.is_opaque = false;
  for (u32 again = 0; again < 2; ++again) {
    CHECK(executed(plan, ops, cache.get()) == "9");
    CHECK(ops.calls() == "2 prepared, 2 worked");
  }
}

TEST_CASE("preparing that fails fails the node") {
  PreparedOps ops;
  ops.fails = true;
  CHECK(executed(plan_of(PlanMode::Inference), ops, nullptr) ==
        "run.node_failed: node 'loop[1]/work' failed: no state (run.input)");
  CHECK(ops.calls() == "1 prepared, 0 worked");
}

TEST_CASE("an op prepares in one way") {
  PreparedOps ops;
  const Forward same = fixture::GradientOps::same;
  CHECK(ops.add_prepare("work", 0, same, nullptr, nullptr).error().id() == "ops.duplicate");
  CHECK(ops.add_prepare("work", 1, same, nullptr, nullptr).error().message() ==
        "there is no op 'work' of version 1, but of version 0: add it before its prepare");
}

}  // namespace soma
