// Replaces characters that PCRE2 takes for something else than the models' tokenizers did.
//
// Problem: the patterns say letter, number and white space, and what is one depends on the version
// of Unicode. The models' tokenizers know 16 (and 17, where they split digits), the PCRE2 of
// Debian 12 knows 14: nine thousand letters and numbers fewer. Besides, PCRE2 counts U+180E as
// white space, which Unicode no longer does. Listing the differences inside the patterns is right,
// and made them twenty times slower: PCRE2 walks a class that is no bitmap range by range.
//
// Idea: a pattern never asks which letter a letter is. So each character that PCRE2 would get wrong
// is replaced, before matching, by one that it gets right, with as many bytes: the places where the
// replaced text is cut are the places where the text is cut. A PCRE2 that knows more of them
// changes nothing.
//
// Cost: one look at each byte, and a binary search at the few lead bytes that such characters have.
#include "model/tokenizer/stand_ins.hpp"

#include <algorithm>
#include <iterator>

namespace soma {

namespace {

enum class Class : u8 {
  Letter,
  Number,
  Digit,  // a number, to those who split digits with the newest Unicode
  Other,
};

struct Range {
  u32 first;
  u32 last;
  Class is;
};

constexpr Range misjudged[] = {
    {0x180E, 0x180E, Class::Other},
#include "model/tokenizer/later_unicode.inc"
};

// One of three bytes and one of four, old enough for every PCRE2.
constexpr std::string_view letters[] = {"\u4E00", "\U00020000"};
constexpr std::string_view numbers[] = {"\u0E50", "\U0001D7D8"};
constexpr std::string_view others[] = {"\u200B", "\U0001F600"};

// Lead bytes of the ranges above: E1 (U+180E, U+1C89), EA (U+A7CB) and all of four bytes.
constexpr bool may_be_misjudged(u8 lead) { return lead == 0xE1 || lead == 0xEA || lead >= 0xF0; }

constexpr bool leads_cover_table() {
  return std::all_of(std::begin(misjudged), std::end(misjudged), [](const Range& range) {
    const auto lead = [](u32 code) { return static_cast<u8>(0xE0 | code >> 12); };
    return range.first >= 0x10000 ||
           (range.first >= 0x800 && range.last < 0x10000 && lead(range.first) == lead(range.last) &&
            may_be_misjudged(lead(range.first)));
  });
}
static_assert(leads_cover_table());
static_assert(std::is_sorted(std::begin(misjudged), std::end(misjudged),
                             [](const Range& a, const Range& b) { return a.last < b.first; }));

// The character at `at`, of three or four bytes.
u32 decode(std::string_view text, size_t at, size_t length) {
  u32 code = static_cast<u8>(text[at]) & (length == 3 ? 0x0F : 0x07);
  for (size_t i = 1; i < length; ++i) code = code << 6 | (static_cast<u8>(text[at + i]) & 0x3F);
  return code;
}

// What stands in for this character; empty: it stands for itself.
std::string_view stand_in(u32 code, size_t length, bool newer_digits) {
  const auto range =
      std::lower_bound(std::begin(misjudged), std::end(misjudged), code,
                       [](const Range& row, u32 wanted) { return row.last < wanted; });
  if (range == std::end(misjudged) || code < range->first) return {};
  const size_t size = length - 3;
  switch (range->is) {
    case Class::Letter:
      return letters[size];
    case Class::Number:
      return numbers[size];
    case Class::Digit:
      return newer_digits ? numbers[size] : others[size];
    case Class::Other:
      return others[size];
  }
  return {};
}

}  // namespace

std::optional<std::string> with_stand_ins(std::string_view text, bool newer_digits) {
  std::optional<std::string> replaced;
  for (size_t at = 0; at < text.size(); ++at) {
    const u8 lead = static_cast<u8>(text[at]);
    if (!may_be_misjudged(lead)) continue;
    const size_t length = lead < 0xF0 ? 3 : 4;
    const std::string_view other = stand_in(decode(text, at, length), length, newer_digits);
    if (other.empty()) continue;
    if (!replaced) replaced.emplace(text);
    replaced->replace(at, length, other);
  }
  return replaced;
}

}  // namespace soma
