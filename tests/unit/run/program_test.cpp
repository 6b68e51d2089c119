// Proves that nodes of kind program find their code by their model, that everything that is wrong
// with them is said at once, and that a cache tells them apart by what their code computes by.
#include <doctest/doctest.h>

#include "base/problems.hpp"
#include "cache/cache.hpp"
#include "run/run.hpp"
#include "unit/run/run_text.hpp"

namespace soma {

namespace {

using namespace fixture;

// The code of a model: yields its word behind what it reads, and knows how often it was asked.
struct Model {
  std::string word;
  std::optional<std::string> identity = word;
  int calls = 0, asked = 0;

  NodeOp op(std::string_view name) {
    NodeOp made;
    made.name = name;
    made.user = this;
    made.forward = [](void* user, NodeCall& call) -> Status {
      auto& model = *static_cast<Model*>(user);
      ++model.calls;
      const Value& input = call.input();
      call.output() = Value::text((input.is(ValueKind::Text) ? input.text() : "") + model.word);
      return {};
    };
    made.identity = [](void* user) -> std::optional<DigestBytes> {
      auto& model = *static_cast<Model*>(user);
      ++model.asked;
      if (!model.identity) return std::nullopt;
      ContentDigest digest;
      digest.feed(*model.identity);
      return digest.bytes();
    };
    return made;
  }
};

Ops& with(Ops& ops, Model& model, std::string_view name = "m") {
  REQUIRE(ops.add_program(model.op(name)).ok());
  return ops;
}

// One program after the other: a reads the run's input, b what a yields.
std::string chain(std::string_view of_a, std::string_view of_b) {
  return text(R"("nodes":[{{"id":"a","kind":"program","model":"m"{}}},)"
              R"({{"id":"b","op":"std.format","config":{{"template":"<{{it}}>"}}{}}}],)"
              R"("edges":[{{"from":"a","to":"b"}}])",
              of_a, of_b);
}
constexpr std::string_view cacheable = R"(,"cacheable":true)";

std::string run_cached(std::string_view graph, Model& model, Cache& cache) {
  TestOps ops;
  RunOptions options;
  options.cache = &cache;
  return outcome(graph, with(ops, model), R"("x")", options);
}

}  // namespace

TEST_CASE("a program's code is its model's, whatever its op and version say") {
  TestOps ops;
  Model first{"1"}, second{"2"};
  with(with(ops, first, "a.gguf"), second, "b.gguf");
  CHECK(outcome(R"("nodes":[
      {"id":"std.fail","kind":"program","model":"a.gguf","config":{"message":"not this"}},
      {"id":"y","kind":"program","model":"b.gguf","op":"std.fail","op_version":7}],
      "edges":[{"from":"std.fail","to":"y"}])", ops) == R"("12")");
}

TEST_CASE("a model has one code, and ops of its name are another thing") {
  TestOps ops;
  Model model{"1"};
  with(ops, model);
  CHECK(ops.add_program(model.op("m")).error().id() == "ops.duplicate");
  CHECK(ops.add_program(model.op("")).error().id() == "argument.range");
  CHECK(ops.add_program(model.op("\xff")).error().id() == "argument.range");
  NodeOp empty = model.op("n");
  empty.forward = nullptr;
  CHECK(ops.add_program(empty).error().id() == "argument.null");
  CHECK(ops.find("m", 1) == nullptr);
  CHECK(ops.program("std.sum") == nullptr);
  CHECK(ops.add(model.op("m")).ok());
}

TEST_CASE("the code of models is destroyed once, with the ops") {
  int destroyed = 0;
  {
    Ops ops;
    NodeOp op = Model{"1"}.op("m");
    op.user = &destroyed;
    op.destroy = [](void* user) { ++*static_cast<int*>(user); };
    CHECK(ops.add_program(op).ok());
    CHECK_FALSE(ops.add_program(op).ok());
    CHECK(destroyed == 0);
  }
  CHECK(destroyed == 1);
}

TEST_CASE("models and ops without code are listed in one error, with the way out") {
  const TestOps ops;
  CHECK(outcome(R"("nodes":[{"id":"a","kind":"program","model":"m.gguf"},
      {"id":"b","kind":"program","model":"m.gguf"}],"edges":[])", ops) ==
        "run.unbound_op: the plan names 1 model that the run has no code for: model 'm.gguf' (node "
        "'a' and 1 more): add a session for each model to the run's ops, or correct the nodes' "
        "models");
  const Plan plan = compiled(R"("nodes":[{"id":"a","kind":"program","model":"m.gguf"},
      {"id":"b","op":"nowhere"}],"edges":[])").value();
  const Error error = Run::create(plan, ops, {}).error();
  CHECK(told(error) ==
        "run.unbound_op: the plan names 1 op and 1 model that the run has no code for: 'nowhere' "
        "version 1 (node 'b'), model 'm.gguf' (node 'a'): register them, or correct the nodes' "
        "ops; add a session for each model to the run's ops, or correct the nodes' models");
  REQUIRE(error.others().size() == 2);
  CHECK(error.others()[1].message() == "no code for: model 'm.gguf' (node 'a')");
  CHECK(error.others()[1].details()[0].key == "model");
}

TEST_CASE("each problem that an op finds in a node's settings names the node") {
  TestOps ops;
  Model model{"1"};
  NodeOp op = model.op("m");
  op.bind = [](void*, const PlanNode&) -> Result<void*> {
    Problems problems;
    for (const char* what : {"one", "two"}) problems.add(fail(Reason::run_program, "{}", what));
    return std::move(problems).take();
  };
  REQUIRE(ops.add_program(op).ok());
  const Plan plan = compiled(R"("nodes":[{"id":"a","kind":"program","model":"m"},
      {"id":"b","kind":"program","model":"m"}],"edges":[])").value();
  const Error error = Run::create(plan, ops, {}).error();
  CHECK(told(error) == "run.program: node 'a': one");
  CHECK(error.details()[0].value == "a");
  REQUIRE(error.others().size() == 2);
  CHECK(told(error.others()[0]) == "run.program: node 'a': two");
  CHECK(told(error.others()[1]) == "run.program: node 'b': one");
  REQUIRE(error.others()[1].others().size() == 1);
  CHECK(told(error.others()[1].others()[0]) == "run.program: node 'b': two");
}

TEST_CASE("a cache yields what this model's code yielded, and no other's of the same name") {
  Cache cache{{}};
  Model first{"1"}, second{"2"};
  const std::string graph = chain(cacheable, cacheable);
  for (int again = 0; again < 2; ++again) {
    CHECK(run_cached(graph, first, cache) == R"("<x1>")");
    CHECK(run_cached(graph, second, cache) == R"("<x2>")");
  }
  CHECK(first.calls == 1);
  CHECK(second.calls == 1);
  // Neither by what only comes after it.
  Model third{"3"}, fourth{"4"};
  const std::string after = chain("", cacheable);
  CHECK(run_cached(after, third, cache) == R"("<x3>")");
  CHECK(run_cached(after, fourth, cache) == R"("<x4>")");
  CHECK(run_cached(after, third, cache) == R"("<x3>")");
  CHECK(third.calls == 1);  // skipped
}

TEST_CASE("nothing is kept of a program of which nobody can say by what it computes") {
  Cache cache{{}};
  Model model{"1", std::nullopt};
  CHECK(run_cached(chain(cacheable, cacheable), model, cache) == R"("<x1>")");
  model.word = "2";
  CHECK(run_cached(chain(cacheable, cacheable), model, cache) == R"("<x2>")");
  CHECK(model.calls == 2);
  TestOps ops;
  NodeOp silent = model.op("m");
  silent.identity = nullptr;
  REQUIRE(ops.add_program(silent).ok());
  RunOptions options;
  options.cache = &cache;
  for (int again = 0; again < 2; ++again) {
    CHECK(outcome(chain(cacheable, ""), ops, R"("x")", options) == R"("<x2>")");
  }
  CHECK(model.calls == 4);
}

TEST_CASE("only if a value that is kept may depend on it is a program asked what it computes by") {
  Cache cache{{}};
  Model model{"1"};
  CHECK(run_cached(chain("", ""), model, cache) == R"("<x1>")");
  CHECK(run_cached(chain(R"(,"cacheable":true,"deterministic":false)", cacheable), model, cache) ==
        R"("<x1>")");
  CHECK(run_cached(R"("nodes":[{"id":"a","op":"std.identity","cacheable":true},
      {"id":"b","kind":"program","model":"m"}],"edges":[{"from":"a","to":"b"}])", model, cache) ==
        R"("x1")");
  TestOps ops;
  CHECK(outcome(chain(cacheable, ""), with(ops, model), R"("x")") == R"("<x1>")");  // no cache
  CHECK(model.asked == 0);
  CHECK(run_cached(chain("", cacheable), model, cache) == R"("<x1>")");
  CHECK(model.asked == 1);
}

}  // namespace soma
