// A Llama-shaped circuit built by hand, node by node as the architecture builder does it, so that
// the circuit's tests need no model file. With SmolLM2's sizes it gives the golden texts.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>

#include "circuit/circuit.hpp"
#include "circuit/fusion/rules.hpp"
#include "circuit/program/launch.hpp"

namespace soma::fixture {

struct LlamaSizes {
  i64 layers = 30;
  u64 hidden = 576, feed_forward = 1536;
  u64 heads = 9, kv_heads = 3, head_dim = 64;
  u64 vocabulary = 49152;
  double epsilon = 1e-5f, base = 100000;
  bool adjacent = true;
  bool tied = true;
  Format matrix = Format::Q4_1, embedding = Format::Q8_0;
  std::map<std::string, Format> by_role;  // projections whose weights have another format
};

class LlamaFixture {
 public:
  explicit LlamaFixture(LlamaSizes sizes) : s_(std::move(sizes)) {}

  CircuitBuilder build() && {
    Circuit& circuit = builder_.circuit();
    circuit.architecture = "llama";
    circuit.layers = s_.layers;
    circuit.kv_heads = static_cast<i64>(s_.kv_heads);
    circuit.head_dim = static_cast<i64>(s_.head_dim);
    const WeightRef embedding = {"token_embd.weight", s_.embedding, s_.vocabulary, s_.hidden};
    EdgeId x = stream(Op::Embed, "embed", {}, {embedding});
    for (layer_ = 0; layer_ < s_.layers; ++layer_) {
      x = stream(Op::ResidualAdd, "attn.add", {x, attention(x)}, {});
      x = stream(Op::ResidualAdd, "ffn.add", {x, feed_forward(x)}, {});
    }
    layer_ = -1;
    head(x, embedding);
    return std::move(builder_);
  }

 private:
  EdgeId attention(EdgeId x) {
    const u64 q_width = s_.heads * s_.head_dim, kv_width = s_.kv_heads * s_.head_dim;
    const EdgeId normed = norm("attn", x);
    const EdgeId q = linear("attn.q", "q", "attn_q", normed, q_width, s_.hidden);
    const EdgeId k = linear("attn.k", "k", "attn_k", normed, kv_width, s_.hidden);
    const EdgeId v = linear("attn.v", "v", "attn_v", normed, kv_width, s_.hidden);
    const EdgeId q_rotated = rope("attn.q_rope", q, s_.heads);
    const EdgeId k_rotated = rope("attn.k_rope", k, s_.kv_heads);
    Node write = node(Op::KvWrite, "attn.kv", {k_rotated, v});
    write.params = {{"kv_heads", real(s_.kv_heads)}, {"head_dim", real(s_.head_dim)}};
    const EdgeId written = append(std::move(write), Format::F32, RowsOf::Step, 0);
    Node attend = node(Op::Attend, "attn.attend", {q_rotated, written});
    attend.params = {{"heads", real(s_.heads)},
                     {"kv_heads", real(s_.kv_heads)},
                     {"head_dim", real(s_.head_dim)},
                     {"scale", 1 / std::sqrt(real(s_.head_dim))}};
    const EdgeId attended = append(std::move(attend), Format::F32, RowsOf::Step, q_width);
    return linear("attn.o", "o", "attn_output", attended, s_.hidden, q_width);
  }

  EdgeId feed_forward(EdgeId x) {
    const EdgeId normed = norm("ffn", x);
    const EdgeId gate = linear("ffn.gate", "gate", "ffn_gate", normed, s_.feed_forward, s_.hidden);
    const EdgeId up = linear("ffn.up", "up", "ffn_up", normed, s_.feed_forward, s_.hidden);
    const EdgeId product = append(node(Op::SiluMul, "ffn.act", {gate, up}), Format::F32,
                                  RowsOf::Step, s_.feed_forward);
    return linear("ffn.down", "down", "ffn_down", product, s_.hidden, s_.feed_forward);
  }

  void head(EdgeId x, const WeightRef& embedding) {
    const EdgeId rows =
        append(node(Op::GatherRows, "final.rows", {x}), Format::F32, RowsOf::Logits, s_.hidden);
    Node last = node(Op::RmsNorm, "final.norm", {rows});
    last.role = "final";
    last.weights = {{"output_norm.weight", Format::F32, 1, s_.hidden}};
    last.params = {{"epsilon", s_.epsilon}};
    const EdgeId normed = append(std::move(last), Format::F32, RowsOf::Logits, s_.hidden);
    Node product = node(Op::Linear, "logits", {normed});
    product.role = "head";
    const WeightRef untied = {"output.weight", format_of("head"), s_.vocabulary, s_.hidden};
    product.weights = {s_.tied ? embedding : untied};
    const EdgeId logits = append(std::move(product), Format::F32, RowsOf::Logits, s_.vocabulary);
    builder_.circuit().edges[logits].binds = ModelBuffer::Logits;
    const EdgeId tokens =
        append(node(Op::Sample, "tokens", {logits}), Format::I32, RowsOf::Logits, 1);
    builder_.circuit().edges[tokens].binds = ModelBuffer::Tokens;
  }

  EdgeId norm(const std::string& role, EdgeId x) {
    Node out = node(Op::RmsNorm, role + ".norm", {x});
    out.role = role;
    out.weights = {{layer_tensor(role + "_norm"), Format::F32, 1, s_.hidden}};
    out.params = {{"epsilon", s_.epsilon}};
    return append(std::move(out), Format::F32, RowsOf::Step, s_.hidden);
  }

  EdgeId linear(const std::string& id, const std::string& role, const std::string& tensor, EdgeId x,
                u64 rows, u64 columns) {
    Node out = node(Op::Linear, id, {x});
    out.role = role;
    out.weights = {{layer_tensor(tensor), format_of(role), rows, columns}};
    return append(std::move(out), Format::F32, RowsOf::Step, rows);
  }

  EdgeId rope(const std::string& id, EdgeId x, u64 heads) {
    Node out = node(Op::Rope, id, {x});
    out.params = {{"heads", real(heads)},
                  {"head_dim", real(s_.head_dim)},
                  {"base", s_.base},
                  {"dims", real(s_.head_dim)},
                  {"adjacent", s_.adjacent ? 1.0 : 0.0}};
    return append(std::move(out), Format::F32, RowsOf::Step, heads * s_.head_dim);
  }

  EdgeId stream(Op op, const std::string& id, std::vector<EdgeId> inputs,
                std::vector<WeightRef> weights) {
    Node out = node(op, id, std::move(inputs));
    out.weights = std::move(weights);
    const EdgeId edge = append(std::move(out), Format::F32, RowsOf::Step, s_.hidden);
    builder_.circuit().edges[edge].is_stream = true;
    return edge;
  }

  Node node(Op op, const std::string& id, std::vector<EdgeId> inputs) const {
    Node out;
    out.op = op;
    out.id = layer_ < 0 ? id : text("l{}.{}", layer_, id);
    out.layer = static_cast<i32>(layer_);
    out.inputs = std::move(inputs);
    return out;
  }

  EdgeId append(Node node, Format format, RowsOf rows, u64 width) {
    const EdgeId edge = builder_.edge(node.id, format, rows, width);
    node.outputs = {edge};
    builder_.node(std::move(node));
    return edge;
  }

  Format format_of(const std::string& role) const {
    const auto found = s_.by_role.find(role);
    return found == s_.by_role.end() ? s_.matrix : found->second;
  }
  std::string layer_tensor(const std::string& name) const {
    return text("blk.{}.{}.weight", layer_, name);
  }
  static double real(u64 number) { return static_cast<double>(number); }

  const LlamaSizes s_;
  CircuitBuilder builder_;
  i64 layer_ = -1;
};

// Two layers of SmolLM2's shape, with a small vocabulary.
inline LlamaSizes small_sizes() {
  LlamaSizes sizes;
  sizes.layers = 2;
  sizes.vocabulary = 320;
  return sizes;
}

inline Circuit llama(LlamaSizes sizes = {}) {
  return LlamaFixture(std::move(sizes)).build().finish().value();
}

inline FusionRules rules() {
  return FusionRules::parse(embedded_rules()).value();
}

// A backend that has every kernel the library's rules name.
inline KernelCatalogue catalogue() {
  KernelCatalogue out;
  const FusionRules all = rules();
  for (const Rule& rule : all.table().rules) {
    out.kernels.insert(out.kernels.end(), rule.kernels.begin(), rule.kernels.end());
  }
  std::sort(out.kernels.begin(), out.kernels.end());
  return out;
}

// The messages of an error and of all it carries along.
inline std::string all_messages(const Error& error) {
  std::string out = error.message();
  for (const Error& other : error.others()) out += "\n" + all_messages(other);
  return out;
}

inline bool has_reason(const Error& error, Reason reason) {
  if (error.reason() == reason) return true;
  for (const Error& other : error.others()) {
    if (has_reason(other, reason)) return true;
  }
  return false;
}

// The whole pipeline over one circuit; each stage fails the test that uses it by throwing.
struct Compiled {
  Circuit circuit;
  FusionPlan plan;
  Layout layout;
  BufferPlan buffers;
  Program program;
};

inline Compiled compile(const Circuit& source, const PlanRequest& request,
                        const FusionRules& rule_file, const KernelCatalogue& kernels) {
  Compiled out;
  out.circuit = resolve_precision(source, request.policy).value();
  out.plan = fuse(out.circuit, rule_file, kernels, request).value();
  out.layout = lay_out(out.circuit, out.plan).value();
  out.buffers = place(out.circuit, out.plan, out.layout).value();
  out.program = compile_program(out.circuit, out.plan, out.layout, out.buffers).value();
  return out;
}

inline Compiled compile(const Circuit& source, const PlanRequest& request) {
  return compile(source, request, rules(), catalogue());
}

}  // namespace soma::fixture
