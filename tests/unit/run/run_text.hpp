// Runs graph documents for tests: documents in, the value or the error as text out.
#pragma once

#include <stdexcept>

#include "base/json.hpp"
#include "compiler/compile.hpp"
#include "run/builtins.hpp"
#include "run/node_call.hpp"
#include "run/run.hpp"
#include "value/value_json.hpp"

namespace soma::fixture {

inline Value value_from(std::string_view json) {
  const Json document = Json::parse(json).value();
  return value_of(document.root());
}

// "graph.cycle: …" where there is no plan.
inline Result<Plan> compiled(std::string_view nodes_and_edges, CompileOptions options = {}) {
  const std::string json = text(R"({{"soma":"graph","version":1,{}}})", nodes_and_edges);
  SOMA_ASSIGN(const Graph graph, Graph::parse(json));
  options.rules = builtin_rules();
  Compilation compilation = compile(graph, options);
  if (!compilation.plan) return compilation.diagnostics.as_error();
  return *std::move(compilation.plan);
}

inline std::string told(const Error& error) { return text("{}: {}", error.id(), error.message()); }

inline std::string told(Result<Value> value) {
  if (!value.ok()) return told(value.error());
  const Result<std::string> json = value_json(*value);
  return json.ok() ? *json : told(json.error());
}

// What a plan yields of an input.
inline std::string outcome(const Plan& plan, const Ops& ops, Value input,
                           const RunOptions& options = {}, const Cancel* cancel = nullptr) {
  Result<std::unique_ptr<Run>> run = Run::create(plan, ops, options);
  if (!run.ok()) return told(run.error());
  const Status started = (*run)->start(std::move(input), cancel);
  if (!started.ok()) return told(started.error());
  return told((*run)->finish());
}

// The built-in ops, and functions of the test.
class TestOps : public Ops {
 public:
  TestOps() { require(add_builtins(*this)); }
  // Each must outlive the runs that call it.
  template <typename Body>
  TestOps& function(std::string_view name, Body& body) {
    NodeOp op;
    op.name = name;
    op.user = &body;
    op.forward = [](void* user, NodeCall& call) -> Status {
      return (*static_cast<Body*>(user))(call);
    };
    require(add(std::move(op)));
    return *this;
  }

 private:
  static void require(const Status& status) {
    if (!status.ok()) throw std::runtime_error(status.error().message());
  }
};

// The same of a document: "nodes":[…],"edges":[…].
inline std::string outcome(std::string_view nodes_and_edges, const Ops& ops,
                           std::string_view input = "null", const RunOptions& options = {}) {
  const Result<Plan> plan = compiled(nodes_and_edges);
  return plan.ok() ? outcome(*plan, ops, value_from(input), options) : told(plan.error());
}

}  // namespace soma::fixture
