// Small tokenizers in memory for tests: a token for every byte, and whatever a test adds.
#pragma once

#include "gguf_writer.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace soma::test {

// The character that stands for a byte in vocabularies; written apart from the library's table.
inline std::string byte_character(u32 byte) {
  const bool itself = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
  u32 code = byte;
  if (!itself) {
    code = byte <= 32 ? 256 + byte : byte <= 160 ? 256 + 33 + byte - 127 : 256 + 33 + 34;
  }
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}
inline std::string byte_text(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += byte_character(static_cast<u8>(byte));
  return out;
}

struct TokenizerFixture {
  std::vector<std::string> tokens;
  std::vector<i32> types;
  std::vector<std::string> merges;
  GgufWriter writer;

  // Tokens 0..255 are the bytes.
  TokenizerFixture() {
    for (u32 byte = 0; byte < 256; ++byte) add(byte_character(byte), 1);
    writer.set("tokenizer.ggml.model", "gpt2").set("tokenizer.ggml.pre", "gpt-2");
  }
  TokenId add(const std::string& text, i32 type) {
    tokens.push_back(text);
    types.push_back(type);
    return static_cast<TokenId>(tokens.size()) - 1;
  }
  // The token of both joined, which must be new, and the merge that makes it. Plain bytes.
  TokenId merge(std::string_view left, std::string_view right) {
    merges.push_back(byte_text(left) + " " + byte_text(right));
    return add(byte_text(left) + byte_text(right), 1);
  }
  // The tables as keys; a test may then spoil them.
  GgufWriter& tables() {
    return writer.set("tokenizer.ggml.tokens", tokens)
        .set("tokenizer.ggml.token_type", types)
        .set("tokenizer.ggml.merges", merges);
  }
  // Of the keys as they are. A tokenizer owns what it needs: the file is gone when it is used.
  Result<Tokenizer> build_from_keys() {
    const std::vector<u8> bytes = writer.finish();
    Result<gguf::File> file = gguf::File::parse(bytes);
    if (!file.ok()) return std::move(file).error();
    return Tokenizer::build(*file);
  }
  Result<Tokenizer> build() {
    tables();
    return build_from_keys();
  }
};

}  // namespace soma::test
