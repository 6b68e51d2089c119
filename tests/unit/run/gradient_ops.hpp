// Ops with gradients for tests, and plans of nodes that are named after them.
#pragma once

#include <doctest/doctest.h>

#include "run/gradient_call.hpp"
#include "run/numbers.hpp"
#include "unit/plan/plan_builder.hpp"
#include "unit/run/run_text.hpp"

namespace soma::fixture {

// The built-in ops, and on integers:
//   square
//   times     the product of a map's members
//   double    what it reads, twice, as a map: {"a": x, "b": x}
//   choose    {"branch": "odd" or "even", "value": x}
//   bare      x + 1, without a vjp
//   fails     x, with a vjp that fails unless `is_repaired`
//   throws    x, with a vjp that throws
class GradientOps : public TestOps {
 public:
  GradientOps() {
    op("square", square, square_gradient);
    op("times", times, times_gradient);
    op("double", twice, twice_gradient);
    op("choose", choose, choose_gradient);
    op("bare", bare, nullptr);
    op("fails", same, fail_gradient, this);
    op("throws", same, throw_gradient);
  }

  bool is_repaired = false;

  void op(std::string_view name, Forward forward, Vjp vjp, void* user = nullptr) {
    NodeOp made;
    made.name = name;
    made.forward = forward;
    made.user = user;
    REQUIRE(add(std::move(made)).ok());
    if (vjp) REQUIRE(add_vjp(name, 0, vjp, user, nullptr).ok());
  }

  static Status same(void*, NodeCall& call) {
    call.output() = call.input();
    return {};
  }

 private:
  static Status square(void*, NodeCall& call) {
    call.output() = Value::integer(call.input().integer() * call.input().integer());
    return {};
  }
  static Status square_gradient(void*, GradientCall& call) {
    const i64 x = call.input().integer();
    CHECK(call.yielded() == Value::integer(x * x));
    call.output() = Value::integer(2 * x * call.gradient().integer());
    return {};
  }
  static Status times(void*, NodeCall& call) {
    i64 product = 1;
    for (const Member& member : call.input().map()) product *= member.value.integer();
    call.output() = Value::integer(product);
    return {};
  }
  static Status times_gradient(void*, GradientCall& call) {
    std::vector<Member> members;
    for (const Member& member : call.input().map()) {
      i64 others = call.gradient().integer();
      for (const Member& other : call.input().map()) {
        if (&other != &member) others *= other.value.integer();
      }
      members.push_back({member.key, Value::integer(others)});
    }
    call.output() = Value::map(std::move(members));
    return {};
  }
  static Status twice(void*, NodeCall& call) {
    call.output() = Value::map({{"a", call.input()}, {"b", call.input()}});
    return {};
  }
  static Status twice_gradient(void*, GradientCall& call) {
    i64 sum = 0;
    for (const Member& member : call.gradient().map()) sum += member.value.integer();
    call.output() = Value::integer(sum);
    return {};
  }
  static Status choose(void*, NodeCall& call) {
    const bool is_odd = call.input().integer() % 2 != 0;
    call.output() =
        Value::map({{"branch", Value::text(is_odd ? "odd" : "even")}, {"value", call.input()}});
    return {};
  }
  static Status choose_gradient(void*, GradientCall& call) {
    CHECK(call.gradient().map().size() == 1);
    call.output() = *call.gradient().find("value");
    return {};
  }
  static Status bare(void*, NodeCall& call) {
    call.output() = Value::integer(call.input().integer() + 1);
    return {};
  }
  static Status fail_gradient(void* self, GradientCall& call) {
    if (!static_cast<GradientOps*>(self)->is_repaired) {
      return fail(Reason::run_input, "not today");
    }
    call.output() = call.gradient();
    return {};
  }
  static Status throw_gradient(void*, GradientCall&) { throw std::runtime_error("thrown"); }
};

// Nodes named square, square2, … have the op of that name; sum, add, same and get are the built-in
// ones (add: 1; get: "a"), cut is a square that is not declared as differentiable. Nodes named map
// stand for subgraphs.
inline Plan with_gradients(PlanBuilder& builder, PlanMode mode = PlanMode::Differentiable) {
  Plan plan = builder.take();
  plan.mode = mode;
  for (PlanNode& node : plan.nodes) {
    const std::string_view id = node.id;
    const std::string_view name = id.substr(0, id.find_first_of("0123456789"));
    node.differentiable = name != "cut";
    node.op = name == "sum"    ? "std.sum"
              : name == "add"  ? "std.add"
              : name == "same" ? "std.identity"
              : name == "get"  ? "std.get"
              : name == "cut"  ? "square"
                               : name;
    if (name == "map") node.kind = NodeKind::Subgraph;
    if (name == "add") node.edit().config = value_from(R"({"value":1})");
    if (name == "get") node.edit().config = value_from(R"({"path":"a"})");
    if (name == "double") {
      node.edit().outputs.resize(2);
      node.edit().outputs[0].name = "a";
      node.edit().outputs[1].name = "b";
    }
  }
  const Status verified = plan.verify();
  if (!verified.ok()) FAIL(verified.error().message());
  return plan;
}

// One execution, and then the gradient of its input.
struct Traced {
  std::string value, gradient;
};
inline Traced traced(const Plan& plan, const Ops& ops, Value input, Value gradient,
                     const RunOptions& options = {}) {
  const std::unique_ptr<Run> run = Run::create(plan, ops, options).value();
  REQUIRE(run->start(std::move(input), nullptr).ok());
  std::string value = told(run->finish());
  return {std::move(value), told(run->backward(std::move(gradient), nullptr))};
}

}  // namespace soma::fixture
