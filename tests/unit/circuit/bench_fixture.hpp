// Small circuits put together op by op, for tests that need a shape no model has.
#pragma once

#include <doctest/doctest.h>

#include "unit/circuit/llama_fixture.hpp"

namespace soma::fixture {

// A circuit of one layer under construction: a stream to hang tests on and the head that ends it.
class Bench {
 public:
  Bench() {
    circuit().architecture = "bench";
    circuit().layers = 1;
    circuit().kv_heads = 1;
    circuit().head_dim = 32;
    stream_ = add(Op::Embed, "embed", {}, 64);
    circuit().edges[stream_].is_stream = true;
  }

  Circuit& circuit() { return builder_.circuit(); }
  EdgeId stream() const { return stream_; }

  EdgeId add(Op op, const std::string& id, std::vector<EdgeId> inputs, u64 width,
             const std::string& role = "") {
    const bool logits = op == Op::GatherRows || op == Op::Sample ||
                        (!inputs.empty() && circuit().edges[inputs[0]].rows == RowsOf::Logits);
    Format format = op == Op::ActQuant ? Format::Q8A : Format::F32;
    if (op == Op::Sample) format = Format::I32;
    Node node;
    node.id = id;
    node.op = op;
    node.role = op_info(op).has_role ? (role.empty() ? "x" : role) : "";
    node.layer = op_info(op).has_state ? 0 : -1;
    for (const ParamInfo& param : op_info(op).params) {
      const bool is_dim = param.name == "head_dim" || param.name == "dims";
      const double lowest = param.whole ? param.low : std::max(param.low, 1e-5);
      node.params.push_back({std::string(param.name), is_dim ? 32.0 : lowest});
    }
    const u64 read = inputs.empty() ? 0 : circuit().edges[inputs[0]].width;
    const bool quantized = !inputs.empty() && circuit().edges[inputs[0]].format == Format::Q8A;
    if (op == Op::Linear) {
      node.weights = {{id + ".w", quantized ? Format::Q8_0 : Format::F32, width, read}};
    }
    if (op == Op::RmsNorm) node.weights = {{id + ".w", Format::F32, 1, width}};
    if (op == Op::Embed) node.weights = {{id + ".w", Format::F32, 100, width}};
    node.inputs = std::move(inputs);
    node.outputs = {builder_.edge(id, format, logits ? RowsOf::Logits : RowsOf::Step, width)};
    const EdgeId out = node.outputs[0];
    builder_.node(std::move(node));
    return out;
  }

  EdgeId add_to_stream(const std::string& id, EdgeId x) {
    stream_ = add(Op::ResidualAdd, id, {stream_, x}, 64);
    circuit().edges[stream_].is_stream = true;
    return stream_;
  }

  Circuit finish() && {
    const EdgeId rows = add(Op::GatherRows, "rows", {stream_}, 64);
    const EdgeId logits = add(Op::Linear, "logits", {rows}, 100, "head");
    circuit().edges[logits].binds = ModelBuffer::Logits;
    Result<Circuit> circuit = std::move(builder_).finish();
    if (!circuit.ok()) FAIL(fixture::all_messages(circuit.error()));
    return std::move(circuit).value();
  }

 private:
  CircuitBuilder builder_;
  EdgeId stream_ = 0;
};

}  // namespace soma::fixture
