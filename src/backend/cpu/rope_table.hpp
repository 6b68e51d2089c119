// The cosines and sines of a step's positions: made once a step, read by all layers. They come from
// our own arithmetic, because a C library's differ by processor.
#pragma once

#include "base/core.hpp"

namespace soma::cpu {

// A number as the unevaluated sum of two doubles: about 106 bits.
struct Pair {
  double high = 0;
  double low = 0;
};

// A row's table holds `dims` floats. Halves: dims/2 cosines, then dims/2 sines. Adjacent pairs:
// the same for each piece of 16 columns by itself, so that a piece can be rotated alone.
constexpr i64 rope_piece = 16;

// Pair i of a head turns by position × base^(−2i / dims).
class RopeTable {
 public:
  // base >= 1 and finite; dims even.
  RopeTable(double base, i64 dims, bool adjacent);
  bool serves(double base, i64 dims, bool adjacent) const {
    return base_ == base && dims_ == dims && adjacent_ == adjacent;
  }
  i64 dims() const { return dims_; }
  // Before the last rounding to float the error is below 1e-15, at every position.
  void fill(const i32* positions, u32 rows, float* out) const;

 private:
  double base_;
  i64 dims_;
  bool adjacent_;
  std::vector<Pair> frequencies_;  // [dims / 2]: base^(−2i / dims)
};

}  // namespace soma::cpu
