// The table of the scalar set: the numeric oracle, and what runs where no other set does.
#include "backend/cpu/kernels/scalar/set.hpp"

namespace soma::cpu {

namespace {

int64_t scratch_bytes(int64_t, int64_t, int64_t, int64_t) { return 0; }
void nothing() {}

constexpr KernelSet set = {
    .name = "scalar",
    .matmul_q8a = scalar::matmul_q8a,
    .matmul_f32 = scalar::matmul_f32,
    .rms_norm = scalar::rms_norm,
    .quantize = scalar::quantize,
    .rope = scalar::rope,
    .kv_store = scalar::kv_store,
    .attend = scalar::attend,
    .silu_mul = scalar::silu_mul,
    .add = scalar::add,
    .embed = scalar::embed,
    .argmax = scalar::argmax,
    .scratch_bytes = scratch_bytes,
    .enter = nothing,
    .leave = nothing,
};

}  // namespace

const KernelSet* const scalar_kernels = &set;

}  // namespace soma::cpu
