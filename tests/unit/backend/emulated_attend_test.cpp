// Proves that the AVX-512 attention kernels give the scalar set's bytes on any machine: the very
// same file is compiled here, emulated.
#include "avx512_emulation.hpp"

#include <doctest/doctest.h>

#include "backend/cpu/kernels/avx512/attend.cpp"
#include "kernel_parity.hpp"

namespace soma::cpu {

TEST_CASE("emulated avx512: attention") {
  KernelSet set = *scalar_kernels;
  set.kv_store = avx512_emulated::kv_store;
  set.attend = avx512_emulated::attend;
  set.scratch_bytes = [](int64_t, int64_t, int64_t, int64_t head_dim) {
    return avx512_emulated::attend_scratch_bytes(head_dim);
  };
  check_kv_store(set);
  check_attend(set, false);
}

}  // namespace soma::cpu
