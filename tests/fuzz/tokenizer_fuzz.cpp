// Fuzzes the tokenizer: every text comes back from its ids, whatever family cut it, and bytes that
// are no text give an error.
#include "../unit/model/tokenizer_fixture.hpp"
#include "base/text.hpp"

namespace {

using namespace soma;

std::vector<Tokenizer> make_tokenizers() {
  std::vector<Tokenizer> tokenizers;
  for (const char* rule : {"gpt-2", "llama-bpe", "qwen2", "smollm"}) {
    test::TokenizerFixture fixture;
    for (const char* pair : {" t", "he", "  ", "11", "\xC3\xA9", "\xF0\x9F", "\n\n", "ab"}) {
      fixture.merge(std::string_view(pair, 1), std::string_view(pair + 1, 1));
    }
    fixture.merge(" t", "he");
    fixture.merge("ab", "ab");
    fixture.merge("  ", "  ");
    fixture.add("<|end|>", 3);
    fixture.add("<|end|>>", 3);
    fixture.add("<|", 4);
    fixture.add("\t\t", 4);
    fixture.add("\u4E2D\u6587", 4);
    fixture.writer.set("tokenizer.ggml.pre", rule).set("tokenizer.ggml.bos_token_id", u32{0});
    Result<Tokenizer> tokenizer = fixture.build();
    if (!tokenizer.ok()) __builtin_trap();
    tokenizers.push_back(std::move(tokenizer).value());
  }
  return tokenizers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  static const std::vector<Tokenizer> tokenizers = make_tokenizers();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool valid = find_invalid_utf8(text) == std::string_view::npos;
  for (const Tokenizer& tokenizer : tokenizers) {
    for (const bool special : {false, true}) {
      const Result<std::vector<TokenId>> ids = tokenizer.encode(text, special);
      if (ids.ok() != valid) __builtin_trap();
      if (!valid) continue;
      std::string back;
      for (const TokenId id : *ids) {
        const Result<std::string> piece = tokenizer.piece(id, true);
        if (!piece.ok() || piece->empty()) __builtin_trap();
        back += *piece;
      }
      if (back != text) __builtin_trap();
    }
  }
  return 0;
}
