// The tokens of JSON that have an inside, numbers and strings, for every grammar that has them.
#pragma once

#include "base/core.hpp"

namespace soma {

// A token, or what is wrong with it.
struct JsonToken {
  size_t end = 0;              // behind the token; of a bad one: where it goes wrong
  std::string_view expected;   // what should be there; empty if the token is good
  bool has_escape = false;     // of a string
  bool is_whole = true;        // of a number: spelled without fraction and exponent
  bool ok() const { return expected.empty(); }
};

// `at` lies on the first character: '-' or a digit.
JsonToken scan_json_number(std::string_view text, size_t at);
// `at` lies on the opening quote; `text` is valid UTF-8. What the string says is appended to `out`,
// if there is one. NUL is refused even as \u0000: half of all readers end a text there.
JsonToken scan_json_string(std::string_view text, size_t at, std::string* out);

// What a good number says, rounded to the nearest double; nothing if it is too large for one.
std::optional<double> json_number(std::string_view spelling);
// What a good number without fraction and exponent says; nothing beyond 64 bits.
std::optional<i64> json_integer(std::string_view spelling);

// For messages: what stands there, and how many characters some valid UTF-8 has.
std::string found_at(std::string_view text, size_t at);
size_t count_characters(std::string_view text);

inline bool is_json_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace soma
