// Proves that the AVX-512 float products give the scalar set's bytes on any machine: the very
// same file is compiled here, emulated.
#include "avx512_emulation.hpp"

#include <doctest/doctest.h>

#include "backend/cpu/kernels/avx512/matmul_f32.cpp"
#include "kernel_parity.hpp"

namespace soma::cpu {

TEST_CASE("emulated avx512: float products") {
  KernelSet set = *scalar_kernels;
  set.matmul_f32 = avx512_emulated::matmul_f32;
  check_matmul_f32(set, false);
}

}  // namespace soma::cpu
