// Finds the text of special tokens inside other text: the longest at each position.
#include "model/tokenizer/special_texts.hpp"

#include <algorithm>

namespace soma {

void SpecialTexts::add(std::string_view text, TokenId token) {
  rows_.push_back({text, token});
  starts_[static_cast<u8>(text[0])] = true;
}

void SpecialTexts::sort() {
  std::sort(rows_.begin(), rows_.end(),
            [](const Row& a, const Row& b) { return a.text < b.text; });
}

SpecialTexts::Match SpecialTexts::longest(std::string_view text) const {
  Match best{-1, 0};
  auto first = rows_.begin();
  auto last = rows_.end();
  for (size_t depth = 0; depth < text.size(); ++depth) {
    // The row that ends here has no byte at `depth` and comes first: it leaves the run.
    if (first != last && first->text.size() == depth) ++first;
    const auto byte_at = [depth](const Row& row) { return static_cast<u8>(row.text[depth]); };
    const u8 byte = static_cast<u8>(text[depth]);
    first = std::partition_point(first, last, [&](const Row& row) { return byte_at(row) < byte; });
    last = std::partition_point(first, last, [&](const Row& row) { return byte_at(row) == byte; });
    if (first == last) break;
    if (first->text.size() == depth + 1) best = {first->token, depth + 1};
  }
  return best;
}

}  // namespace soma
