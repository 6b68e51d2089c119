// What matrix products read and how their results leave: the pieces that the families share.
#pragma once

#include "backend/cpu/launch/launch.hpp"

namespace soma::cpu {

// Rows of activations, f32, q8a or q8a2.
struct Input {
  const u8* data = nullptr;
  i64 row_bytes = 0;
  i64 terms = 0;  // as Matrix::terms
};

// One row of n values to `terms` int8 rows within row_bytes.
void quantize(const Member& member, const float* x, i64 n, u8* row, i64 row_bytes, i64 terms);
i64 prepared_row_bytes(i64 width, i64 terms);
// Fills member.prepared with the launch's input, row by row.
void prepare_input(const Operands& o, const Step& step, const Member& member);
// The prepared rows, or x itself if the launch wants no preparation.
Input input_of(const Operands& o, const Step& step, const Member& member);

// Row r of [first, first + rows) times group g of [begin, end), to
// out[(r − first) × stride + 16 (g − begin)]. A row of q8a2 is two rows to the leaf, and their
// results are added: whatever the instruction set, two terms cost no kernel of their own.
void multiply(const Member& member, const PackedMatrix& w, i64 begin, i64 end, const Input& x,
              i64 first, i64 rows, float* out, i64 stride);

// Writes n results to columns [column, column + n) of a row of `matrix`: as they are, or as int8
// (column and n are then multiples of 32).
void store(const Member& member, const float* results, i64 n, u8* row, const Matrix& matrix,
           i64 column);

// Rotates columns [column, column + n) of a head by the row's rope table.
void rotate(const Member& member, const Operands& o, float* values, i64 column, i64 n,
            const float* table);

}  // namespace soma::cpu
