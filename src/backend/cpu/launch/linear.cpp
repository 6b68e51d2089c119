// One weight matrix: alone, behind a norm, or with its result added into the stream.
//
// Results go straight to their rows where they can. They take the way through the member's tile
// where something is still to be done to them, or where the last group of 16 columns reaches
// beyond the row's end.
#include <algorithm>
#include <cstring>

#include "backend/cpu/launch/families.hpp"
#include "backend/cpu/launch/input.hpp"

namespace soma::cpu {

namespace {

void check_product(const Operands& o, Checker& check) {
  check.equal("columns of w", o.w[0]->columns, o.x.width);
  check.equal("rows of w", o.w[0]->rows, o.out.width);
  check.grid(o.out.width, kGroup);
  if (o.multiplies_int8()) {
    check.multiple("x", o.x.width, kBlock);
    check.integer_codes(o.w[0]);
  }
}

// Calls done(row, group, columns, results) for stretches of results that lie side by side.
template <typename Done>
void through_tile(const Operands& o, const Member& member, const Input& x, i64 rows, i64 begin,
                  i64 end, Done done) {
  const i64 rows_at_once = std::min(rows, leaf_rows_max);
  const i64 groups_at_once = std::max<i64>(1, tile_floats / (rows_at_once * kGroup));
  for (i64 group = begin; group < end; group += groups_at_once) {
    const i64 group_end = std::min(end, group + groups_at_once);
    const i64 stride = (group_end - group) * kGroup;
    const i64 columns = std::min(stride, o.out.width - group * kGroup);
    for (i64 first = 0; first < rows; first += rows_at_once) {
      const i64 count = std::min(rows_at_once, rows - first);
      multiply(member, *o.w[0], group, group_end, x, first, count, member.tile, stride);
      for (i64 r = 0; r < count; ++r) {
        done(first + r, group, columns, member.tile + r * stride);
      }
    }
  }
}

}  // namespace

void check_linear(const Operands& o, Checker& check) {
  check_product(o, check);
  if (o.prepare != Prepare::No) check.equal("norm", o.norm_width, o.x.width);
}

void run_linear(const Operands& o, const Step& step, const Member& member, i64 begin, i64 end) {
  const Input x = input_of(o, step, member);
  const i64 rows = step.rows(o.out.rows);
  if (end * kGroup <= o.out.width) {
    for (i64 first = 0; first < rows; first += leaf_rows_max) {
      multiply(member, *o.w[0], begin, end, x, first, std::min(leaf_rows_max, rows - first),
               step.floats(o.out, first) + begin * kGroup, o.out.row_bytes / 4);
    }
    return;
  }
  through_tile(o, member, x, rows, begin, end,
               [&](i64 r, i64 group, i64 columns, const float* results) {
                 store(member, results, columns, step.row(o.out, r), o.out, group * kGroup);
               });
}

void check_linear_add(const Operands& o, Checker& check) {
  check_product(o, check);
  check.equal("stream", o.y.width, o.out.width);
}

void run_linear_add(const Operands& o, const Step& step, const Member& member, i64 begin,
                    i64 end) {
  through_tile(o, member, input_of(o, step, member), step.rows(o.out.rows), begin, end,
               [&](i64 r, i64 group, i64 columns, const float* results) {
                 const i64 column = group * kGroup;
                 member.kernels->add(step.floats(o.y, r) + column, results, columns,
                                     step.floats(o.out, r) + column);
               });
}

}  // namespace soma::cpu
