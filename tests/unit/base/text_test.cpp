// Proves that UTF-8 is accepted and refused exactly as the Unicode standard says, at the right
// byte, and that quoted text can't carry control characters.
#include "base/text.hpp"

#include <doctest/doctest.h>

using namespace soma;

namespace {

constexpr size_t valid = std::string_view::npos;

std::string bytes(std::initializer_list<int> list) {
  std::string out;
  for (const int byte : list) out += static_cast<char>(byte);
  return out;
}

// The encoding rule written down once more, from the table of well-formed sequences.
std::string encoded(u32 code) {
  const auto byte = [](u32 value) { return static_cast<char>(static_cast<u8>(value)); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | code >> 6), byte(0x80 | (code & 63))};
  if (code < 0x10000) {
    return {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 63)), byte(0x80 | (code & 63))};
  }
  return {byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 63)), byte(0x80 | (code >> 6 & 63)),
          byte(0x80 | (code & 63))};
}

}  // namespace

TEST_CASE("every code point but the surrogates is valid") {
  for (u32 code = 0; code < 0x120000; ++code) {
    const bool good = code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    if ((find_invalid_utf8(encoded(code)) == valid) != good) FAIL("code point " << code);
  }
}

TEST_CASE("the first bad byte is where the ill-formed sequence starts") {
  CHECK(find_invalid_utf8("") == valid);
  CHECK(find_invalid_utf8("plain ASCII, longer than eight bytes") == valid);
  CHECK(find_invalid_utf8(std::string("a\0b", 3)) == valid);
  CHECK(find_invalid_utf8("ü" + bytes({0x80})) == 2);
  CHECK(find_invalid_utf8("12345678" + bytes({0xFF})) == 8);
  CHECK(find_invalid_utf8("123456789012345" + bytes({0xC3})) == 15);
}

TEST_CASE("ill-formed sequences") {
  for (const std::string& bad : {
           bytes({0x80}), bytes({0xBF}), bytes({0xC0, 0x80}), bytes({0xC1, 0xBF}),
           bytes({0xE0, 0x9F, 0xBF}), bytes({0xED, 0xA0, 0x80}), bytes({0xF0, 0x8F, 0xBF, 0xBF}),
           bytes({0xF4, 0x90, 0x80, 0x80}), bytes({0xF5, 0x80, 0x80, 0x80}), bytes({0xFE}),
           bytes({0xC3, 0x28}), bytes({0xE2, 0x82}), bytes({0xE2, 0x28, 0xA1}),
           bytes({0xF0, 0x9F, 0x99}), bytes({0xF0, 0x9F, 0x28, 0x82}),
           bytes({0xF8, 0x88, 0x80, 0x80, 0x80})}) {
    CHECK(find_invalid_utf8(bad) == 0);
    CHECK(find_invalid_utf8("ab" + bad + "c") == 2);
  }
}

TEST_CASE("quoted text is safe to show") {
  CHECK(quoted("token_embd.weight") == "'token_embd.weight'");
  CHECK(quoted("Ġüß🙂") == "'Ġüß🙂'");
  CHECK(quoted("\x1b[2J\n\x7f") == "'\\x1b[2J\\x0a\\x7f'");
  CHECK(quoted(bytes({0xC2, 0x9B, 'x'})) == "'\\xc2\\x9bx'");
  CHECK(quoted("a\u202Eb") == "'a\\xe2\\x80\\xaeb'");
  CHECK(quoted(bytes({0xFF, 'a', 0xC3})) == "'\\xffa\\xc3'");
  CHECK(quoted("") == "''");
}

TEST_CASE("characters that steer who shows them") {
  const auto is_direction = [](u32 code) {
    return code == 0x61C || code == 0x200E || code == 0x200F ||
           (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  };
  for (u32 code = 0; code < 0x11000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    const bool steers = code < 0x20 || (code >= 0x7F && code < 0xA0) || is_direction(code);
    const std::string one = encoded(code);
    if (control_length(one + "x", 0) != (steers ? one.size() : 0)) FAIL("code point " << code);
  }
  CHECK(control_length("\xE2\x80", 0) == 0);
  CHECK(control_length("", 0) == 0);
}

TEST_CASE("quoted text is cut between characters") {
  CHECK(quoted("abcdef", 6) == "'abcdef'");
  CHECK(quoted("abcdefg", 6) == "'abcdef…'");
  CHECK(quoted("abcdeü", 6) == "'abcde…'");
  CHECK(find_invalid_utf8(quoted(std::string(1000, '\xE2'))) == valid);
}
