// The functions of the scalar set, one for one the table of kernels.hpp.
#pragma once

#include "backend/cpu/kernels/kernels.hpp"

namespace soma::cpu::scalar {

// matmul.cpp
void matmul_q8a(const PackedMatrix* w, int64_t begin, int64_t end, const uint8_t* x,
                int64_t x_bytes, int64_t rows, float* out, int64_t out_stride, void* scratch);
void matmul_f32(const PackedMatrix* w, int64_t begin, int64_t end, const float* x,
                int64_t x_stride, int64_t rows, float* out, int64_t out_stride, void* scratch);
void embed(const PackedMatrix* w, int64_t token, float* out);

// rows.cpp
void rms_norm(const float* x, const float* weight, int64_t n, float epsilon, float* out);
void quantize(const float* x, int64_t n, uint8_t* out, uint8_t* left);
void rope(float* head, int64_t dims, int32_t adjacent, const float* table);
void silu_mul(const float* gate, const float* up, int64_t n, float* out);
void add(const float* a, const float* b, int64_t n, float* out);
int64_t argmax(const float* x, int64_t n);

// attend.cpp
void kv_store(const KvLayer* kv, int64_t kv_head, const uint32_t* block_table, int64_t at,
              const float* k, const float* v);
void attend(const AttendTask* task, void* scratch);

}  // namespace soma::cpu::scalar
