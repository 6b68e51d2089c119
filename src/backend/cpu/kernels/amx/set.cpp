// The table of the AMX set: the AVX-512 set, with tiles for products of many rows.
#include "backend/cpu/kernels/amx/set.hpp"

#include "backend/cpu/kernels/avx512/set.hpp"

namespace soma::cpu {

#if defined(__x86_64__)

namespace {

int64_t scratch_bytes(int64_t columns_max, int64_t rows_max, int64_t, int64_t head_dim) {
  const int64_t matmul = amx::matmul_scratch_bytes(columns_max, rows_max);
  const int64_t attend = avx512::attend_scratch_bytes(head_dim);
  return matmul > attend ? matmul : attend;
}

constexpr KernelSet set = {
    .name = "amx_int8",
    .matmul_q8a = amx::matmul_q8a,
    .matmul_f32 = avx512::matmul_f32,
    .rms_norm = avx512::rms_norm,
    .quantize = avx512::quantize,
    .rope = avx512::rope,
    .kv_store = avx512::kv_store,
    .attend = avx512::attend,
    .silu_mul = avx512::silu_mul,
    .add = avx512::add,
    .embed = avx512::embed,
    .argmax = avx512::argmax,
    .scratch_bytes = scratch_bytes,
    .enter = amx::enter,
    .leave = amx::leave,
};

}  // namespace

const KernelSet* const amx_int8_kernels = &set;

#else

const KernelSet* const amx_int8_kernels = nullptr;

#endif

}  // namespace soma::cpu
