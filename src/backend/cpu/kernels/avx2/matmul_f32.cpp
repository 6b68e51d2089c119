// Float activations for AVX2: ../lanes/matmul_f32.inc over eight-lane halves.
#if defined(__x86_64__)

#include "backend/cpu/kernels/avx2/lanes.hpp"
#include "backend/cpu/kernels/avx2/set.hpp"

namespace soma::cpu::avx2 {

enum { kSums = 4 };  // groups × rows at once: 8 registers of sums

#include "backend/cpu/kernels/lanes/matmul_f32.inc"

}  // namespace soma::cpu::avx2

#endif
