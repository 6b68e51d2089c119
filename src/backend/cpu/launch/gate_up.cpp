// The two products of a gated feed-forward, and what comes between them and the third.
//
// A unit is 32 columns of gate and the same 32 of up: together they make one block of int8 results,
// so a unit is finished where it was begun and the two wide matrices never exist in memory.
#include <algorithm>

#include "backend/cpu/launch/families.hpp"
#include "backend/cpu/launch/input.hpp"

namespace soma::cpu {

namespace {

constexpr i64 groups_of_unit = kBlock / kGroup;

}  // namespace

void check_gate_up(const Operands& o, Checker& check) {
  check.equal("columns of wgate", o.w[0]->columns, o.x.width);
  check.equal("columns of wup", o.w[1]->columns, o.x.width);
  check.equal("rows of wgate", o.w[0]->rows, o.out.width);
  check.equal("rows of wup", o.w[1]->rows, o.out.width);
  check.multiple("out", o.out.width, kBlock);
  check.grid(o.out.width, kBlock);
  if (o.prepare != Prepare::No) check.equal("norm", o.norm_width, o.x.width);
  if (o.multiplies_int8()) {
    check.multiple("x", o.x.width, kBlock);
    check.integer_codes(o.w[0]);
    check.integer_codes(o.w[1]);
  }
}

void run_gate_up(const Operands& o, const Step& step, const Member& member, i64 begin, i64 end) {
  const Input x = input_of(o, step, member);
  const i64 rows = step.rows(o.out.rows);
  const i64 rows_at_once = std::min(rows, leaf_rows_max);
  const i64 units_at_once = std::max<i64>(1, tile_floats / (rows_at_once * 2 * kBlock));
  for (i64 unit = begin; unit < end; unit += units_at_once) {
    const i64 unit_end = std::min(end, unit + units_at_once);
    const i64 columns = (unit_end - unit) * kBlock;
    for (i64 first = 0; first < rows; first += rows_at_once) {
      const i64 count = std::min(rows_at_once, rows - first);
      float* gate = member.tile;
      float* up = gate + count * columns;
      multiply(member, *o.w[0], unit * groups_of_unit, unit_end * groups_of_unit, x, first, count,
               gate, columns);
      multiply(member, *o.w[1], unit * groups_of_unit, unit_end * groups_of_unit, x, first, count,
               up, columns);
      member.kernels->silu_mul(gate, up, count * columns, gate);
      for (i64 r = 0; r < count; ++r) {
        store(member, gate + r * columns, columns, step.row(o.out, first + r), o.out,
              unit * kBlock);
      }
    }
  }
}

void check_silu_mul(const Operands& o, Checker& check) {
  check.equal("up", o.y.width, o.x.width);
  check.equal("out", o.out.width, o.x.width);
}

void run_silu_mul(const Operands& o, const Step& step, const Member& member, i64 begin, i64 end) {
  for (i64 r = begin; r < end; ++r) {
    member.kernels->silu_mul(step.floats(o.x, r), step.floats(o.y, r), o.x.width,
                             step.floats(o.out, r));
  }
}

}  // namespace soma::cpu
