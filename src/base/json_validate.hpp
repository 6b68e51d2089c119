// Proves that a text is strict JSON, and keeps what the proof found out about its numbers.
#pragma once

#include "base/json.hpp"

namespace soma {

struct ValidJson {
  // The document with a plain 0 in place of every number, and blanks behind it: a reader that
  // converts numbers by the locale's rules has nothing left to get wrong.
  std::string text;
  std::vector<double> numbers;  // in the order of the text
};

// document_syntax, document_duplicate_key, document_limit.
Result<ValidJson> validate_json(std::string_view text, const JsonLimits& limits);

}  // namespace soma
