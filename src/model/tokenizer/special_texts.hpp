// Finds the text of special tokens inside other text: the longest at each position.
//
// Idea: the texts in sorted order are a trie laid flat. All that start with the same bytes are one
// run of rows, and the shortest comes first in its run; so walking down the trie is narrowing a
// run by binary search, one byte of the text at a time, and remembering the last row that the text
// spelled whole.
//
// Cost: a position whose byte starts no special text costs one look into a table of 256 flags. One
// that does costs O(length of the longest match · log n). The vocabulary limits how long
// special texts are, so that no file makes encoding more than linear.
#pragma once

#include <array>

#include "model/tokenizer/vocabulary.hpp"

namespace soma {

// Views into a vocabulary, which must live as long.
class SpecialTexts {
 public:
  struct Match {
    TokenId token;
    size_t length;
  };

  // `text` is not empty and differs from all before.
  void add(std::string_view text, TokenId token);
  void sort();  // after the last `add`

  bool may_start(char byte) const { return starts_[static_cast<u8>(byte)]; }
  // The longest special text that `text` starts with; token -1 if there is none.
  Match longest(std::string_view text) const;

 private:
  struct Row {
    std::string_view text;
    TokenId token;
  };
  std::vector<Row> rows_;
  std::array<bool, 256> starts_{};
};

}  // namespace soma
