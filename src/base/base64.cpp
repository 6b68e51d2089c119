// Base64 of RFC 4648, section 4, in its canonical form only.
//
// Three bytes are four letters of six bits each. What is left at the end, one or two bytes, is
// filled up with zero bits and the missing letters are '='. Many readers ignore what those bits
// are, so that several texts mean one content; here they must be zero, and a content that goes into
// a digest has one spelling.
#include "base/base64.hpp"

#include <algorithm>

namespace soma {

namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// The six bits of a letter, or nothing.
std::optional<u32> bits_of(char letter) {
  if (letter >= 'A' && letter <= 'Z') return static_cast<u32>(letter - 'A');
  if (letter >= 'a' && letter <= 'z') return static_cast<u32>(letter - 'a') + 26;
  if (letter >= '0' && letter <= '9') return static_cast<u32>(letter - '0') + 52;
  if (letter == '+') return 62;
  if (letter == '/') return 63;
  return std::nullopt;
}

}  // namespace

std::string base64(std::span<const u8> bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t count = std::min<size_t>(bytes.size() - at, 3);
    u32 group = 0;
    for (size_t i = 0; i < 3; ++i) group = group << 8 | (i < count ? bytes[at + i] : 0U);
    for (size_t i = 0; i < 4; ++i) {
      out += i <= count ? alphabet[group >> (18 - 6 * i) & 63] : '=';
    }
  }
  return out;
}

std::optional<std::vector<u8>> bytes_of_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::vector<u8> out;
  out.reserve(text.size() / 4 * 3);
  for (size_t at = 0; at < text.size(); at += 4) {
    const std::string_view letters = text.substr(at, 4);
    // Padding stands at the very end of the text only, and is one or two letters long.
    const bool is_last = at + 4 == text.size();
    const size_t padding = !is_last || letters[3] != '=' ? 0 : letters[2] != '=' ? 1 : 2;
    u32 group = 0;
    for (size_t i = 0; i < 4 - padding; ++i) {
      const std::optional<u32> bits = bits_of(letters[i]);
      if (!bits) return std::nullopt;
      group |= *bits << (18 - 6 * i);
    }
    const u32 unused = (1U << (8 * padding)) - 1;
    if ((group & unused) != 0) return std::nullopt;
    for (size_t i = 0; i < 3 - padding; ++i) {
      out.push_back(static_cast<u8>(group >> (16 - 8 * i)));
    }
  }
  return out;
}

}  // namespace soma
