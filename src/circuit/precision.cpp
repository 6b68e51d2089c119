// Makes the policy's activation formats explicit in the circuit.
//
// Problem: a product with quantised weights is fastest, and has its defined result, over int8
// activations; whoever reads the circuit later must see each quantisation as a node of its own, so
// that it can be fused, placed and counted like everything else.
// Idea: copy the circuit node by node; before the first linear that wants an edge in Q8A, append an
// act_quant of that edge, and let every later such linear read the same result. One edge is thus
// quantised once, whoever reads it. Linears with float weights go on reading f32, and so does the
// embedding's table, which is looked up and not multiplied.
// Right, because operands are only ever replaced by a node placed just before the reader, so the
// order stays topological; edges keep their ids, new ones come behind. Cost: linear.
#include "circuit/circuit.hpp"

namespace soma {

namespace {

bool wants_q8a(const Node& node) {
  return node.op == Op::Linear && format_info(node.weights[0].format).block_elements > 1;
}

class Quantizer {
 public:
  explicit Quantizer(const Circuit& source) : source_(source), quantized_(source.edges.size()) {
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
      if (wants_q8a(node)) node.inputs[0] = quantized(node.inputs[0], node.layer);
      builder_.node(std::move(node));
    }
    return std::move(builder_).finish();
  }

 private:
  EdgeId quantized(EdgeId input, i32 layer) {
    const Edge& edge = source_.edges[input];
    if (edge.format == Format::Q8A) return input;
    if (!quantized_[input]) {
      const std::string id = edge.id + ".q8a";
      const EdgeId output = builder_.edge(id, Format::Q8A, edge.rows, edge.width);
      Node node;
      node.id = id;
      node.op = Op::ActQuant;
      node.inputs = {input};
      node.outputs = {output};
      node.layer = layer;
      builder_.node(std::move(node));
      quantized_[input] = output;
    }
    return *quantized_[input];
  }

  const Circuit& source_;
  CircuitBuilder builder_;
  std::vector<std::optional<EdgeId>> quantized_;  // by source edge: its Q8A twin
};

}  // namespace

Result<Circuit> resolve_precision(const Circuit& circuit, Policy policy) {
  SOMA_TRY(circuit.validate());
  if (policy == Policy::Reference) return circuit;
  return Quantizer(circuit).run();
}

}  // namespace soma
