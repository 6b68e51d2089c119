// The leaves of the CPU backend: what an instruction set has to provide, and nothing else.
//
// A KernelSet is a table of plain functions over raw memory. Every set computes the same bytes:
// NUMERICS.md fixes each sum's order and each rounding, so a set is chosen for speed alone. The
// scalar set is the oracle of all others and is written to be read. Fused launches (../launch/)
// are built from these leaves once, for all sets.
//
// This header and all files of kernels/ include C headers only and define static functions only:
// an inline function compiled with AVX-512 could be the copy that the linker keeps for everyone.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace soma::cpu {

// How a packed weight matrix lies in memory. A group is 16 output features ("columns"), zero-padded
// at the end; a group's data is contiguous. Integer kinds go by pairs of 32-element blocks along k
// (a lone last block is padded by a zero one); every 64-byte line is 64-byte aligned:
//   Q4, Q4M  2 × 4 lines; byte i of column c in line j (at 4c + i): k = 4j + i in the low nibble,
//            k = 16 + 4j + i in the high one; then 2 × 16 f16 scales; Q4M adds 2 × 16 f16 mins.
//   Q8, Q8M  2 × 8 lines of signed bytes, k = 4j + i; then scales, and for Q8M mins, the same way.
//   F32, F16, BF16  line k holds the 16 columns' weights for that k.
// What a weight is worth: Q4: d (q − 8).  Q4M: d q + m.  Q8: d q.  Q8M: d q + m.
// File formats: q4_0 -> Q4, q4_1 -> Q4M, q8_0 and q5_0 (q − 16) -> Q8, q5_1 -> Q8M.
enum PackKind : int32_t { kQ4, kQ4M, kQ8, kQ8M, kF32, kF16, kBF16 };
enum { kGroup = 16, kBlock = 32 };

struct PackedMatrix {
  const uint8_t* data;
  int64_t rows;          // output features
  int64_t columns;       // k: input features
  int64_t group_bytes;   // data + g × group_bytes is group g
  PackKind kind;
};

// A row of int8 activations (Format::Q8A): k bytes q, then k/32 floats d, then k/32 floats s = d
// Σq.

// K and V of one layer, in blocks of 16 absolute positions. Within a block, for each KV head:
// K transposed as [head_dim][16], V as [16][head_dim]. f16, or f32 under the reference policy.
enum { kKvPositions = 16 };
struct KvLayer {
  uint8_t* k;            // block b, head h: k + b × block_bytes + h × head_bytes
  uint8_t* v;
  int64_t block_bytes;
  int64_t head_bytes;    // head_dim × 16 elements
  int32_t head_dim;
  int32_t is_f32;
};

// Attention of `queries` vectors that share a sequence and a KV head: query i sits at position[i]
// and sees positions 0..position[i]. Queries are ordered by position, ascending.
struct AttendTask {
  const KvLayer* kv;
  int64_t kv_head;
  const uint32_t* block_table;   // position / 16 -> block number
  int64_t queries;
  const float* const* q;         // [queries] -> head_dim floats
  float* const* out;             // [queries] -> head_dim floats
  const int32_t* position;       // [queries]
  float scale;                   // multiplies q · k
};

struct KernelSet {
  const char* name;              // "scalar", "avx2", "avx512_vnni", "amx_int8"

  // out[r × out_stride + 16 (g − begin) + c] = row r of x times column c of group g, for groups
  // [begin, end) and `rows` rows. x is q8a (integer kinds only), rows `x_bytes` apart.
  // `scratch` is scratch_bytes of this thread's own memory, 64-byte aligned.
  void (*matmul_q8a)(const PackedMatrix* w, int64_t begin, int64_t end, const uint8_t* x,
                     int64_t x_bytes, int64_t rows, float* out, int64_t out_stride, void* scratch);
  // The same for f32 activations and every kind, x rows `x_stride` floats apart.
  void (*matmul_f32)(const PackedMatrix* w, int64_t begin, int64_t end, const float* x,
                     int64_t x_stride, int64_t rows, float* out, int64_t out_stride, void* scratch);

  void (*rms_norm)(const float* x, const float* weight, int64_t n, float epsilon, float* out);
  // One row to q8a, n % 32 == 0. left: where what rounding left over goes as a second such row, or
  // null.
  void (*quantize)(const float* x, int64_t n, uint8_t* out, uint8_t* left);
  // Rotates the first `dims` of a head's values in place by the position's table of dims/2 cosines
  // followed by dims/2 sines. adjacent: pairs (2i, 2i+1); else (i, i + dims/2).
  void (*rope)(float* head, int64_t dims, int32_t adjacent, const float* table);
  // Stores one position's K and V of one head; `at` is the position.
  void (*kv_store)(const KvLayer* kv, int64_t kv_head, const uint32_t* block_table, int64_t at,
                   const float* k, const float* v);
  void (*attend)(const AttendTask* task, void* scratch);
  void (*silu_mul)(const float* gate, const float* up, int64_t n, float* out);
  void (*add)(const float* a, const float* b, int64_t n, float* out);
  void (*embed)(const PackedMatrix* w, int64_t token, float* out);    // row `token`, dequantised
  int64_t (*argmax)(const float* x, int64_t n);   // lowest index of the largest; NaNs never win

  // What the scratch of matmul and attend must hold for rows and queries up to these numbers.
  int64_t (*scratch_bytes)(int64_t columns_max, int64_t rows_max, int64_t queries_max,
                           int64_t head_dim);
  // Per thread and step: tile configuration and its release; no-ops elsewhere.
  void (*enter)(void);
  void (*leave)(void);
};

// nullptr where the compiler's target has no such set (another architecture's build).
extern const KernelSet* const scalar_kernels;
extern const KernelSet* const avx2_kernels;
extern const KernelSet* const avx512_vnni_kernels;
extern const KernelSet* const amx_int8_kernels;

}  // namespace soma::cpu
