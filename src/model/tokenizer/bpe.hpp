// Byte-pair encoding: joins the symbols of a piece of text, best-ranked merge first.
#pragma once

#include "model/tokenizer/vocabulary.hpp"

namespace soma {

// The merges in order of rank. Immutable after `build`.
class MergeTable {
 public:
  static constexpr u64 merges_max = u64{1} << 24;

  struct Merge {
    TokenId left;
    TokenId right;
    TokenId result;
  };

  // Reads and checks tokenizer.ggml.merges: each joins two known tokens into a third, none comes
  // twice. Of use only if no problem was added.
  static MergeTable build(const gguf::File& file, const Vocabulary& vocabulary,
                          Problems& problems);

  // The rank of the merge of these two tokens, or -1: they don't join.
  i32 find(TokenId left, TokenId right) const {
    return index_.find(hash_of(left, right), [&](i32 rank) {
      const Merge& merge = at(rank);
      return merge.left == left && merge.right == right;
    });
  }
  const Merge& at(i32 rank) const { return merges_[static_cast<size_t>(rank)]; }

 private:
  static u64 hash_of(TokenId left, TokenId right);
  void add(u64 row, std::string_view text, const Vocabulary& vocabulary, std::string& bytes,
           Problems& problems);

  std::vector<Merge> merges_;
  ProbeIndex index_;
};

// The working memory of one call, kept from piece to piece so that it is allocated once.
class Merger {
 public:
  // Both must live as long.
  Merger(const Vocabulary& vocabulary, const MergeTable& merges)
      : vocabulary_(vocabulary), merges_(merges) {}

  // Appends the tokens of one piece of text to `out`. Bytes that have no token are dropped.
  void encode(std::string_view piece, std::vector<TokenId>& out);

 private:
  struct Symbol {
    TokenId token;  // -1: joined to the symbol before it
    i32 previous;   // -1: the first
    i32 next;       // -1: the last
  };

  void offer(i32 left);
  void join(i32 left, TokenId result);

  const Vocabulary& vocabulary_;
  const MergeTable& merges_;
  std::vector<Symbol> symbols_;
  std::vector<u64> queue_;  // a heap: rank in the upper half, position of the left symbol below
};

}  // namespace soma
