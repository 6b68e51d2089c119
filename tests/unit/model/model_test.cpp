// Proves that a llama file becomes the right parameters and circuit, and that every key and tensor
// that is missing, mistyped, out of range or unknown is refused by name, all of a kind together.
#include "model/model.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "model/arch/arch.hpp"
#include "tiny_llama.hpp"
#include "unit/circuit/llama_fixture.hpp"

using namespace soma;
using namespace soma::test;

namespace {

Result<Model> parse(GgufWriter writer) {
  SOMA_ASSIGN(FileBytes bytes, FileBytes::copy(writer.finish()));
  return Model::parse(std::move(bytes));
}

// The ids of the error and of all that came with it, each with the key or tensor it names.
std::vector<std::string> problems(const Error& error) {
  const auto line = [](const Error& one) {
    std::string out(one.id());
    for (const Detail& detail : one.details()) {
      if (detail.key == "key" || detail.key == "tensor") out += " " + detail.value;
    }
    return out;
  };
  std::vector<std::string> out = {line(error)};
  for (const Error& other : error.others()) out.push_back(line(other));
  return out;
}

void refuses(GgufWriter writer, const std::vector<std::string>& expected) {
  const Result<Model> model = parse(std::move(writer));
  REQUIRE_FALSE(model.ok());
  INFO(model.error().message());
  CHECK(problems(model.error()) == expected);
}

const Node& node(const Circuit& circuit, std::string_view id) {
  const auto found = std::find_if(circuit.nodes.begin(), circuit.nodes.end(),
                                  [&](const Node& one) { return one.id == id; });
  REQUIRE(found != circuit.nodes.end());
  return *found;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

TEST_CASE("a tiny llama: parameters") {
  const Result<Model> model = parse(tiny_llama());
  if (!model.ok()) FAIL(model.error().message());
  const HyperParameters& p = model->parameters();
  CHECK(p.architecture == "llama");
  CHECK(p.name == "tiny");
  CHECK(p.layers == 2);
  CHECK(p.hidden == 64);
  CHECK(p.feed_forward == 96);
  CHECK(p.heads == 2);
  CHECK(p.kv_heads == 1);
  CHECK(p.head_dim == 32);
  CHECK(p.vocabulary == 260);
  CHECK(p.context == 256);
  CHECK(p.norm_epsilon == doctest::Approx(1e-5));
  CHECK(p.rope_base == 10000);
  CHECK(p.rope_dims == 32);
  CHECK(p.rope_adjacent);
  CHECK(p.tied_head);
  CHECK(model->tokenizer().vocabulary() == 260);
}

TEST_CASE("keys that may be left out have their defaults") {
  GgufWriter writer = tiny_llama();
  writer.remove("llama.rope.freq_base").remove("llama.rope.dimension_count");
  writer.remove("llama.vocab_size").remove("general.name");
  const Result<Model> model = parse(std::move(writer));
  REQUIRE(model.ok());
  CHECK(model->parameters().rope_base == 10000);
  CHECK(model->parameters().rope_dims == 32);
  CHECK(model->parameters().vocabulary == 260);
  CHECK(model->parameters().name.empty());
}

TEST_CASE("a tiny llama: circuit") {
  const Result<Model> model = parse(tiny_llama());
  REQUIRE(model.ok());
  const Circuit& circuit = model->circuit();
  CHECK(circuit.layers == 2);
  CHECK(circuit.kv_heads == 1);
  CHECK(circuit.head_dim == 32);
  CHECK(circuit.nodes.size() == 1 + 2 * 16 + 4);
  CHECK(circuit.validate().ok());

  const Node& q = node(circuit, "l1.attn.q");
  CHECK(canonical_name(q) == "linear:q");
  CHECK(q.layer == 1);
  CHECK(q.weights[0] == WeightRef{"blk.1.attn_q.weight", Format::Q4_1, 64, 64});
  CHECK(node(circuit, "l0.attn.k").weights[0].rows == 32);
  CHECK(node(circuit, "l0.ffn.down").weights[0].columns == 96);

  const Node& rope = node(circuit, "l0.attn.k_rope");
  CHECK(rope.param("heads") == 1);
  CHECK(rope.param("dims") == 32);
  CHECK(rope.param("adjacent") == 1);
  CHECK(node(circuit, "l1.attn.attend").param("scale") == doctest::Approx(0.1767766952966369));

  const Node& head = node(circuit, "logits");
  CHECK(head.weights[0] == WeightRef{"token_embd.weight", Format::Q8_0, 260, 64});
  CHECK(head.weights[0] == node(circuit, "embed").weights[0]);
  CHECK(circuit.edges[head.outputs[0]].binds == ModelBuffer::Logits);
  CHECK(circuit.edges[node(circuit, "tokens").outputs[0]].binds == ModelBuffer::Tokens);
  for (const char* id : {"embed", "l0.attn.add", "l0.ffn.add", "l1.attn.add", "l1.ffn.add"}) {
    CHECK(circuit.edges[node(circuit, id).outputs[0]].is_stream);
  }
  for (const Policy policy : {Policy::Fast, Policy::Reference}) {
    CHECK(resolve_precision(circuit, policy).ok());
  }
}

TEST_CASE("the circuit that golden plans are made of is the one that files give") {
  const Result<Model> model = parse(tiny_llama());
  REQUIRE(model.ok());
  fixture::LlamaSizes sizes;
  sizes.layers = 2;
  sizes.hidden = 64;
  sizes.feed_forward = 96;
  sizes.heads = 2;
  sizes.kv_heads = 1;
  sizes.head_dim = 32;
  sizes.vocabulary = 260;
  sizes.base = 10000;
  const Result<Circuit> built = fixture::LlamaFixture(sizes).build().finish();
  REQUIRE(built.ok());
  CHECK(built->dump() == model->circuit().dump());
}

TEST_CASE("a head of its own, and other formats, are taken from the file") {
  GgufWriter writer = tiny_llama();
  writer.tensor("output.weight", 1, {64, 260});  // f16
  writer.remove_tensor("blk.0.ffn_up.weight").tensor("blk.0.ffn_up.weight", 7, {64, 96});
  const Result<Model> model = parse(std::move(writer));
  REQUIRE(model.ok());
  CHECK_FALSE(model->parameters().tied_head);
  CHECK(node(model->circuit(), "logits").weights[0] ==
        WeightRef{"output.weight", Format::F16, 260, 64});
  CHECK(node(model->circuit(), "l0.ffn.up").weights[0].format == Format::Q5_1);
}

TEST_CASE("heads of another length than the embedding gives") {
  GgufWriter writer = tiny_llama();
  writer.set("llama.attention.key_length", u32{16}).set("llama.attention.value_length", u32{16});
  writer.set("llama.rope.dimension_count", u32{8});
  for (const char* layer : {"blk.0.", "blk.1."}) {
    const std::string block = layer;
    for (const char* name : {"attn_q.weight", "attn_k.weight", "attn_v.weight",
                             "attn_output.weight"}) {
      writer.remove_tensor(block + name);
    }
    writer.tensor(block + "attn_q.weight", 8, {64, 32});
    writer.tensor(block + "attn_k.weight", 8, {64, 16});
    writer.tensor(block + "attn_v.weight", 8, {64, 16});
    writer.tensor(block + "attn_output.weight", 8, {32, 64});
  }
  const Result<Model> model = parse(std::move(writer));
  REQUIRE(model.ok());
  CHECK(model->parameters().head_dim == 16);
  CHECK(node(model->circuit(), "l0.attn.attend").param("scale") == 0.25);
  CHECK(node(model->circuit(), "l0.attn.q_rope").param("dims") == 8);
}

TEST_CASE("the architecture") {
  refuses(tiny_llama().remove("general.architecture"), {"model.key.missing general.architecture"});
  refuses(tiny_llama().set("general.architecture", u32{1}),
          {"model.key.type general.architecture"});
  const Result<Model> other = parse(tiny_llama().set("general.architecture", "mamba"));
  REQUIRE_FALSE(other.ok());
  CHECK(other.error().reason() == Reason::model_architecture);
  CHECK(other.error().message().find("'mamba'") != std::string::npos);
  CHECK(other.error().message().find("llama") != std::string::npos);
}

TEST_CASE("adapters and parts of models") {
  refuses(tiny_llama().set("general.type", "adapter"), {"model.unsupported general.type"});
  refuses(tiny_llama().set("split.count", u16{3}), {"model.unsupported split.count"});
  CHECK(parse(tiny_llama().set("split.count", u16{1}).set("general.type", "model")).ok());
  refuses(tiny_llama().set("general.name", u32{1}), {"model.key.type general.name"});
}

TEST_CASE("all missing and mistyped keys are told at once") {
  GgufWriter writer = tiny_llama();
  writer.remove("llama.block_count").remove("llama.attention.head_count");
  writer.set("llama.context_length", "many").set("llama.rope.freq_base", u32{10000});
  writer.set("llama.attention.layer_norm_rms_epsilon", std::numeric_limits<float>::quiet_NaN());
  writer.set("llama.expert_count", u32{8});
  const Result<Model> model = parse(std::move(writer));
  REQUIRE_FALSE(model.ok());
  const std::vector<std::string> found = problems(model.error());
  for (const char* expected :
       {"model.key.missing llama.block_count", "model.key.missing llama.attention.head_count",
        "model.key.type llama.context_length", "model.key.type llama.rope.freq_base",
        "model.parameter llama.attention.layer_norm_rms_epsilon",
        "model.unsupported llama.expert_count"}) {
    INFO(expected);
    CHECK(std::count(found.begin(), found.end(), expected) == 1);
  }
}

TEST_CASE("parameters out of range") {
  for (const char* key : {"block_count", "embedding_length", "feed_forward_length",
                          "context_length", "attention.head_count", "attention.head_count_kv",
                          "rope.dimension_count", "vocab_size"}) {
    const std::string name = std::string("llama.") + key;
    for (const u64 value : {u64{0}, u64{1} << 31, ~u64{}}) {
      INFO(name << " = " << value);
      const Result<Model> model = parse(tiny_llama().set(name, value));
      REQUIRE_FALSE(model.ok());
      CHECK(problems(model.error())[0] == "model.parameter " + name);
    }
    CHECK_FALSE(parse(tiny_llama().set(name, i32{-1})).ok());
  }
  for (const float base : {0.0F, -1.0F, std::numeric_limits<float>::infinity()}) {
    refuses(tiny_llama().set("llama.rope.freq_base", base),
            {"model.parameter llama.rope.freq_base"});
  }
}

TEST_CASE("parameters that contradict each other") {
  refuses(tiny_llama().set("llama.attention.head_count", u32{3})
              .set("llama.attention.head_count_kv", u32{3}),
          {"model.parameter"});
  refuses(tiny_llama().set("llama.attention.head_count", u32{4})
              .set("llama.attention.head_count_kv", u32{3})
              .set("llama.rope.dimension_count", u32{16}),
          {"model.parameter"});
  refuses(tiny_llama().set("llama.rope.dimension_count", u32{31}), {"model.parameter"});
  refuses(tiny_llama().set("llama.rope.dimension_count", u32{64}), {"model.parameter"});
  refuses(tiny_llama().set("llama.attention.value_length", u32{16}), {"model.parameter"});
}

TEST_CASE("variants that would compute something else") {
  const auto refused = [](GgufWriter writer, const std::string& key) {
    refuses(std::move(writer), {"model.unsupported llama." + key});
  };
  refused(tiny_llama().set("llama.rope.scaling.type", "yarn"), "rope.scaling.type");
  refused(tiny_llama().set("llama.rope.scale_linear", 2.0F), "rope.scale_linear");
  refused(tiny_llama().set("llama.final_logit_softcapping", 30.0F), "final_logit_softcapping");
  refused(tiny_llama().set("llama.attention.causal", false), "attention.causal");
  CHECK(parse(tiny_llama().set("llama.rope.scaling.type", "none")
                  .set("llama.expert_count", u32{0}).set("llama.attention.causal", true)).ok());
}

TEST_CASE("all tensor problems are told at once") {
  GgufWriter writer = tiny_llama();
  writer.remove_tensor("blk.1.attn_v.weight").remove_tensor("output_norm.weight");
  writer.remove_tensor("blk.0.ffn_up.weight").tensor("blk.0.ffn_up.weight", 3, {96, 64});
  writer.remove_tensor("blk.0.ffn_down.weight").tensor("blk.0.ffn_down.weight", 20, {96, 64});
  writer.remove_tensor("blk.0.attn_norm.weight").tensor("blk.0.attn_norm.weight", 1, {64});
  writer.tensor("blk.0.attn_q.bias", 0, {64}).tensor("rope_freqs.weight", 0, {16});
  const Result<Model> model = parse(std::move(writer));
  REQUIRE_FALSE(model.ok());
  std::vector<std::string> found = problems(model.error());
  std::sort(found.begin(), found.end());
  CHECK(found == std::vector<std::string>{
                     "model.tensor.extra blk.0.attn_q.bias",
                     "model.tensor.format blk.0.attn_norm.weight",
                     "model.tensor.format blk.0.ffn_down.weight",
                     "model.tensor.missing blk.1.attn_v.weight",
                     "model.tensor.missing output_norm.weight",
                     "model.tensor.shape blk.0.ffn_up.weight",
                     "model.unsupported rope_freqs.weight"});
}

TEST_CASE("a format without kernels is refused by its name") {
  GgufWriter writer = tiny_llama();
  writer.remove_tensor("blk.0.ffn_down.weight").tensor("blk.0.ffn_down.weight", 20, {96, 64});
  const Result<Model> model = parse(std::move(writer));
  REQUIRE_FALSE(model.ok());
  CHECK(model.error().message().find("iq4_nl") != std::string::npos);
  CHECK(model.error().message().find("q4_1") != std::string::npos);
}

TEST_CASE("a vocabulary of another size than the tokenizer's") {
  GgufWriter writer = tiny_llama();
  writer.set("llama.vocab_size", u32{261});
  writer.remove_tensor("token_embd.weight").tensor("token_embd.weight", 8, {64, 261});
  refuses(std::move(writer), {"tokenizer.broken"});
}

TEST_CASE("every file of the tiny models opens, mapped and read") {
  const std::string folder = environment("SOMA_TINY_DIR");
  REQUIRE_FALSE(folder.empty());
  for (const char* format : {"f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0",
                             "mixed"}) {
    const std::string path = folder + "/tiny-" + format + ".gguf";
    for (const LoadMode mode : {LoadMode::Map, LoadMode::Read}) {
      const Result<Model> model = Model::open(path, mode);
      if (!model.ok()) FAIL(model.error().message());
      CHECK(model->parameters().vocabulary == 300);
      CHECK(model->parameters().tied_head == (std::string(format) != "mixed"));
    }
  }
}

TEST_CASE("an error of open names the file") {
  const Result<Model> model = Model::open("tests/unit/main.cpp", LoadMode::Map);
  REQUIRE_FALSE(model.ok());
  CHECK(model.error().reason() == Reason::gguf_magic);
  CHECK(model.error().message().starts_with("'tests/unit/main.cpp': byte 0: "));
}

TEST_SUITE_BEGIN("model");

TEST_CASE("SmolLM2-135M as its makers wrote it") {
  const std::string path = environment("SOMA_TEST_MODEL");
  REQUIRE_FALSE(path.empty());
  const Result<Model> model = Model::open(path, LoadMode::Map);
  if (!model.ok()) FAIL(model.error().message());
  const HyperParameters& p = model->parameters();
  CHECK(p.layers == 30);
  CHECK(p.hidden == 576);
  CHECK(p.feed_forward == 1536);
  CHECK(p.heads == 9);
  CHECK(p.kv_heads == 3);
  CHECK(p.head_dim == 64);
  CHECK(p.vocabulary == 49152);
  CHECK(p.context == 8192);
  CHECK(p.rope_base == 100000);
  CHECK(p.tied_head);
  CHECK(model->file().tensors().size() == 272);
  CHECK(model->circuit().nodes.size() == 1 + 30 * 16 + 4);
  CHECK(node(model->circuit(), "l29.ffn.down").weights[0] ==
        WeightRef{"blk.29.ffn_down.weight", Format::Q4_1, 576, 1536});
  u64 weight_bytes = 0;
  for (const gguf::Tensor& tensor : model->file().tensors()) weight_bytes += tensor.bytes.size();
  CHECK(weight_bytes == 96576768);
}

TEST_SUITE_END();
