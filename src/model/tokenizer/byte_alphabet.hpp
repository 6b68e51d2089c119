// The alphabet in which byte-level vocabularies write bytes: one printable character for each.
#pragma once

#include <array>

#include "base/core.hpp"

namespace soma {

// A byte that is a printable character of Latin-1 stands for itself; the 68 others (controls,
// space, 7F..A0, AD) are written as U+0100, U+0101, … in their order, so that a space is "Ġ".
struct ByteAlphabet {
  static constexpr bool is_printable(u32 byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
  }

  // Byte by code point; -1 where the code point is not of the alphabet.
  static constexpr std::array<std::int16_t, 0x144> make_bytes() {
    std::array<std::int16_t, 0x144> bytes{};
    for (std::int16_t& byte : bytes) byte = -1;
    u32 next = 0x100;
    for (u32 byte = 0; byte < 0x100; ++byte) {
      bytes[is_printable(byte) ? byte : next++] = static_cast<std::int16_t>(byte);
    }
    return bytes;
  }

  // Appends the bytes that `text` (valid UTF-8) writes. False, with a part appended, if one of its
  // characters is not of the alphabet.
  template <typename Bytes>
  static bool decode(std::string_view text, Bytes& out) {
    static constexpr auto bytes = make_bytes();
    for (size_t at = 0; at < text.size(); ++at) {
      u32 code = static_cast<u8>(text[at]);
      if (code >= 0x80) {
        // All of the alphabet lies below U+0800: two bytes of UTF-8 at most.
        if (code < 0xC0 || code >= 0xE0 || at + 1 == text.size()) return false;
        code = (code & 0x1F) << 6 | (static_cast<u8>(text[++at]) & 0x3F);
      }
      if (code >= bytes.size() || bytes[code] < 0) return false;
      out.push_back(static_cast<char>(bytes[code]));
    }
    return true;
  }
};

}  // namespace soma
