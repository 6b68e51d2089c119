// Prepares inputs, multiplies, stores and rotates: a thin layer over the kernel set's leaves.
#include "backend/cpu/launch/input.hpp"

#include <algorithm>
#include <cstring>

#include "backend/cpu/rope_table.hpp"

namespace soma::cpu {

namespace {

// As many results as fit the member's room for terms at a time.
void multiply_terms(const Member& member, const PackedMatrix& w, i64 begin, i64 end, const u8* x,
                    i64 term_bytes, i64 rows, float* out, i64 stride) {
  const i64 rows_at_once = std::min(rows, leaf_rows_max / 2);
  const i64 groups_at_once = tile_floats / (2 * rows_at_once * kGroup);
  for (i64 group = begin; group < end; group += groups_at_once) {
    const i64 group_end = std::min(end, group + groups_at_once);
    const i64 columns = (group_end - group) * kGroup;
    for (i64 first = 0; first < rows; first += rows_at_once) {
      const i64 count = std::min(rows_at_once, rows - first);
      member.kernels->matmul_q8a(&w, group, group_end, x + 2 * first * term_bytes, term_bytes,
                                 2 * count, member.terms, columns, member.leaf);
      for (i64 r = 0; r < count; ++r) {
        const float* terms = member.terms + 2 * r * columns;
        member.kernels->add(terms, terms + columns, columns,
                            out + (first + r) * stride + (group - begin) * kGroup);
      }
    }
  }
}

}  // namespace

void quantize(const Member& member, const float* x, i64 n, u8* row, i64 row_bytes, i64 terms) {
  member.kernels->quantize(x, n, row, terms == 2 ? row + row_bytes / 2 : nullptr);
}

i64 prepared_row_bytes(i64 width, i64 terms) {
  const i64 bytes = terms != 0 ? width / kBlock * (kBlock + 8) : width * 4;
  return std::max<i64>(1, terms) * static_cast<i64>(to_lines(static_cast<u64>(bytes)));
}

void prepare_input(const Operands& o, const Step& step, const Member& member) {
  const i64 row_bytes = prepared_row_bytes(o.x.width, o.terms);
  const bool gathered = o.prepare == Prepare::GatherNorm;
  const i64 rows = step.rows(gathered ? RowsOf::Logits : o.x.rows);
  for (i64 r = 0; r < rows; ++r) {
    const float* x = step.floats(o.x, gathered ? i64{step.batch->logit_row[r]} : r);
    u8* out = member.prepared + r * row_bytes;
    float* normed = o.terms != 0 ? member.row : reinterpret_cast<float*>(out);
    member.kernels->rms_norm(x, o.norm, o.x.width, o.epsilon, normed);
    if (o.terms != 0) quantize(member, normed, o.x.width, out, row_bytes, o.terms);
  }
}

Input input_of(const Operands& o, const Step& step, const Member& member) {
  if (o.prepare == Prepare::No) return {step.row(o.x, 0), o.x.row_bytes, o.x.terms};
  return {member.prepared, prepared_row_bytes(o.x.width, o.terms), o.terms};
}

void multiply(const Member& member, const PackedMatrix& w, i64 begin, i64 end, const Input& x,
              i64 first, i64 rows, float* out, i64 stride) {
  const u8* data = x.data + first * x.row_bytes;
  if (x.terms == 2) {
    multiply_terms(member, w, begin, end, data, x.row_bytes / 2, rows, out, stride);
  } else if (x.terms == 1) {
    member.kernels->matmul_q8a(&w, begin, end, data, x.row_bytes, rows, out, stride, member.leaf);
  } else {
    member.kernels->matmul_f32(&w, begin, end, reinterpret_cast<const float*>(data),
                               x.row_bytes / 4, rows, out, stride, member.leaf);
  }
}

void store(const Member& member, const float* results, i64 n, u8* row, const Matrix& matrix,
           i64 column) {
  if (matrix.terms == 0) {
    std::memcpy(row + column * 4, results, static_cast<size_t>(n) * 4);
    return;
  }
  // The blocks of an int8 row don't depend on each other: a stretch of them is quantised by itself,
  // then its codes, scales and sums go to their planes.
  const i64 blocks = n / kBlock;
  const i64 term_bytes = n + 8 * blocks;
  quantize(member, results, n, member.codes, matrix.terms * term_bytes, matrix.terms);
  for (i64 term = 0; term < matrix.terms; ++term) {
    const u8* codes = member.codes + term * term_bytes;
    u8* to = row + term * (matrix.row_bytes / 2);
    u8* scales = to + matrix.width + column / kBlock * 4;
    u8* sums = scales + matrix.width / kBlock * 4;
    std::memcpy(to + column, codes, static_cast<size_t>(n));
    std::memcpy(scales, codes + n, static_cast<size_t>(blocks) * 4);
    std::memcpy(sums, codes + n + blocks * 4, static_cast<size_t>(blocks) * 4);
  }
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
