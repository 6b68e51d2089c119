// Walks text by characters: what is shown, what is written as a number, and where it may be cut.
#include "plan/picture_text.hpp"

#include <algorithm>
#include <array>

namespace soma {

namespace {

constexpr std::string_view ellipsis = "…", replacement = "\xEF\xBF\xBD";

struct Range {
  u32 first, last;
};

// Sorted: what of Unicode's format characters, separators and non-characters is shown as a number.
constexpr std::array<Range, 9> unseen = {{{0x00, 0x1F},
                                          {0x7F, 0x9F},
                                          {0x061C, 0x061C},
                                          {0x200E, 0x200F},
                                          {0x2028, 0x202E},
                                          {0x2060, 0x206F},
                                          {0xFEFF, 0xFEFF},
                                          {0xFFF9, 0xFFFB},
                                          {0xFFFE, 0xFFFF}}};
// What belongs to the character before it. A joiner also binds the one after it.
constexpr u32 joiner = 0x200D;
constexpr std::array<Range, 9> extending = {{{0x0300, 0x036F},
                                             {0x0483, 0x0489},
                                             {0x0591, 0x05BD},
                                             {0x064B, 0x065F},
                                             {0x1AB0, 0x1AFF},
                                             {joiner, joiner},
                                             {0x20D0, 0x20FF},
                                             {0xFE00, 0xFE0F},
                                             {0x1F3FB, 0x1F3FF}}};
// Letters of East Asia and pictograms, roughly: a box may be too wide, and must not be too narrow.
constexpr std::array<Range, 6> wide = {{{0x1100, 0x115F},
                                        {0x2600, 0x27BF},
                                        {0x2E80, 0xA4CF},
                                        {0xAC00, 0xD7A3},
                                        {0xF900, 0xFAFF},
                                        {0xFE30, 0xFE6F}}};

template <size_t N>
bool is_in(const std::array<Range, N>& ranges, u32 point) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
    return range.first <= point && point <= range.last;
  });
}

struct Character {
  u32 point = 0;
  size_t size = 0;                // bytes; 0: these are no UTF-8
};

Character first_of(std::string_view text) {
  const u8 lead = static_cast<u8>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return {};
  u32 point = lead & (0x7FU >> size);
  for (size_t i = 1; i < size; ++i) {
    const u8 byte = static_cast<u8>(text[i]);
    if ((byte & 0xC0) != 0x80) return {};
    point = point << 6 | (byte & 0x3FU);
  }
  constexpr std::array<u32, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = point >= 0xD800 && point < 0xE000;
  if (point < least[size] || is_surrogate || point > 0x10FFFF) return {};
  return {point, size};
}

}  // namespace

std::string picture_text(std::string_view raw, u32 characters_max) {
  std::string out;
  size_t cut_at = 0;              // in `out`: where the last character begins that may go
  u32 characters = 0, before = 0;
  while (!raw.empty()) {
    const Character next = first_of(raw);
    const bool is_bound = before == joiner || is_in(extending, next.point);
    if (characters == characters_max) {
      out.resize(is_bound ? cut_at : out.size());
      return out.append(ellipsis);
    }
    if (!is_bound || out.empty()) cut_at = out.size();
    if (next.size == 0) {
      out += replacement;
    } else if (is_in(unseen, next.point) || (next.point & 0xFFFE) == 0xFFFE) {
      out += text("\\u{:04x}", next.point);
    } else {
      out += raw.substr(0, next.size);
    }
    ++characters;
    before = next.point;
    raw.remove_prefix(std::max<size_t>(next.size, 1));
  }
  return out;
}

u32 picture_columns(std::string_view text) {
  u32 columns = 0;
  while (!text.empty()) {
    const Character next = first_of(text);
    columns += is_in(wide, next.point) || next.point >= 0x1F000 ? 2U : 1U;
    text.remove_prefix(std::max<size_t>(next.size, 1));
  }
  return columns;
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace soma
