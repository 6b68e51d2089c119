// Float activations for AVX-512: ../lanes/matmul_f32.inc.
#if defined(__x86_64__)

#include "backend/cpu/kernels/avx512/lanes.hpp"
#include "backend/cpu/kernels/avx512/set.hpp"

namespace soma::cpu::avx512 {

enum { kSums = 8 };  // groups × rows at once: 8 registers of sums

#include "backend/cpu/kernels/lanes/matmul_f32.inc"

}  // namespace soma::cpu::avx512

#endif
