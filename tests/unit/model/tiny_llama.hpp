// A llama model of two layers as a GgufWriter, for tests that change one thing in it. Its weights
// are zeros; its tokenizer has the 256 bytes, three control tokens and one merge.
#pragma once

#include "gguf_writer.hpp"

namespace soma::test {

inline std::string utf8(u32 code) {  // of code points below U+0800
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
}

// Byte-level BPE writes each byte as a printable character.
inline std::vector<std::string> byte_tokens() {
  std::vector<std::string> out;
  u32 spare = 0x100;
  for (u32 byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) ||
                           byte >= 0xAE;
    out.push_back(utf8(printable ? byte : spare++));
  }
  return out;
}

inline void add_tokenizer(GgufWriter& writer) {
  std::vector<std::string> tokens = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
  for (const std::string& token : byte_tokens()) tokens.push_back(token);
  tokens.push_back("he");
  std::vector<i32> types(tokens.size(), 1);
  types[0] = types[1] = types[2] = 3;
  writer.set("tokenizer.ggml.model", "gpt2").set("tokenizer.ggml.pre", "smollm");
  writer.set("tokenizer.ggml.tokens", tokens).set("tokenizer.ggml.token_type", types);
  writer.set("tokenizer.ggml.merges", std::vector<std::string>{"h e"});
  writer.set("tokenizer.ggml.bos_token_id", u32{1}).set("tokenizer.ggml.eos_token_id", u32{2});
  writer.set("tokenizer.ggml.add_bos_token", false);
}

inline GgufWriter tiny_llama() {
  constexpr u64 hidden = 64, feed_forward = 96, kv_width = 32, vocabulary = 260;
  constexpr u32 f32_type = 0, q4_1_type = 3, q8_0_type = 8;
  GgufWriter writer;
  writer.set("general.architecture", "llama").set("general.name", "tiny");
  writer.set("llama.block_count", u32{2}).set("llama.context_length", u32{256});
  writer.set("llama.embedding_length", u32{hidden});
  writer.set("llama.feed_forward_length", u32{feed_forward});
  writer.set("llama.attention.head_count", u32{2}).set("llama.attention.head_count_kv", u32{1});
  writer.set("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  writer.set("llama.rope.freq_base", 10000.0F).set("llama.rope.dimension_count", u32{32});
  writer.set("llama.vocab_size", u32{vocabulary});
  add_tokenizer(writer);
  writer.tensor("token_embd.weight", q8_0_type, {hidden, vocabulary});
  for (u32 layer = 0; layer < 2; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    writer.tensor(block + "attn_norm.weight", f32_type, {hidden});
    writer.tensor(block + "attn_q.weight", q4_1_type, {hidden, hidden});
    writer.tensor(block + "attn_k.weight", q4_1_type, {hidden, kv_width});
    writer.tensor(block + "attn_v.weight", q4_1_type, {hidden, kv_width});
    writer.tensor(block + "attn_output.weight", q4_1_type, {hidden, hidden});
    writer.tensor(block + "ffn_norm.weight", f32_type, {hidden});
    writer.tensor(block + "ffn_gate.weight", q4_1_type, {hidden, feed_forward});
    writer.tensor(block + "ffn_up.weight", q4_1_type, {hidden, feed_forward});
    writer.tensor(block + "ffn_down.weight", q4_1_type, {feed_forward, hidden});
  }
  writer.tensor("output_norm.weight", f32_type, {hidden});
  return writer;
}

}  // namespace soma::test
