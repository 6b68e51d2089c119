// Byte-pair encoding: joins the symbols of a piece of text, best-ranked merge first.
//
// Problem: a piece starts as one symbol for each byte. Of all neighbours that some merge joins, the
// pair of the lowest rank is replaced by its result, the leftmost of equals first, until no
// neighbours join. Looking through all pairs for each merge is quadratic, and a piece can be as
// long as the text: a megabyte of one letter is one piece.
//
// Idea: symbols are a doubly linked list over an array, and every pair that can join waits in a
// heap ordered by (rank, position of its left symbol). Joining writes the result over the left
// symbol, unlinks the right one and offers the two new pairs, with the neighbours left and right.
// Candidates of pairs that are gone are not searched for; they are dropped when they come up.
//
// Why a candidate that comes up can be judged by its tokens alone: it is good if its left symbol
// still stands and it and its neighbour are the merge's two tokens. A symbol at a position only
// ever grows, and so does its neighbour until it is swallowed; so tokens that are again the same
// mean that the pair was never touched. Positions never move: they are indices of the array. So
// each step takes the best pair that exists, exactly as the definition says, and since every join
// removes a symbol, it ends.
//
// Cost: a piece of n bytes is joined at most n - 1 times, each join offers at most two pairs, so
// at most 3n candidates go through the heap: O(n log n) time; 12 bytes a symbol and 8 a candidate.
#include "model/tokenizer/bpe.hpp"

#include <algorithm>
#include <functional>

#include "base/text.hpp"
#include "model/tokenizer/byte_alphabet.hpp"

namespace soma {

namespace {

constexpr std::string_view merges_key = "tokenizer.ggml.merges";

Error broken_merge(u64 row, std::string_view text, std::string_view why) {
  return fail(Reason::tokenizer_broken, "{}[{}] {}: {}", merges_key, row, quoted(text), why)
      .with("key", merges_key)
      .with("merge", static_cast<i64>(row));
}

}  // namespace

// ---- The table

MergeTable MergeTable::build(const gguf::File& file, const Vocabulary& vocabulary,
                             Problems& problems) {
  MergeTable table;
  const gguf::Value* merges =
      read_array(file, merges_key, gguf::Type::Text, gguf::Type::Text, problems);
  if (merges == nullptr) return table;
  if (merges->count > merges_max) {
    problems.add(fail(Reason::tokenizer_broken, "{} has {} merges; expected at most {}",
                      merges_key, merges->count, merges_max));
    return table;
  }
  table.merges_.reserve(merges->count);
  table.index_ = ProbeIndex(merges->count);
  std::string bytes;
  gguf::for_each_text(*merges, [&](u64 row, std::string_view text) {
    table.add(row, text, vocabulary, bytes, problems);
  });
  return table;
}

// One row is "left right" in the byte alphabet, which writes a space otherwise. `bytes` is scratch.
void MergeTable::add(u64 row, std::string_view text, const Vocabulary& vocabulary,
                     std::string& bytes, Problems& problems) {
  const auto broken = [&](std::string_view why) { problems.add(broken_merge(row, text, why)); };
  const size_t space = text.find(' ');
  if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
    return broken("expected two tokens with one space between them");
  }
  bytes.clear();
  const bool left_known = ByteAlphabet::decode(text.substr(0, space), bytes);
  const size_t middle = bytes.size();
  if (!left_known || !ByteAlphabet::decode(text.substr(space + 1), bytes)) {
    return broken("it has characters that are not of the byte alphabet");
  }
  const std::string_view joined = bytes;
  const Merge merge = {
      .left = vocabulary.find(joined.substr(0, middle)),
      .right = vocabulary.find(joined.substr(middle)),
      .result = vocabulary.find(joined),
  };
  if (merge.left < 0) return broken("what stands left of the space is no normal token");
  if (merge.right < 0) return broken("what stands right of the space is no normal token");
  if (merge.result < 0) return broken("the two joined are no normal token");
  if (find(merge.left, merge.right) >= 0) return broken("this merge is in the list before");
  if (!index_.insert(hash_of(merge.left, merge.right), static_cast<i32>(merges_.size()))) {
    return broken("too many merges share a hash; the file looks crafted");
  }
  merges_.push_back(merge);
}

u64 MergeTable::hash_of(TokenId left, TokenId right) {
  // Multiply and fold: the slot comes from the lower bits, the tag from the upper ones.
  const u64 key = static_cast<u64>(static_cast<u32>(left)) << 32 | static_cast<u32>(right);
  const u64 mixed = (key ^ key >> 29) * 0x9E3779B97F4A7C15;
  return (mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93;
}

// ---- The merging

void Merger::encode(std::string_view piece, std::vector<TokenId>& out) {
  symbols_.clear();
  for (const char byte : piece) {
    const TokenId token = vocabulary_.find_byte(static_cast<u8>(byte));
    if (token < 0) continue;
    const i32 at = static_cast<i32>(symbols_.size());
    symbols_.push_back({token, at - 1, at + 1});
  }
  if (symbols_.empty()) return;
  symbols_.back().next = -1;

  queue_.clear();
  for (i32 at = 0; at + 1 < static_cast<i32>(symbols_.size()); ++at) offer(at);
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    const u64 candidate = queue_.back();
    queue_.pop_back();
    const MergeTable::Merge& merge = merges_.at(static_cast<i32>(candidate >> 32));
    const i32 left = static_cast<i32>(candidate & 0xFFFFFFFF);
    const Symbol& symbol = symbols_[static_cast<size_t>(left)];
    if (symbol.token != merge.left || symbol.next < 0) continue;
    if (symbols_[static_cast<size_t>(symbol.next)].token != merge.right) continue;
    join(left, merge.result);
  }
  for (i32 at = 0; at >= 0; at = symbols_[static_cast<size_t>(at)].next) {
    out.push_back(symbols_[static_cast<size_t>(at)].token);
  }
}

// Puts the pair of this symbol and the next one into the queue, if it joins.
void Merger::offer(i32 left) {
  const Symbol& symbol = symbols_[static_cast<size_t>(left)];
  const i32 rank =
      merges_.find(symbol.token, symbols_[static_cast<size_t>(symbol.next)].token);
  if (rank < 0) return;
  queue_.push_back(static_cast<u64>(rank) << 32 | static_cast<u32>(left));
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
}

void Merger::join(i32 left, TokenId result) {
  Symbol& symbol = symbols_[static_cast<size_t>(left)];
  Symbol& swallowed = symbols_[static_cast<size_t>(symbol.next)];
  symbol.token = result;
  symbol.next = swallowed.next;
  swallowed.token = -1;
  if (symbol.next >= 0) {
    symbols_[static_cast<size_t>(symbol.next)].previous = left;
    offer(left);
  }
  if (symbol.previous >= 0) offer(symbol.previous);
}

}  // namespace soma
