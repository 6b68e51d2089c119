// The KV store and attention for AVX-512: ../lanes/attend.inc.
#if defined(__x86_64__)

#include "backend/cpu/kernels/avx512/lanes.hpp"
#include "backend/cpu/kernels/avx512/set.hpp"

namespace soma::cpu::avx512 {

enum { kTile = 8 };  // queries a tile: 8 registers of sums, enough to hide their latency

#include "backend/cpu/kernels/lanes/single.inc"
#include "backend/cpu/kernels/lanes/exp.inc"
#include "backend/cpu/kernels/lanes/attend.inc"

}  // namespace soma::cpu::avx512

#endif
