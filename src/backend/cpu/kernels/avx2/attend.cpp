// The KV store and attention for AVX2: ../lanes/attend.inc over eight-lane halves.
#if defined(__x86_64__)

#include "backend/cpu/kernels/avx2/lanes.hpp"
#include "backend/cpu/kernels/avx2/set.hpp"

namespace soma::cpu::avx2 {

enum { kTile = 4 };  // queries a tile: 4 × 2 registers of sums, beside a key and a factor

#include "backend/cpu/kernels/lanes/single.inc"
#include "backend/cpu/kernels/lanes/exp.inc"
#include "backend/cpu/kernels/lanes/attend.inc"

}  // namespace soma::cpu::avx2

#endif
