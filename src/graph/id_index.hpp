// Finds nodes by their ids.
#pragma once

#include "base/hash.hpp"

namespace soma {

// A table with open addressing: eight bytes an entry, at most half full. The texts stay where they
// are and outlive the table.
class IdIndex {
 public:
  static constexpr u32 none = ~u32{0};

  explicit IdIndex(size_t count) {
    size_t size = 16;
    while (size < 2 * count) size *= 2;
    slots_.assign(size, {0, none});
    texts_.reserve(count);
  }

  // Gives the text the next number, counted from 0; of a text that is there already, that one's
  // number is returned, and the new number finds nothing.
  u32 add(std::string_view text) {
    const u32 number = static_cast<u32>(texts_.size());
    texts_.push_back(text);
    const u64 hash = hash_(text);
    Slot& slot = slots_[place_of(text, hash)];
    if (slot.number == none) slot = {static_cast<u32>(hash >> 32), number};
    return slot.number;
  }
  u32 find(std::string_view text) const { return slots_[place_of(text, hash_(text))].number; }

 private:
  struct Slot {
    u32 hash, number;
  };

  // Where the text is, or would be.
  size_t place_of(std::string_view text, u64 hash) const {
    size_t at = hash & (slots_.size() - 1);
    const u32 high = static_cast<u32>(hash >> 32);
    for (; slots_[at].number != none; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].hash == high && texts_[slots_[at].number] == text) break;
    }
    return at;
  }

  TextHash hash_;
  std::vector<Slot> slots_;
  std::vector<std::string_view> texts_;  // by number
};

}  // namespace soma
