// Proves that the AVX-512 rows kernels give the scalar set's bytes on any machine: the very same
// file is compiled here, emulated.
#include "avx512_emulation.hpp"

#include <doctest/doctest.h>

#include "backend/cpu/kernels/avx512/rows.cpp"
#include "kernel_parity.hpp"

namespace soma::cpu {

TEST_CASE("emulated avx512: rows") {
  KernelSet set = *scalar_kernels;
  set.rms_norm = avx512_emulated::rms_norm;
  set.quantize = avx512_emulated::quantize;
  set.rope = avx512_emulated::rope;
  set.silu_mul = avx512_emulated::silu_mul;
  set.add = avx512_emulated::add;
  set.argmax = avx512_emulated::argmax;
  set.embed = avx512_emulated::embed;
  check_rows(set);
  check_embed(set);
}

}  // namespace soma::cpu
