// Circuits: their builder, their names and their dump.
#include "circuit/circuit.hpp"

#include "base/columns.hpp"

namespace soma {

std::string_view buffer_name(ModelBuffer buffer) {
  switch (buffer) {
    case ModelBuffer::None: return "arena";
    case ModelBuffer::Hidden: return "hidden";
    case ModelBuffer::Logits: return "logits";
    case ModelBuffer::Tokens: return "tokens";
  }
  return "?";
}

std::string_view policy_name(Policy policy) {
  switch (policy) {
    case Policy::Fast: return "fast";
    case Policy::Reference: return "reference";
  }
  return "?";
}

double Node::param(std::string_view name) const {
  for (const Param& param : params) {
    if (param.name == name) return param.value;
  }
  return 0;
}

std::string canonical_name(const Node& node) {
  std::string name(op_info(node.op).name);
  if (!node.role.empty()) name += ":" + node.role;
  return name;
}

// ---- Building

EdgeId CircuitBuilder::edge(std::string id, Format format, RowsOf rows, u64 width) {
  Edge edge;
  edge.id = std::move(id);
  edge.format = format;
  edge.rows = rows;
  edge.width = width;
  circuit_.edges.push_back(std::move(edge));
  return static_cast<EdgeId>(circuit_.edges.size() - 1);
}

// An operand that names no edge is left for validate() to report.
NodeId CircuitBuilder::node(Node node) {
  const NodeId id = static_cast<NodeId>(circuit_.nodes.size());
  for (const EdgeId input : node.inputs) {
    if (input < circuit_.edges.size()) circuit_.edges[input].consumers.push_back(id);
  }
  for (const EdgeId output : node.outputs) {
    if (output < circuit_.edges.size()) circuit_.edges[output].producer = id;
  }
  circuit_.nodes.push_back(std::move(node));
  return id;
}

Result<Circuit> CircuitBuilder::finish() && {
  SOMA_TRY(circuit_.validate());
  return std::move(circuit_);
}

// ---- Printing

namespace {

std::string edge_text(const Edge& edge) {
  if (edge.width == 0) return text("{}:order", edge.id);
  std::string out = text("{}:{}[{} x {}]", edge.id, format_info(edge.format).name,
                         edge.rows == RowsOf::Step ? "n" : "m", edge.width);
  if (edge.is_stream) out += " stream";
  if (edge.binds != ModelBuffer::None) out += text(" = {}", buffer_name(edge.binds));
  return out;
}

std::string facts_text(const Node& node) {
  std::string out;
  for (const WeightRef& weight : node.weights) {
    out += text("{}:{}[{} x {}] ", weight.tensor, format_info(weight.format).name, weight.rows,
                weight.columns);
  }
  for (const Param& param : node.params) {
    out += text("{}={} ", param.name, short_number(param.value));
  }
  return out;
}

}  // namespace

std::string Circuit::dump() const {
  Columns columns("rlllll");
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    std::string inputs, outputs = "->";
    for (const EdgeId input : node.inputs) inputs += (inputs.empty() ? "" : " ") + edges[input].id;
    for (const EdgeId output : node.outputs) outputs += " " + edge_text(edges[output]);
    columns.row({text("{}", i), node.id, canonical_name(node), inputs, outputs, facts_text(node)});
  }
  return text(
      "circuit {}: {} layers, KV {} heads x {}; n: rows of the step, m: rows that want "
      "logits\n{}{} nodes, {} edges\n",
      architecture, layers, kv_heads, head_dim, columns.str(), nodes.size(), edges.size());
}

}  // namespace soma
