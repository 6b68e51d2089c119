// The functions that the AMX set has of its own; the others are the AVX-512 set's.
#pragma once

#include "backend/cpu/kernels/kernels.hpp"

namespace soma::cpu::amx {

void matmul_q8a(const PackedMatrix* w, int64_t begin, int64_t end, const uint8_t* x,
                int64_t x_bytes, int64_t rows, float* out, int64_t out_stride, void* scratch);
int64_t matmul_scratch_bytes(int64_t columns_max, int64_t rows_max);
void enter();
void leave();

}  // namespace soma::cpu::amx
