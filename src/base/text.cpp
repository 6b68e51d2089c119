// Validates UTF-8, and quotes untrusted text for messages.
#include "base/text.hpp"

#include <algorithm>
#include <cstring>

namespace soma {

namespace {

u8 byte_at(std::string_view text, size_t at) { return static_cast<u8>(text[at]); }

// Bytes of the character that starts at `at`, or 0 if it is not valid. The second byte has a
// narrower range after four of the lead bytes: that excludes overlong forms (E0, F0), surrogates
// (ED) and what lies above U+10FFFF (F4).
size_t character_length(std::string_view text, size_t at) {
  const u8 lead = byte_at(text, at);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() - at < length) return 0;
  const u8 lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const u8 highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  const u8 second = byte_at(text, at + 1);
  if (second < lowest || second > highest) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte_at(text, at + i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

size_t find_invalid_utf8(std::string_view text) {
  constexpr u64 high_bits = 0x8080808080808080;
  size_t at = 0;
  while (at < text.size()) {
    // Most text is ASCII: step over eight such bytes at once.
    u64 eight = 0;
    if (text.size() - at >= sizeof eight) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & high_bits) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    if (byte_at(text, at) < 0x80) {
      ++at;
      continue;
    }
    const size_t length = character_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

size_t control_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) -> u32 { return i < text.size() ? byte_at(text, i) : 0; };
  if (at >= text.size()) return 0;
  const u32 lead = byte(at), second = byte(at + 1);
  if (lead < 0x20 || lead == 0x7F) return 1;
  // U+0080..U+009F; some terminals obey them.
  if (lead == 0xC2) return second >= 0x80 && second < 0xA0 ? 2 : 0;
  if (lead == 0xD8) return second == 0x9C ? 2 : 0;                       // U+061C
  if (lead != 0xE2) return 0;
  const u32 tail = second << 8 | byte(at + 2);
  const bool is_direction = tail == 0x808E || tail == 0x808F ||          // U+200E, U+200F
                            (tail >= 0x80AA && tail <= 0x80AE) ||        // U+202A to U+202E
                            (tail >= 0x81A6 && tail <= 0x81A9);          // U+2066 to U+2069
  return is_direction ? 3 : 0;
}

std::string quoted(std::string_view text, size_t limit) {
  std::string out = "'";
  size_t at = 0;
  while (at < text.size()) {
    const size_t length = character_length(text, at);
    if (at + std::max<size_t>(length, 1) > limit) break;
    if (length == 0 || control_length(text, at) != 0) {
      for (size_t i = 0; i < std::max<size_t>(length, 1); ++i) {
        out += soma::text("\\x{:02x}", byte_at(text, at + i));
      }
    } else {
      out += text.substr(at, length);
    }
    at += std::max<size_t>(length, 1);
  }
  out += at < text.size() ? "…'" : "'";
  return out;
}

}  // namespace soma
