// Fuzzes the tables of a tokenizer: any tokens, types and merges make a tokenizer that works, or
// an error. The input is lines: "TYPE text" adds a token, "m left right" a merge, and the last
// line is the text to encode. Half of the inputs start from a token for every byte.
#include "../unit/model/tokenizer_fixture.hpp"
#include "base/text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  using namespace soma;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  test::TokenizerFixture fixture;
  if (rest.starts_with('-')) {
    fixture.tokens.clear();
    fixture.types.clear();
    rest.remove_prefix(1);
  }
  for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (line.size() < 2) continue;
    if (line[0] == 'm') {
      fixture.merges.emplace_back(line.substr(2));
    } else {
      fixture.add(std::string(line.substr(2)), line[0] - '0');
    }
  }
  const Result<Tokenizer> tokenizer = fixture.build();
  if (!tokenizer.ok()) {
    if (tokenizer.error().message().empty()) __builtin_trap();
    return 0;
  }
  for (const bool special : {false, true}) {
    const Result<std::vector<TokenId>> ids = tokenizer->encode(rest, special);
    if (ids.ok() != (find_invalid_utf8(rest) == std::string_view::npos)) __builtin_trap();
    if (!ids.ok()) continue;
    size_t bytes = 0;
    for (const TokenId id : *ids) {
      const Result<std::string> piece = tokenizer->piece(id, true);
      if (!piece.ok()) __builtin_trap();
      bytes += piece->size();
    }
    if (bytes > rest.size()) __builtin_trap();
  }
  return 0;
}
