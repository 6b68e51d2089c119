// The three products before attention, the rotation of q and k, and the KV state's new positions.
//
// The units are those of the columns of q, k and v side by side. A head's K and V are stored
// together, so whoever has the first unit of a KV head's share of those columns (counting 2 ×
// head_dim a head) computes all of that head; the others of its units are then empty. Every unit
// still stands for the same amount of weights, so equal ranges are equal work.
#include <algorithm>
#include <cstring>

#include "backend/cpu/launch/families.hpp"
#include "backend/cpu/launch/input.hpp"

namespace soma::cpu {

namespace {

const float* rope_row(const Operands& o, const Step& step, i64 r) {
  return step.rope_tables[o.rope] + r * o.dims;
}

// Columns [begin, end) of q.
void run_q(const Operands& o, const Step& step, const Member& member, const Input& x, i64 begin,
           i64 end) {
  const i64 rows = step.rows(o.out.rows);
  const i64 unit = o.adjacent ? i64{kGroup} : o.head_dim;
  const i64 rows_at_once = std::min({rows, leaf_rows_max, std::max<i64>(1, tile_floats / unit)});
  const i64 columns_at_once = std::max<i64>(1, tile_floats / (rows_at_once * unit)) * unit;
  for (i64 column = begin; column < end; column += columns_at_once) {
    const i64 column_end = std::min(end, column + columns_at_once);
    const i64 columns = column_end - column;
    for (i64 first = 0; first < rows; first += rows_at_once) {
      const i64 count = std::min(rows_at_once, rows - first);
      multiply(member, *o.w[0], column / kGroup, column_end / kGroup, x, first, count, member.tile,
               columns);
      for (i64 r = 0; r < count; ++r) {
        float* results = member.tile + r * columns;
        const float* table = rope_row(o, step, first + r);
        for (i64 at = 0; at < columns;) {
          const i64 in_head = (column + at) % o.head_dim;
          const i64 n = std::min(o.head_dim - in_head, columns - at);
          rotate(member, o, results + at, in_head, n, table);
          at += n;
        }
        store(member, results, columns, step.row(o.out, first + r), o.out, column);
      }
    }
  }
}

void run_kv_heads(const Operands& o, const Step& step, const Member& member, const Input& x,
                  i64 begin, i64 end) {
  const KvLayer kv = step.kv->layer(o.layer);
  const i64 rows = step.rows(o.out.rows);
  const i64 rows_at_once =
      std::min({rows, leaf_rows_max, std::max<i64>(1, tile_floats / (2 * o.head_dim))});
  const i64 heads_at_once = std::max<i64>(1, tile_floats / (rows_at_once * 2 * o.head_dim));
  const i64 groups_of_head = o.head_dim / kGroup;
  for (i64 head = begin; head < end; head += heads_at_once) {
    const i64 heads = std::min(heads_at_once, end - head);
    const i64 columns = heads * o.head_dim;
    for (i64 first = 0; first < rows; first += rows_at_once) {
      const i64 count = std::min(rows_at_once, rows - first);
      float* k = member.tile;
      float* v = k + count * columns;
      multiply(member, *o.w[1], head * groups_of_head, (head + heads) * groups_of_head, x, first,
               count, k, columns);
      multiply(member, *o.w[2], head * groups_of_head, (head + heads) * groups_of_head, x, first,
               count, v, columns);
      for (i64 r = 0; r < count; ++r) {
        const i64 row = first + r;
        for (i64 h = 0; h < heads; ++h) {
          float* head_k = k + r * columns + h * o.head_dim;
          rotate(member, o, head_k, 0, o.head_dim, rope_row(o, step, row));
          member.kernels->kv_store(&kv, head + h, step.block_table(row),
                                   step.batch->positions[row], head_k,
                                   v + r * columns + h * o.head_dim);
        }
      }
    }
  }
}

i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }

}  // namespace

void check_qkv(const Operands& o, Checker& check) {
  check.equal("columns of wq", o.w[0]->columns, o.x.width);
  check.equal("columns of wk", o.w[1]->columns, o.x.width);
  check.equal("columns of wv", o.w[2]->columns, o.x.width);
  check.equal("rows of wq", o.w[0]->rows, o.heads * o.head_dim);
  check.equal("rows of wk", o.w[1]->rows, o.kv_heads * o.head_dim);
  check.equal("rows of wv", o.w[2]->rows, o.kv_heads * o.head_dim);
  check.equal("q", o.out.width, o.heads * o.head_dim);
  check.multiple("head_dim", o.head_dim, kGroup);
  check.at_most("head_dim", o.head_dim, tile_floats / 2);
  check.grid((o.heads + 2 * o.kv_heads) * o.head_dim, o.adjacent ? i64{kGroup} : o.head_dim);
  check.multiple("dims", o.dims, 2);
  check.at_most("dims", o.dims, o.head_dim);
  if (o.prepare != Prepare::No) check.equal("norm", o.norm_width, o.x.width);
  if (o.multiplies_int8()) {
    check.multiple("x", o.x.width, kBlock);
    for (const PackedMatrix* w : o.w) check.integer_codes(w);
  }
}

void run_qkv(const Operands& o, const Step& step, const Member& member, i64 begin, i64 end) {
  const Input x = input_of(o, step, member);
  const i64 unit = o.adjacent ? i64{kGroup} : o.head_dim;
  const i64 q_columns = o.heads * o.head_dim;
  if (begin * unit < q_columns) {
    run_q(o, step, member, x, begin * unit, std::min(end * unit, q_columns));
  }
  const i64 share = 2 * o.head_dim;
  const i64 head_begin = ceil_div(std::max<i64>(0, begin * unit - q_columns), share);
  const i64 head_end = ceil_div(std::max<i64>(0, end * unit - q_columns), share);
  if (head_begin < head_end) run_kv_heads(o, step, member, x, head_begin, head_end);
}

void check_rope(const Operands& o, Checker& check) {
  check.equal("x", o.x.width, o.heads * o.head_dim);
  check.equal("out", o.out.width, o.x.width);
  check.multiple("dims", o.dims, 2);
  check.at_most("dims", o.dims, o.head_dim);
}

void run_rope(const Operands& o, const Step& step, const Member& member, i64 begin, i64 end) {
  for (i64 r = begin; r < end; ++r) {
    float* out = step.floats(o.out, r);
    const float* x = step.floats(o.x, r);
    if (out != x) std::memcpy(out, x, static_cast<size_t>(o.x.width) * 4);
    for (i64 head = 0; head < o.heads; ++head) {
      rotate(member, o, out + head * o.head_dim, 0, o.head_dim, rope_row(o, step, r));
    }
  }
}

void check_kv_write(const Operands& o, Checker& check) {
  check.equal("k", o.x.width, o.kv_heads * o.head_dim);
  check.equal("v", o.y.width, o.kv_heads * o.head_dim);
}

void run_kv_write(const Operands& o, const Step& step, const Member& member, i64 begin, i64 end) {
  const KvLayer kv = step.kv->layer(o.layer);
  for (i64 r = begin; r < end; ++r) {
    for (i64 head = 0; head < o.kv_heads; ++head) {
      member.kernels->kv_store(&kv, head, step.block_table(r), step.batch->positions[r],
                               step.floats(o.x, r) + head * o.head_dim,
                               step.floats(o.y, r) + head * o.head_dim);
    }
  }
}

}  // namespace soma::cpu
