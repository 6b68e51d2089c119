// The table of the AVX2 set: any x86-64 with AVX2, FMA and F16C.
#include "backend/cpu/kernels/avx2/set.hpp"

namespace soma::cpu {

#if defined(__x86_64__)

namespace {

int64_t scratch_bytes(int64_t columns_max, int64_t rows_max, int64_t, int64_t head_dim) {
  const int64_t matmul = avx2::matmul_scratch_bytes(columns_max, rows_max);
  const int64_t attend = avx2::attend_scratch_bytes(head_dim);
  return matmul > attend ? matmul : attend;
}
void nothing() {}

constexpr KernelSet set = {
    .name = "avx2",
    .matmul_q8a = avx2::matmul_q8a,
    .matmul_f32 = avx2::matmul_f32,
    .rms_norm = avx2::rms_norm,
    .quantize = avx2::quantize,
    .rope = avx2::rope,
    .kv_store = avx2::kv_store,
    .attend = avx2::attend,
    .silu_mul = avx2::silu_mul,
    .add = avx2::add,
    .embed = avx2::embed,
    .argmax = avx2::argmax,
    .scratch_bytes = scratch_bytes,
    .enter = nothing,
    .leave = nothing,
};

}  // namespace

const KernelSet* const avx2_kernels = &set;

#else

const KernelSet* const avx2_kernels = nullptr;

#endif

}  // namespace soma::cpu
