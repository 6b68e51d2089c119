// soma_circuit_*: what a model computes.
#include <map>

#include "abi/blob.hpp"
#include "abi/guard.hpp"
#include "abi/model.hpp"
#include "abi/fusion_plan.hpp"
#include "abi/plan_options.hpp"
#include "abi/text_argument.hpp"
#include "base/json_writer.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

std::string facts(const Circuit& circuit) {
  std::map<std::string_view, u64> ops;
  for (const Node& node : circuit.nodes) ++ops[op_info(node.op).name];
  JsonWriter json;
  json.object()
      .field("architecture", circuit.architecture)
      .field("layers", circuit.layers)
      .field("kv_heads", circuit.kv_heads)
      .field("head_dim", circuit.head_dim)
      .field("nodes", circuit.nodes.size())
      .field("edges", circuit.edges.size());
  json.key("ops").object();
  for (const auto& [name, count] : ops) json.field(name, count);
  json.close().close();
  return std::move(json).take();
}

}  // namespace

soma_code soma_circuit_create(const soma_model* model, soma_circuit** out,
                              soma_error** error) noexcept {
  return produce(model, out, error, [&]() -> Result<Ref<soma_circuit>> {
    return make<soma_circuit>(model->runtime, model->model.circuit());
  });
}

soma_code soma_circuit_facts(const soma_circuit* circuit, soma_blob** out,
                             soma_error** error) noexcept {
  return produce(circuit, out, error, [&]() -> Result<Ref<soma_blob>> {
    return make_blob(circuit->runtime, facts(circuit->circuit));
  });
}

soma_code soma_circuit_dump(const soma_circuit* circuit, soma_blob** out,
                            soma_error** error) noexcept {
  return produce(circuit, out, error, [&]() -> Result<Ref<soma_blob>> {
    return make_blob(circuit->runtime, circuit->circuit.dump());
  });
}

soma_code soma_circuit_explain(const soma_circuit* circuit, const soma_options* options,
                               const char* node, size_t node_length, soma_blob** out,
                               soma_error** error) noexcept {
  return produce(circuit, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_ASSIGN(const std::string_view id, text_argument("node", node, node_length));
    SOMA_ASSIGN(const PlanOptions plan, PlanOptions::of(options));
    SOMA_ASSIGN(const Circuit resolved, resolve_precision(circuit->circuit, plan.request.policy));
    SOMA_ASSIGN(std::string explanation,
                explain_node(resolved, plan.rules, circuit->runtime->backend->caps().catalogue,
                             plan.request, id));
    return make_blob(circuit->runtime, std::move(explanation));
  });
}

void soma_circuit_retain(const soma_circuit* circuit) noexcept { retain(circuit); }
void soma_circuit_release(const soma_circuit* circuit) noexcept { release(circuit); }
