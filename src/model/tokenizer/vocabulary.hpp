// The tokens of a model: their bytes by id, and ids by bytes.
#pragma once

#include <array>

#include "model/tokenizer/keys.hpp"
#include "model/tokenizer/probe_index.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace soma {

// What a token is for, by its number in tokenizer.ggml.token_type.
enum class TokenKind : u8 {
  Normal = 1,       // bytes that merges make, written in the byte alphabet
  Unknown = 2,      // stands for what has no token; byte-level vocabularies hardly have one
  Control = 3,      // "<|im_start|>": steers the model, is not part of the text
  UserDefined = 4,  // text that the model's makers added as one token, written as it is
  Unused = 5,       // fills the embedding table up
};

// Immutable after `build`. Owns its bytes: the file may go.
class Vocabulary {
 public:
  static constexpr u64 tokens_max = u64{1} << 24;
  static constexpr u64 table_bytes_max = u64{1} << 30;
  // Of control, unknown and user-defined tokens: looking for them costs that much a byte of text.
  static constexpr size_t special_bytes_max = 1024;

  // Reads and checks tokenizer.ggml.tokens and .token_type. What is wrong goes to `problems`; the
  // vocabulary is of use only if nothing was.
  static Vocabulary build(const gguf::File& file, Problems& problems);

  i64 size() const { return static_cast<i64>(kinds_.size()); }
  TokenKind kind(TokenId token) const { return kinds_[static_cast<size_t>(token)]; }
  // Valid as long as the vocabulary, also when it is moved.
  std::string_view bytes(TokenId token) const {
    const size_t row = static_cast<size_t>(token);
    return {bytes_.data() + starts_[row], starts_[row + 1] - starts_[row]};
  }
  // The normal token with these bytes, or -1. Merges and whole pieces only ever mean those: text
  // must not turn into control tokens by a detour through the merges.
  TokenId find(std::string_view bytes) const;
  TokenId find_byte(u8 byte) const { return byte_tokens_[byte]; }
  // The control token of this text, or -1. Linear in the number of such tokens.
  TokenId find_control(std::string_view text) const;

 private:
  void read_kinds(const gguf::Value& types, u64 tokens, Problems& problems);
  void add(TokenId token, std::string_view text, Problems& problems);
  void check_special_texts(Problems& problems) const;

  std::vector<TokenKind> kinds_;
  std::vector<char> bytes_;     // of all tokens, one after another
  std::vector<u32> starts_{0};  // of each token in bytes_, and behind the last one's end
  ProbeIndex index_;            // normal tokens by their bytes
  std::array<TokenId, 256> byte_tokens_{};
};

}  // namespace soma
