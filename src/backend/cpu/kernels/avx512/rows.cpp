// The rows family for AVX-512: ../lanes/rows.inc and embed.inc.
#if defined(__x86_64__)

#include "backend/cpu/kernels/avx512/lanes.hpp"
#include "backend/cpu/kernels/avx512/set.hpp"

namespace soma::cpu::avx512 {

#include "backend/cpu/kernels/lanes/single.inc"
#include "backend/cpu/kernels/lanes/exp.inc"
#include "backend/cpu/kernels/lanes/rows.inc"
#include "backend/cpu/kernels/lanes/embed.inc"

}  // namespace soma::cpu::avx512

#endif
