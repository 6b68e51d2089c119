// Proves that the AVX-512 int8 products give the scalar set's bytes on any machine: the very
// same file is compiled here, emulated.
#include "avx512_emulation.hpp"

#include <doctest/doctest.h>

#include "backend/cpu/kernels/avx512/matmul_q8a.cpp"
#include "kernel_parity.hpp"

namespace soma::cpu {

TEST_CASE("emulated avx512: int8 products") {
  KernelSet set = *scalar_kernels;
  set.matmul_q8a = avx512_emulated::matmul_q8a;
  set.scratch_bytes = [](int64_t columns, int64_t rows, int64_t, int64_t) {
    return avx512_emulated::matmul_scratch_bytes(columns, rows);
  };
  check_matmul_q8a(set, false);
}

}  // namespace soma::cpu
