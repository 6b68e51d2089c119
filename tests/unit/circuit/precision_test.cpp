// Proves that activations are quantised where, and only where, a product with quantised weights
// reads them, once an edge.
#include <doctest/doctest.h>

#include "unit/circuit/llama_fixture.hpp"

namespace soma {

namespace {

using fixture::llama;
using fixture::small_sizes;

size_t count_of(const Circuit& circuit, Op op) {
  return static_cast<size_t>(std::count_if(circuit.nodes.begin(), circuit.nodes.end(),
                                           [op](const Node& node) { return node.op == op; }));
}

const Node& node_of(const Circuit& circuit, std::string_view id) {
  for (const Node& node : circuit.nodes) {
    if (node.id == id) return node;
  }
  FAIL("no such node");
  return circuit.nodes.front();
}

Format input_format(const Circuit& circuit, std::string_view id) {
  return circuit.edges[node_of(circuit, id).inputs[0]].format;
}

}  // namespace

TEST_CASE("reference leaves the circuit as it is") {
  const Circuit circuit = llama(small_sizes());
  CHECK(resolve_precision(circuit, Policy::Reference)->dump() == circuit.dump());
}

TEST_CASE("fast quantises each edge once for all its readers") {
  const Circuit circuit = resolve_precision(llama(small_sizes()), Policy::Fast).value();
  CHECK(count_of(circuit, Op::ActQuant) == 2 * 4 + 1);
  const Node& q = node_of(circuit, "l0.attn.q");
  CHECK(q.inputs == node_of(circuit, "l0.attn.k").inputs);
  CHECK(q.inputs == node_of(circuit, "l0.attn.v").inputs);
  const Edge& quantized = circuit.edges[q.inputs[0]];
  CHECK(quantized.id == "l0.attn.norm.q8a2");
  CHECK(quantized.format == Format::Q8A2);
  CHECK(quantized.width == 576);
  CHECK(circuit.nodes[quantized.producer].op == Op::ActQuant);
  CHECK(circuit.nodes[quantized.producer].layer == 0);
  CHECK(circuit.edges[node_of(circuit, "logits").inputs[0]].rows == RowsOf::Logits);
}

TEST_CASE("every quantised file format reads int8 activations, every float format reads f32") {
  for (const Format format : {Format::Q4_0, Format::Q4_1, Format::Q5_0, Format::Q5_1, Format::Q8_0,
                              Format::F32, Format::F16, Format::BF16}) {
    CAPTURE(format_info(format).name);
    fixture::LlamaSizes sizes = small_sizes();
    sizes.matrix = format;
    const Circuit circuit = resolve_precision(llama(sizes), Policy::Fast).value();
    const bool is_float = format_info(format).block_elements == 1;
    CHECK(input_format(circuit, "l1.attn.k") == (is_float ? Format::F32 : Format::Q8A2));
    CHECK(input_format(circuit, "l1.ffn.down") == (is_float ? Format::F32 : Format::Q8A));
    CHECK(input_format(circuit, "logits") == Format::Q8A);
  }
}

TEST_CASE("where formats are mixed, each reader gets its own") {
  fixture::LlamaSizes sizes = small_sizes();
  sizes.by_role = {{"v", Format::F16}, {"down", Format::F32}};
  const Circuit circuit = resolve_precision(llama(sizes), Policy::Fast).value();
  CHECK(input_format(circuit, "l0.attn.q") == Format::Q8A2);
  CHECK(input_format(circuit, "l0.attn.v") == Format::F32);
  CHECK(input_format(circuit, "l0.ffn.down") == Format::F32);
  CHECK(count_of(circuit, Op::ActQuant) == 2 * 3 + 1);
}

TEST_CASE("an edge that is wanted in one term and in two is quantised to both") {
  Circuit source = llama(small_sizes());
  for (Node& node : source.nodes) {
    if (node.id == "l0.attn.v") node.role = "gate";
  }
  const Circuit circuit = resolve_precision(source, Policy::Fast).value();
  CHECK(input_format(circuit, "l0.attn.q") == Format::Q8A2);
  CHECK(input_format(circuit, "l0.attn.v") == Format::Q8A);
  CHECK(count_of(circuit, Op::ActQuant) == 2 * 4 + 2);
}

TEST_CASE("a quantised embedding is looked up, not multiplied") {
  const Circuit circuit = resolve_precision(llama(small_sizes()), Policy::Fast).value();
  CHECK(node_of(circuit, "embed").inputs.empty());
  CHECK(circuit.edges[node_of(circuit, "embed").outputs[0]].format == Format::F32);
}

TEST_CASE("resolving twice changes nothing more") {
  const Circuit once = resolve_precision(llama(small_sizes()), Policy::Fast).value();
  CHECK(resolve_precision(once, Policy::Fast)->dump() == once.dump());
}

TEST_CASE("a damaged circuit is refused, not copied") {
  Circuit circuit = llama(small_sizes());
  circuit.nodes[3].weights.clear();
  CHECK_FALSE(resolve_precision(circuit, Policy::Fast).ok());
  CHECK_FALSE(resolve_precision(circuit, Policy::Reference).ok());
}

}  // namespace soma
