// Proves gradients on random plans of every shape against another way to compute them, on one
// thread and on many; that plans nest as deep as they like; and what becomes of memory that is
// short.
//
// The other way is forwards, and knows nothing of tapes: the same plan runs on pairs, each a number
// and how fast it changes with one number of the input. Nodes compute polynomials of all numbers
// that they read, modulo a prime, so both ways are exact.
#include <doctest/doctest.h>

#include "unit/base/failing_memory.hpp"
#include "unit/run/gradient_ops.hpp"
#include "unit/run/random_run.hpp"
#include "unit/run/rendezvous.hpp"
#include "unit/sanitized.hpp"

namespace soma {

namespace {

constexpr i64 prime = 10007;

i64 modulo(i64 number) { return (number % prime + prime) % prime; }

// The value, with use(number) in place of each number (in duals: of each list, a pair).
template <typename Use>
Value map_numbers(const Value& value, const Use& use) {
  if (value.is(ValueKind::Integer) || value.is(ValueKind::List)) return use(value);
  if (!value.is(ValueKind::Map)) return Value();
  std::vector<Member> members;
  for (const Member& member : value.map()) {
    members.push_back({member.key, map_numbers(member.value, use)});
  }
  return Value::map(std::move(members));
}

std::vector<Value> numbers_of(const Value& value) {
  std::vector<Value> numbers;
  map_numbers(value, [&numbers](const Value& number) {
    numbers.push_back(number);
    return Value();
  });
  return numbers;
}

// One of the polynomials c + Σ c_i·x_i + x_i·x_{i+1}, where c depends on the node and the output.
class Polynomial {
 public:
  Polynomial(const PlanNode& node, size_t output) : seed_(7 * output + 1) {
    for (const char letter : node.id.str()) seed_ = seed_ * 31 + static_cast<u8>(letter);
  }
  i64 at(std::span<const i64> x) const {
    i64 sum = coefficient(0);
    for (size_t i = 0; i < x.size(); ++i) {
      sum += coefficient(i + 1) * x[i] + (i + 1 < x.size() ? x[i] * x[i + 1] : 0);
    }
    return modulo(sum);
  }
  // By the i-th.
  i64 slope(std::span<const i64> x, size_t i) const {
    const i64 before = i > 0 ? x[i - 1] : 0, behind = i + 1 < x.size() ? x[i + 1] : 0;
    return modulo(coefficient(i + 1) + before + behind);
  }

 private:
  i64 coefficient(size_t i) const { return static_cast<i64>((seed_ + 13 * i) % 97); }
  u64 seed_;
};

// What a node yields: each of its outputs, or one value.
template <typename Compute>
Value outputs_of(const PlanNode& node, const Compute& compute) {
  if (node.outputs().empty()) return compute(Polynomial(node, 0));
  std::vector<Member> members;
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    members.push_back({node.outputs()[i].name, compute(Polynomial(node, i))});
  }
  return Value::map(std::move(members));
}

std::vector<i64> integers(std::span<const Value> numbers) {
  std::vector<i64> out;
  for (const Value& number : numbers) out.push_back(number.integer());
  return out;
}

Status forward(void*, NodeCall& call) {
  const std::vector<i64> x = integers(numbers_of(call.input()));
  call.output() = outputs_of(call.node(), [&x](const Polynomial& polynomial) {
    return Value::integer(polynomial.at(x));
  });
  return {};
}

Status vjp(void*, GradientCall& call) {
  const std::vector<i64> x = integers(numbers_of(call.input()));
  size_t i = 0;
  call.output() = map_numbers(call.input(), [&](const Value&) {
    i64 sum = 0;
    if (call.node().outputs().empty()) {
      sum = Polynomial(call.node(), 0).slope(x, i) * call.gradient().integer();
    }
    for (size_t k = 0; k < call.node().outputs().size(); ++k) {
      const Value* gradient = call.gradient().find(call.node().outputs()[k].name);
      if (gradient) sum += Polynomial(call.node(), k).slope(x, i) * modulo(gradient->integer());
    }
    ++i;
    return Value::integer(modulo(sum));
  });
  // What read nothing may still say something.
  if (call.input().is_null()) call.output() = Value::integer(1);
  return {};
}

// The same on pairs; what is not differentiable does not change.
Status forward_of_pairs(void*, NodeCall& call) {
  std::vector<i64> x, speed;
  for (const Value& pair : numbers_of(call.input())) {
    x.push_back(pair.list()[0].integer());
    speed.push_back(call.node().differentiable ? pair.list()[1].integer() : 0);
  }
  call.output() = outputs_of(call.node(), [&](const Polynomial& polynomial) {
    i64 sum = 0;
    for (size_t i = 0; i < x.size(); ++i) sum += polynomial.slope(x, i) * speed[i];
    return Value::list({Value::integer(polynomial.at(x)), Value::integer(modulo(sum))});
  });
  return {};
}

// Nothing runs in chunks, of which no tape is kept: a stream becomes a Composite, or its one node.
void remove_streams(Plan& plan) {
  std::vector<PlanItem> items;
  std::vector<u32> kept_before;   // by item
  for (u32 at = 0; at < plan.items.size(); ++at) {
    PlanItem item = plan.items[at];
    kept_before.push_back(static_cast<u32>(items.size()));
    if (item.variant == Variant::Stream && item.end == at + 2) continue;
    if (item.variant == Variant::Stream) item = {Variant::Composite, no_node, item.end, 0};
    items.push_back(item);
  }
  kept_before.push_back(static_cast<u32>(items.size()));
  for (PlanItem& item : items) item.end = kept_before[item.end];
  plan.items = std::move(items);
}

// A random plan: some nodes are not differentiable, some stand for subgraphs, some have two outputs
// that readers name.
Plan random_plan(u32 seed) {
  Plan plan = fixture::RandomPlan(seed).make();
  remove_streams(plan);
  std::mt19937 random(seed);
  const auto below = [&random](u32 bound) { return static_cast<u32>(random() % bound); };
  std::vector<bool> decides(plan.nodes.size());
  for (const PlanItem& item : plan.items) {
    if (item.variant == Variant::Branch) decides[item.node] = true;
  }
  plan.mode = PlanMode::Differentiable;
  plan.names.insert(plan.names.end(), {"a", "b"});
  const u32 first_name = static_cast<u32>(plan.names.size()) - 2;
  std::vector<bool> has_two(plan.nodes.size());
  for (u32 i = 0; i < plan.nodes.size(); ++i) {
    PlanNode& node = plan.nodes[i];
    node.op = "poly";
    node.differentiable = below(8) != 0;
    node.waits = false;
    if (decides[i] || node.kind == NodeKind::Loop) continue;
    const u32 choice = below(10);
    if (choice == 0) node.kind = NodeKind::Subgraph;
    if (choice != 1) continue;
    has_two[i] = true;
    node.edit().outputs.resize(2);
    for (u32 k = 0; k < 2; ++k) node.edit().outputs[k].name = plan.names[first_name + k];
  }
  for (Source& source : plan.sources) {
    if (has_two[source.node] && below(3) != 0) source.output = first_name + below(2);
  }
  REQUIRE(plan.verify().ok());
  return plan;
}

// Of the run's value a gradient of its shape, random; some parts are missing.
Value random_gradient(const Value& value, std::mt19937& random) {
  return map_numbers(value, [&random](const Value&) {
    return Value::integer(static_cast<i64>(random() % prime));
  });
}

i64 product_sum(const Value& pairs, const Value& gradient) {
  const std::vector<Value> speeds = numbers_of(pairs), factors = numbers_of(gradient);
  REQUIRE(speeds.size() == factors.size());
  i64 sum = 0;
  for (size_t i = 0; i < speeds.size(); ++i) {
    sum += speeds[i].list()[1].integer() * factors[i].integer();
  }
  return modulo(sum);
}

Value executed(Run& run, Value input) {
  REQUIRE(run.start(std::move(input), nullptr).ok());
  return run.finish().value();
}

// How the gradient's product with the value changes with each of the input's two numbers.
std::vector<i64> expected_slopes(const Plan& plan, std::array<i64, 2> input,
                                 const Value& gradient) {
  Plan of_pairs = plan;
  for (std::vector<Arm>& arms : of_pairs.branches) {
    arms.clear();
    for (const std::string_view arm : {"it[0] > 5000", "it[0] > 2000", "else"}) {
      arms.push_back(Arm::parse(arm).value());
    }
  }
  fixture::GradientOps ops;
  ops.op("poly", forward_of_pairs, nullptr);
  const auto run = Run::create(of_pairs, ops, {}).value();
  std::vector<i64> out;
  for (const i64 which : {0, 1}) {
    const auto pair = [&](i64 i) {
      return Value::list({Value::integer(input[static_cast<size_t>(i)]),
                          Value::integer(i == which ? 1 : 0)});
    };
    const Value value = executed(*run, Value::map({{"u", pair(0)}, {"v", pair(1)}}));
    out.push_back(product_sum(value, gradient));
  }
  return out;
}

}  // namespace

TEST_CASE("gradients of random plans are what the other way yields") {
  fixture::GradientOps ops;
  ops.op("poly", forward, vjp);
  const auto pool = fixture::pool_of(4);
  constexpr u32 plans = fixture::is_sanitized ? 60 : 300;
  u32 changing = 0, decided = 0;
  for (u32 seed = 0; seed < plans; ++seed) {
    INFO("seed ", seed);
    const Plan plan = random_plan(seed);
    const bool keeps_tape = std::ranges::any_of(plan.nodes, [](const PlanNode& node) {
      return node.differentiable && node.kind == NodeKind::Function;
    });
    if (!keeps_tape) continue;
    Plan slow = plan;             // its waves are shared from the first run on
    for (PlanNode& node : slow.nodes) node.edit().cost_us = 1000;
    const std::array<i64, 2> x = {i64{seed} + 2, 3 * i64{seed} + 5};
    const Value input = Value::map({{"u", Value::integer(x[0])}, {"v", Value::integer(x[1])}});
    std::mt19937 random(seed);
    std::vector<std::unique_ptr<Run>> runs;
    runs.push_back(Run::create(plan, ops, {}).value());
    runs.push_back(Run::create(slow, ops, {.pool = pool.get()}).value());
    runs.push_back(
        Run::create(slow, ops, {.pool = pool.get(), .launch = LaunchMode::Always}).value());
    const Value gradient = random_gradient(executed(*runs[0], input), random);
    const std::vector<i64> expected = expected_slopes(plan, x, gradient);
    for (const std::unique_ptr<Run>& run : runs) {
      for (u32 again = 0; again < 2; ++again) {
        executed(*run, input);
        const Result<Value> slopes = run->backward(gradient, nullptr);
        if (!slopes.ok()) FAIL(fixture::told(slopes.error()));
        for (size_t i = 0; i < 2; ++i) {
          const bool is_map = slopes->is(ValueKind::Map);
          const Value* slope = is_map ? slopes->find(i == 0 ? "u" : "v") : nullptr;
          REQUIRE(modulo(slope && !slope->is_null() ? slope->integer() : 0) == expected[i]);
        }
      }
    }
    changing += expected[0] != 0 || expected[1] != 0;
    decided += !plan.branches.empty();
  }
  CHECK(changing > plans / 2);
  CHECK(decided > plans / 4);
}

// ---- Sizes

namespace {

constexpr u32 many = fixture::is_sanitized ? 5'000 : 100'000;

// Of a plan of ops that hand on what they read, and its gradient from 1.
std::string traced_alone(const Plan& plan, Value input = Value::integer(3)) {
  const fixture::GradientOps ops;
  return fixture::traced(plan, ops, std::move(input), Value::integer(1)).gradient;
}

}  // namespace

TEST_CASE("a hundred thousand loops within each other") {
  fixture::PlanBuilder builder;
  for (u32 i = 0; i < many; ++i) {
    builder.loop(text("loop{}", i), 1, "", i + 1 < many ? text("loop{}", i + 1) : "square");
    builder.open(Variant::Sequence).execute(text("same{}", i));
  }
  builder.execute("square");
  for (u32 i = 0; i < many; ++i) builder.close().close();
  CHECK(traced_alone(fixture::with_gradients(builder)) == "6");
}

TEST_CASE("a hundred thousand arms within each other") {
  fixture::PlanBuilder builder;
  builder.open(Variant::Sequence).execute("same0");
  for (u32 i = 1; i <= many; ++i) {
    builder.branch(text("same{}", i - 1), {"it > 0"});
    builder.open(Variant::Sequence).execute(text("same{}", i));
  }
  for (u32 i = 0; i < many; ++i) builder.close().close();
  builder.close().leaves({text("same{}", many)});
  CHECK(traced_alone(fixture::with_gradients(builder)) == "1");
}

TEST_CASE("a hundred thousand passes, readers, and values that one node reads") {
  fixture::PlanBuilder passes;
  passes.loop("loop", many, "", "add").execute("add").close();
  CHECK(traced_alone(fixture::with_gradients(passes)) == "1");

  fixture::PlanBuilder fan;
  std::vector<std::string> ids;
  fan.open(Variant::Sequence).execute("square").open(Variant::Parallel);
  for (u32 i = 0; i < many; ++i) {
    ids.push_back(text("same{}", i));
    fan.execute(ids.back(), {"square"});
  }
  fan.close().execute("sum", ids).close();
  CHECK(traced_alone(fixture::with_gradients(fan)) == text("{}", 6 * many));
}

// ---- Memory

TEST_SUITE_BEGIN("own new");

TEST_CASE("the n-th allocation of a walk back fails, and the tape is still there") {
  fixture::PlanBuilder builder;
  builder.open(Variant::Sequence).execute("double").loop("loop", 2, "", "times", {"double.a"});
  builder.open(Variant::Sequence).open(Variant::Parallel).execute("square").execute("same");
  builder.close().execute("times", {"square", "same"}).close().close();
  builder.execute("same2", {"loop"}).branch("same2", {"it > 7", "else"});
  builder.execute("add").execute("square2").close();
  builder.execute("sum", {"add", "square2", "double.b:b"}).close().leaves({"sum"});
  const Plan plan = fixture::with_gradients(builder);
  const auto backward = [](Run& run) {
    Result<Value> gradient = run.backward(Value::integer(1), nullptr);
    if (!gradient.ok() && gradient.error().id() == "memory.exhausted") throw std::bad_alloc();
    return fixture::told(std::move(gradient));
  };
  const fixture::GradientOps ops;
  const int failures = fixture::run_out_of_memory([&] {
    const auto run = Run::create(plan, ops, {}).value();
    if (!run->start(Value::integer(2), nullptr).ok()) FAIL("it has not ended");
    Result<Value> value = run->finish();
    if (!value.ok()) throw std::bad_alloc();
    try {
      if (backward(*run) != "2305") FAIL("another gradient");  // 9·x^8 + 1
    } catch (const std::bad_alloc&) {
      const MemoryScope plenty(nullptr);
      if (backward(*run) != "2305") FAIL("another gradient");
      throw;
    }
  });
  CHECK(failures > 50);
}

TEST_SUITE_END();

}  // namespace soma
