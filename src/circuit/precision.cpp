// Makes the policy's activation formats explicit in the circuit.
//
// Problem: a product with quantised weights is fastest, and has its defined result, over int8
// activations; whoever reads the circuit later must see each quantisation as a node of its own, so
// that it can be fused, placed and counted like everything else.
// Idea: copy the circuit node by node; before the first linear that wants an edge in int8, append
// an act_quant of that edge, and let every later such linear read the same result. One edge is thus
// quantised once, whoever reads it. Linears with float weights go on reading f32, and so does the
// embedding's table, which is looked up and not multiplied.
//
// Queries and keys meet in an exponent, and rows before attention have single large values that
// coarsen the scale of their block: of the divergence that int8 causes (SmolLM2-135M, KL 0.0033 a
// token), a third comes from q, k and v, which hold a sixth of the layers' weights. Their input is
// therefore kept in two terms, Q8A2, about 15 bits. tests/oracle/fast_simulation.py measures it.
//
// Right, because operands are only ever replaced by a node placed just before the reader, so the
// order stays topological; edges keep their ids, new ones come behind. Cost: linear.
#include "circuit/circuit.hpp"

#include <map>

namespace soma {

namespace {

bool wants_int8(const Node& node) {
  return node.op == Op::Linear && format_info(node.weights[0].format).block_elements > 1;
}

Format input_format(const Node& linear) {
  const bool before_attention = linear.role == "q" || linear.role == "k" || linear.role == "v";
  return before_attention ? Format::Q8A2 : Format::Q8A;
}

class Quantizer {
 public:
  explicit Quantizer(const Circuit& source) : source_(source) {
    Circuit& target = builder_.circuit();
    target.architecture = source.architecture;
    target.layers = source.layers;
    target.kv_heads = source.kv_heads;
    target.head_dim = source.head_dim;
    for (const Edge& edge : source.edges) {
      const EdgeId copy = builder_.edge(edge.id, edge.format, edge.rows, edge.width);
      target.edges[copy].is_stream = edge.is_stream;
      target.edges[copy].binds = edge.binds;
    }
  }

  Result<Circuit> run() && {
    for (Node node : source_.nodes) {
      if (wants_int8(node)) node.inputs[0] = quantized(node);
      builder_.node(std::move(node));
    }
    return std::move(builder_).finish();
  }

 private:
  EdgeId quantized(const Node& reader) {
    const EdgeId input = reader.inputs[0];
    const Edge& edge = source_.edges[input];
    if (int8_terms(edge.format) != 0) return input;
    const Format format = input_format(reader);
    const auto [twin, is_new] = quantized_.try_emplace({input, format});
    if (is_new) {
      const std::string id = text("{}.{}", edge.id, format_info(format).name);
      twin->second = builder_.edge(id, format, edge.rows, edge.width);
      Node node;
      node.id = id;
      node.op = Op::ActQuant;
      node.inputs = {input};
      node.outputs = {twin->second};
      node.layer = reader.layer;
      builder_.node(std::move(node));
    }
    return twin->second;
  }

  const Circuit& source_;
  CircuitBuilder builder_;
  std::map<std::pair<EdgeId, Format>, EdgeId> quantized_;  // the int8 twins of source edges
};

}  // namespace

Result<Circuit> resolve_precision(const Circuit& circuit, Policy policy) {
  SOMA_TRY(circuit.validate());
  if (policy == Policy::Reference) return circuit;
  return Quantizer(circuit).run();
}

}  // namespace soma
