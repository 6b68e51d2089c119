// Scans the numbers and strings of JSON.
#include "base/json_scan.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"

namespace soma {

namespace {

// The character at `at`; NUL behind the end: no token contains it, so it needs no check of its own.
char look(std::string_view text, size_t at) { return at < text.size() ? text[at] : '\0'; }

size_t skip_digits(std::string_view text, size_t at) {
  while (is_digit(look(text, at))) ++at;
  return at;
}

std::optional<u32> hex_digits(std::string_view text, size_t at) {
  u32 out = 0;
  if (at > text.size() || text.size() - at < 4) return std::nullopt;
  for (const char c : text.substr(at, 4)) {
    const int digit = is_digit(c)              ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
    if (digit < 0) return std::nullopt;
    out = out << 4 | static_cast<u32>(digit);
  }
  return out;
}

void append_utf8(std::string& out, u32 code) {
  const auto put = [&out](u32 byte) { out += static_cast<char>(byte); };
  const auto tail = [&put, code](u32 shift) { put(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    put(0xF0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

// Reads what follows \u, and a second escape if the first is half of a pair. Moves `at` behind it,
// or says what should have been there.
std::string_view scan_code(std::string_view text, size_t& at, u32& code) {
  const std::optional<u32> first = hex_digits(text, at + 2);
  if (!first) return "four hexadecimal digits after \\u";
  if (*first == 0) return "no NUL in a string";
  if (*first >= 0xDC00 && *first <= 0xDFFF) return "no low surrogate without a high one before it";
  code = *first;
  at += 6;
  if (*first < 0xD800 || *first > 0xDBFF) return {};
  const bool escape = look(text, at) == '\\' && look(text, at + 1) == 'u';
  const std::optional<u32> second = escape ? hex_digits(text, at + 2) : std::nullopt;
  if (!second || *second < 0xDC00 || *second > 0xDFFF) {
    return "the escape of a low surrogate after a high one";
  }
  code = 0x10000 + ((*first & 0x3FF) << 10 | (*second & 0x3FF));
  at += 6;
  return {};
}

// Where the number's first digit other than 0 stands: 12.5 → 2, 0.012 → -1; nothing for zero.
// The exponent is added saturated: no text is long enough to make up for more.
std::optional<i64> magnitude(std::string_view spelling) {
  constexpr i64 exponent_max = i64{1} << 60;
  const size_t end = std::min(spelling.find_first_of("eE"), spelling.size());
  const std::string_view digits = spelling.substr(0, end);
  const size_t first = digits.find_first_of("123456789");
  if (first == std::string_view::npos) return std::nullopt;
  const auto point = static_cast<i64>(std::min(digits.find('.'), digits.size()));
  const i64 place = point - static_cast<i64>(first) + (point < static_cast<i64>(first) ? 1 : 0);
  i64 exponent = 0;
  bool negative = false;
  for (const char c : spelling.substr(end)) {
    negative = negative || c == '-';
    if (is_digit(c) && exponent < exponent_max / 16) exponent = exponent * 10 + (c - '0');
  }
  return place + (negative ? -exponent : exponent);
}

}  // namespace

JsonToken scan_json_number(std::string_view text, size_t at) {
  if (look(text, at) == '-') ++at;
  if (!is_digit(look(text, at))) return {at, "a digit"};
  if (look(text, at) == '0' && is_digit(look(text, at + 1))) {
    return {at + 1, "no digit after a leading 0"};
  }
  JsonToken out;
  at = skip_digits(text, at);
  if (look(text, at) == '.') {
    out.is_whole = false;
    const size_t digits = at + 1;
    at = skip_digits(text, digits);
    if (at == digits) return {at, "a digit after the decimal point"};
  }
  if (look(text, at) == 'e' || look(text, at) == 'E') {
    out.is_whole = false;
    ++at;
    if (look(text, at) == '+' || look(text, at) == '-') ++at;
    const size_t digits = at;
    at = skip_digits(text, digits);
    if (at == digits) return {at, "a digit of the exponent"};
  }
  out.end = at;
  return out;
}

JsonToken scan_json_string(std::string_view text, size_t at, std::string* out) {
  static constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
  JsonToken token;
  for (++at; at < text.size(); ) {
    const char c = text[at];
    if (c == '"') {
      token.end = at + 1;
      return token;
    }
    if (static_cast<u8>(c) < 0x20) return {at, "control characters to be escaped"};
    if (c != '\\') {
      if (out) *out += c;
      ++at;
      continue;
    }
    token.has_escape = true;
    const char letter = look(text, at + 1);
    if (letter == 'u') {
      u32 code = 0;
      const std::string_view expected = scan_code(text, at, code);
      if (!expected.empty()) return {at, expected};
      if (out) append_utf8(*out, code);
      continue;
    }
    const size_t meaning = letters.find(letter);
    if (meaning == std::string_view::npos) {
      return {at, "an escape: one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u"};
    }
    if (out) *out += meanings[meaning];
    at += 2;
  }
  return {text.size(), "'\"' at the end of the string"};
}

std::optional<double> json_number(std::string_view spelling) {
  double out = 0;
  const std::from_chars_result read =
      std::from_chars(spelling.data(), spelling.data() + spelling.size(), out);
  const bool finite = out - out == 0;
  if (read.ec == std::errc() && finite) return out;
  // Out of range, but at which end? What is too small for a double rounds to zero.
  const std::optional<i64> place = magnitude(spelling);
  if (place && *place > 0) return std::nullopt;
  return spelling.starts_with('-') ? -0.0 : 0.0;
}

std::optional<i64> json_integer(std::string_view spelling) {
  i64 out = 0;
  const std::from_chars_result read =
      std::from_chars(spelling.data(), spelling.data() + spelling.size(), out);
  if (read.ec != std::errc()) return std::nullopt;
  return out;
}

std::string found_at(std::string_view text, size_t at) {
  constexpr size_t shown_max = 24;
  if (at >= text.size()) return "the end of the text";
  const auto in_word = [text](size_t i) {
    const char c = look(text, i);
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  size_t end = at + 1;
  if (text[at] == '\\') {
    end = std::min(at + (look(text, at + 1) == 'u' ? 6 : 2), text.size());
  } else if (in_word(at)) {
    while (in_word(end)) ++end;
  } else {
    while (end < text.size() && (static_cast<u8>(text[end]) & 0xC0) == 0x80) ++end;
  }
  return quoted(text.substr(at, end - at), shown_max);
}

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<u8>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace soma
