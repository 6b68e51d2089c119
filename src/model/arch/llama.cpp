// The `llama` family: Llama 2 and 3, Mistral, SmolLM2 and what else is built the same way.
//
// A decoder of pre-normed layers: grouped-query attention with rotary embeddings, then a gated
// feed-forward network, each added to the residual stream. Converters permute the rows of q and k
// for this family, so that rotary pairs are neighbours (2i, 2i + 1), unlike in most others. A file
// without output.weight uses the token embedding as its head.
#include <cmath>

#include "model/arch/arch.hpp"
#include "model/arch/keys.hpp"
#include "model/arch/weights.hpp"

namespace soma {

namespace {

constexpr i64 layers_max = 1024;
constexpr i64 width_max = i64{1} << 20;
constexpr i64 heads_max = 1024;
constexpr i64 head_dim_max = 1024;
constexpr i64 vocabulary_max = i64{1} << 24;
constexpr i64 context_max = i64{1} << 30;

// Keys that other members of the family use to compute something else.
void refuse_variants(KeyReader& keys) {
  keys.must_be("expert_count", 0);
  keys.must_be("rope.scaling.type", "none");
  keys.must_be("rope.scale_linear", 1);
  keys.must_be("attention.causal", 1);
  keys.must_be("attention.scale", 0);
  keys.must_be("attention.clamp_kqv", 0);
  keys.must_be("attention.max_alibi_bias", 0);
  keys.must_be("attn_logit_softcapping", 0);
  keys.must_be("final_logit_softcapping", 0);
  keys.must_be("embedding_scale", 1);
  keys.must_be("residual_scale", 1);
  keys.must_be("logit_scale", 1);
}

void read_heads(KeyReader& keys, HyperParameters& out) {
  out.heads = keys.whole("attention.head_count", 1, heads_max);
  out.kv_heads = keys.whole_or("attention.head_count_kv", out.heads, 1, heads_max);
  if (out.heads % out.kv_heads != 0) {
    keys.contradiction(text("{} heads can't share {} KV heads evenly", out.heads, out.kv_heads));
  }
  out.head_dim = out.hidden / out.heads;
  if (keys.has("attention.key_length")) {
    out.head_dim = keys.whole("attention.key_length", 1, head_dim_max);
  } else if (out.hidden % out.heads != 0 || out.head_dim > head_dim_max) {
    keys.contradiction(text("an embedding of {} does not split into {} heads of at most {}",
                            out.hidden, out.heads, head_dim_max));
    out.head_dim = 1;
  }
  const i64 value_dim = keys.whole_or("attention.value_length", out.head_dim, 1, head_dim_max);
  if (value_dim != out.head_dim) {
    keys.contradiction(text("keys of {} and values of {} must be of one length", out.head_dim,
                            value_dim));
  }
}

void read_rope(KeyReader& keys, HyperParameters& out) {
  out.rope_base = keys.real_or("rope.freq_base", 10000, 1, 1e12);
  out.rope_dims = keys.whole_or("rope.dimension_count", out.head_dim, 2, head_dim_max);
  out.rope_adjacent = true;
  if (out.rope_dims % 2 != 0 || out.rope_dims > out.head_dim) {
    keys.contradiction(text("rotary pairs take an even number of a head's {} values, not {}",
                            out.head_dim, out.rope_dims));
  }
}

// ---- The circuit, node by node

class LlamaBuilder {
 public:
  LlamaBuilder(const HyperParameters& parameters, const gguf::File& file)
      : p_(parameters), weights_(file) {}

  Result<Circuit> run() && {
    Circuit& circuit = builder_.circuit();
    circuit.architecture = p_.architecture;
    circuit.layers = p_.layers;
    circuit.kv_heads = p_.kv_heads;
    circuit.head_dim = p_.head_dim;

    const WeightRef embedding = weights_.matrix("token_embd.weight", p_.vocabulary, p_.hidden);
    EdgeId x = stream(Op::Embed, "embed", {}, {embedding});
    for (layer_ = 0; layer_ < p_.layers; ++layer_) {
      x = add("attn", x, attention(x));
      x = add("ffn", x, feed_forward(x));
    }
    layer_ = -1;
    head(x, embedding);

    weights_.refuse("rope_freqs.weight",
                    "rotary frequencies scaled one by one (as in Llama 3.1 and later) are not "
                    "supported; use another model");
    SOMA_TRY(std::move(weights_).finish());
    return std::move(builder_).finish();
  }

 private:
  EdgeId attention(EdgeId x) {
    const i64 q_width = p_.heads * p_.head_dim;
    const i64 kv_width = p_.kv_heads * p_.head_dim;
    const EdgeId normed = norm("attn", "attn_norm", x);
    const EdgeId q = linear("attn.q", "q", "attn_q", normed, q_width, p_.hidden);
    const EdgeId k = linear("attn.k", "k", "attn_k", normed, kv_width, p_.hidden);
    const EdgeId v = linear("attn.v", "v", "attn_v", normed, kv_width, p_.hidden);
    const EdgeId q_rotated = rope("attn.q_rope", q, p_.heads);
    const EdgeId k_rotated = rope("attn.k_rope", k, p_.kv_heads);

    Node write = node(Op::KvWrite, "attn.kv", {k_rotated, v});
    write.params = {{"kv_heads", real(p_.kv_heads)}, {"head_dim", real(p_.head_dim)}};
    const EdgeId written = append(std::move(write), Format::F32, RowsOf::Step, 0);

    Node attend = node(Op::Attend, "attn.attend", {q_rotated, written});
    attend.params = {{"heads", real(p_.heads)},
                     {"kv_heads", real(p_.kv_heads)},
                     {"head_dim", real(p_.head_dim)},
                     {"scale", 1 / std::sqrt(real(p_.head_dim))}};
    const EdgeId attended = append(std::move(attend), Format::F32, RowsOf::Step, q_width);
    return linear("attn.o", "o", "attn_output", attended, p_.hidden, q_width);
  }

  EdgeId feed_forward(EdgeId x) {
    const EdgeId normed = norm("ffn", "ffn_norm", x);
    const EdgeId gate = linear("ffn.gate", "gate", "ffn_gate", normed, p_.feed_forward, p_.hidden);
    const EdgeId up = linear("ffn.up", "up", "ffn_up", normed, p_.feed_forward, p_.hidden);
    const EdgeId product = append(node(Op::SiluMul, "ffn.act", {gate, up}), Format::F32,
                                  RowsOf::Step, p_.feed_forward);
    return linear("ffn.down", "down", "ffn_down", product, p_.hidden, p_.feed_forward);
  }

  // Rows that want no logits go no further than the gather.
  void head(EdgeId x, const WeightRef& embedding) {
    const EdgeId rows =
        append(node(Op::GatherRows, "final.rows", {x}), Format::F32, RowsOf::Logits, p_.hidden);
    Node last = node(Op::RmsNorm, "final.norm", {rows});
    last.role = "final";
    last.weights = {weights_.vector("output_norm.weight", p_.hidden)};
    last.params = {{"epsilon", p_.norm_epsilon}};
    const EdgeId normed = append(std::move(last), Format::F32, RowsOf::Logits, p_.hidden);

    Node product = node(Op::Linear, "logits", {normed});
    product.role = "head";
    product.weights = {p_.tied_head
                           ? embedding
                           : weights_.matrix("output.weight", p_.vocabulary, p_.hidden)};
    const EdgeId logits =
        append(std::move(product), Format::F32, RowsOf::Logits, p_.vocabulary);
    builder_.circuit().edges[logits].binds = ModelBuffer::Logits;

    const EdgeId tokens =
        append(node(Op::Sample, "tokens", {logits}), Format::I32, RowsOf::Logits, 1);
    builder_.circuit().edges[tokens].binds = ModelBuffer::Tokens;
  }

  EdgeId norm(std::string_view role, std::string_view tensor, EdgeId x) {
    Node out = node(Op::RmsNorm, text("{}.norm", role), {x});
    out.role = role;
    out.weights = {weights_.vector(layer_tensor(tensor), p_.hidden)};
    out.params = {{"epsilon", p_.norm_epsilon}};
    return append(std::move(out), Format::F32, RowsOf::Step, p_.hidden);
  }

  EdgeId linear(std::string_view id, std::string_view role, std::string_view tensor, EdgeId x,
                i64 rows, i64 columns) {
    Node out = node(Op::Linear, id, {x});
    out.role = role;
    out.weights = {weights_.matrix(layer_tensor(tensor), rows, columns)};
    return append(std::move(out), Format::F32, RowsOf::Step, rows);
  }

  EdgeId rope(std::string_view id, EdgeId x, i64 heads) {
    Node out = node(Op::Rope, id, {x});
    out.params = {{"heads", real(heads)},
                  {"head_dim", real(p_.head_dim)},
                  {"base", p_.rope_base},
                  {"dims", real(p_.rope_dims)},
                  {"adjacent", p_.rope_adjacent ? 1.0 : 0.0}};
    return append(std::move(out), Format::F32, RowsOf::Step, heads * p_.head_dim);
  }

  EdgeId add(std::string_view block, EdgeId x, EdgeId y) {
    return stream(Op::ResidualAdd, text("{}.add", block), {x, y}, {});
  }

  EdgeId stream(Op op, std::string_view id, std::vector<EdgeId> inputs,
                std::vector<WeightRef> weights) {
    Node out = node(op, id, std::move(inputs));
    out.weights = std::move(weights);
    const EdgeId edge = append(std::move(out), Format::F32, RowsOf::Step, p_.hidden);
    builder_.circuit().edges[edge].is_stream = true;
    return edge;
  }

  Node node(Op op, std::string_view id, std::vector<EdgeId> inputs) const {
    Node out;
    out.op = op;
    out.id = layer_ < 0 ? std::string(id) : text("l{}.{}", layer_, id);
    out.layer = static_cast<i32>(layer_);
    out.inputs = std::move(inputs);
    return out;
  }

  // Every node has one output, and the edge bears the node's name.
  EdgeId append(Node node, Format format, RowsOf rows, i64 width) {
    const EdgeId edge = builder_.edge(node.id, format, rows, static_cast<u64>(width));
    node.outputs = {edge};
    builder_.node(std::move(node));
    return edge;
  }

  std::string layer_tensor(std::string_view name) const {
    return text("blk.{}.{}.weight", layer_, name);
  }
  static double real(i64 number) { return static_cast<double>(number); }

  const HyperParameters& p_;
  WeightBinder weights_;
  CircuitBuilder builder_;
  i64 layer_ = -1;
};

}  // namespace

Result<HyperParameters> read_llama(const gguf::File& file) {
  KeyReader keys(file, "llama.");
  HyperParameters out;
  out.architecture = "llama";
  out.layers = keys.whole("block_count", 1, layers_max);
  out.hidden = keys.whole("embedding_length", 1, width_max);
  out.feed_forward = keys.whole("feed_forward_length", 1, width_max);
  out.context = keys.whole("context_length", 1, context_max);
  out.norm_epsilon = keys.real("attention.layer_norm_rms_epsilon", 0, 1);
  read_heads(keys, out);
  read_rope(keys, out);
  refuse_variants(keys);

  // Without the key, the vocabulary is as large as the tokenizer's.
  const gguf::Value* tokens = file.find("tokenizer.ggml.tokens");
  out.vocabulary = keys.has("vocab_size") || tokens == nullptr
                       ? keys.whole("vocab_size", 1, vocabulary_max)
                       : static_cast<i64>(tokens->count);
  out.tied_head = file.find_tensor("output.weight") == nullptr;
  SOMA_TRY(std::move(keys).finish());
  return out;
}

Result<Circuit> build_llama(const HyperParameters& parameters, const gguf::File& file) {
  return LlamaBuilder(parameters, file).run();
}

}  // namespace soma
