// Finds rows of a table by the hash of their key, within a fixed number of probes.
//
// Problem: the keys come from a file that may be crafted. In an ordinary hash table a file whose
// keys all have one hash makes every look-up walk all rows, and building the table quadratic.
//
// Idea: open addressing with linear probing, at most half full, and a limit on how far a row may
// lie from its home slot. A row that finds no slot within the limit is refused, and the builder
// then refuses the file. A look-up never goes farther than the limit either, since no row lies
// there.
//
// Why honest files pass: with a mixing hash and half the slots free, the chance that a row is
// displaced by k slots falls as exp(-0.19 k); for 256 slots and a million rows that is below 1e-14.
//
// Cost: O(1) a look-up, at most `probes_max` comparisons of 32 bits; eight bytes a slot.
#pragma once

#include <bit>

#include "base/core.hpp"

namespace soma {

class ProbeIndex {
 public:
  static constexpr size_t probes_max = 256;

  explicit ProbeIndex(size_t rows_max = 0)
      : slots_(std::bit_ceil(rows_max * 2 + 1)), mask_(slots_.size() - 1) {}

  // Puts in a row whose key is not in it yet. False if the row would lie beyond the limit.
  bool insert(u64 hash, i32 row) {
    for (size_t probe = 0; probe < probes_max; ++probe) {
      Slot& slot = slots_[(hash + probe) & mask_];
      if (slot.row < 0) {
        slot = {tag(hash), row};
        return true;
      }
    }
    return false;
  }

  // The row whose key has this hash and for which `equal(row)` holds, or -1.
  template <typename Equal>
  i32 find(u64 hash, Equal equal) const {
    for (size_t probe = 0; probe < probes_max; ++probe) {
      const Slot& slot = slots_[(hash + probe) & mask_];
      if (slot.row < 0) return -1;
      if (slot.tag == tag(hash) && equal(slot.row)) return slot.row;
    }
    return -1;
  }

 private:
  struct Slot {
    u32 tag = 0;   // the hash's upper half: settles most comparisons without touching the row
    i32 row = -1;  // -1: free
  };
  static u32 tag(u64 hash) { return static_cast<u32>(hash >> 32); }

  std::vector<Slot> slots_;
  size_t mask_;
};

}  // namespace soma
