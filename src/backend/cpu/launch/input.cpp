// Prepares inputs, multiplies, stores and rotates: a thin layer over the kernel set's leaves.
#include "backend/cpu/launch/input.hpp"

#include <algorithm>
#include <cstring>

#include "backend/cpu/rope_table.hpp"

namespace soma::cpu {

namespace {

bool gathers(Prepare prepare) {
  return prepare == Prepare::GatherNorm || prepare == Prepare::GatherNormQuant;
}

}  // namespace

i64 prepared_row_bytes(i64 width, bool q8a) {
  const i64 bytes = q8a ? width / kBlock * (kBlock + 8) : width * 4;
  return static_cast<i64>(to_lines(static_cast<u64>(bytes)));
}

void prepare_input(const Operands& o, const Step& step, const Member& member) {
  const bool q8a = quantizes(o.prepare);
  const i64 row_bytes = prepared_row_bytes(o.x.width, q8a);
  const bool gathered = gathers(o.prepare);
  const i64 rows = step.rows(gathered ? RowsOf::Logits : o.x.rows);
  for (i64 r = 0; r < rows; ++r) {
    const float* x = step.floats(o.x, gathered ? i64{step.batch->logit_row[r]} : r);
    u8* out = member.prepared + r * row_bytes;
    float* normed = q8a ? member.row : reinterpret_cast<float*>(out);
    member.kernels->rms_norm(x, o.norm, o.x.width, o.epsilon, normed);
    if (q8a) member.kernels->quantize(normed, o.x.width, out);
  }
}

Input input_of(const Operands& o, const Step& step, const Member& member) {
  if (o.prepare == Prepare::No) return {step.row(o.x, 0), o.x.row_bytes, o.x.q8a};
  const bool q8a = quantizes(o.prepare);
  return {member.prepared, prepared_row_bytes(o.x.width, q8a), q8a};
}

void multiply(const Member& member, const PackedMatrix& w, i64 begin, i64 end, const Input& x,
              i64 first, i64 rows, float* out, i64 stride) {
  const u8* data = x.data + first * x.row_bytes;
  if (x.q8a) {
    member.kernels->matmul_q8a(&w, begin, end, data, x.row_bytes, rows, out, stride, member.leaf);
  } else {
    member.kernels->matmul_f32(&w, begin, end, reinterpret_cast<const float*>(data),
                               x.row_bytes / 4, rows, out, stride, member.leaf);
  }
}

void store(const Member& member, const float* results, i64 n, u8* row, const Matrix& matrix,
           i64 column) {
  if (!matrix.q8a) {
    std::memcpy(row + column * 4, results, static_cast<size_t>(n) * 4);
    return;
  }
  // The blocks of a q8a row don't depend on each other: a stretch of them is quantised by itself,
  // then its codes, scales and sums go to their planes.
  const i64 blocks = n / kBlock;
  member.kernels->quantize(results, n, member.codes);
  u8* scales = row + matrix.width + column / kBlock * 4;
  u8* sums = scales + matrix.width / kBlock * 4;
  std::memcpy(row + column, member.codes, static_cast<size_t>(n));
  std::memcpy(scales, member.codes + n, static_cast<size_t>(blocks) * 4);
  std::memcpy(sums, member.codes + n + blocks * 4, static_cast<size_t>(blocks) * 4);
}

void rotate(const Member& member, const Operands& o, float* values, i64 column, i64 n,
            const float* table) {
  if (!o.adjacent) {
    member.kernels->rope(values, o.dims, 0, table);
    return;
  }
  const i64 end = std::min(column + n, o.dims);
  for (i64 at = column; at < end; at += rope_piece) {
    member.kernels->rope(values + (at - column), std::min(rope_piece, end - at), 1, table + at);
  }
}

}  // namespace soma::cpu
