// The rows family for AVX2: ../lanes/rows.inc and embed.inc over eight-lane halves.
#if defined(__x86_64__)

#include "backend/cpu/kernels/avx2/lanes.hpp"
#include "backend/cpu/kernels/avx2/set.hpp"

namespace soma::cpu::avx2 {

#include "backend/cpu/kernels/lanes/single.inc"
#include "backend/cpu/kernels/lanes/exp.inc"
#include "backend/cpu/kernels/lanes/rows.inc"
#include "backend/cpu/kernels/lanes/embed.inc"

}  // namespace soma::cpu::avx2

#endif
