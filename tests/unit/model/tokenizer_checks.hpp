// Steps of tokenizer tests that must succeed, and end the test with the error's message if not.
#pragma once

#include <doctest/doctest.h>

#include "model/tokenizer/tokenizer.hpp"

namespace soma::test {

template <typename T>
T must(Result<T> result) {
  REQUIRE_MESSAGE(result.ok(), (result.ok() ? "" : result.error().message()));
  return std::move(result).value();
}

inline std::vector<TokenId> encode(const Tokenizer& tokenizer, std::string_view text,
                                   bool special = false) {
  return must(tokenizer.encode(text, special));
}

inline std::string decode(const Tokenizer& tokenizer, std::span<const TokenId> ids,
                          bool special = false) {
  std::string out;
  for (const TokenId id : ids) out += must(tokenizer.piece(id, special));
  return out;
}

}  // namespace soma::test
