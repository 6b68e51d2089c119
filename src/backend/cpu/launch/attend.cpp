// Attention: a unit is one query head of one row.
//
// Units are numbered so that a contiguous range falls into few tasks: by span of rows of one
// sequence, then by KV head, then by row, then by query head within the KV head's share. All
// queries of a task read the same K and V, which is what makes it worth while.
#include <algorithm>
#include <array>

#include "backend/cpu/launch/families.hpp"
#include "backend/cpu/launch/input.hpp"

namespace soma::cpu {

void check_attend(const Operands& o, Checker& check) {
  check.multiple("heads", o.heads, o.kv_heads);  // binding saw to it that there are some
  check.at_most("heads of a KV head", o.heads / o.kv_heads, task_queries_max);
  check.equal("q", o.x.width, o.heads * o.head_dim);
  check.equal("out", o.out.width, o.x.width);
  check.at_most("head_dim", o.head_dim, tile_floats / task_queries_max);
  check.grid(o.heads, 1);
  if (o.out.terms != 0) check.multiple("head_dim", o.head_dim, kBlock);
}

void run_attend(const Operands& o, const Step& step, const Member& member, i64 begin, i64 end) {
  const KvLayer kv = step.kv->layer(o.layer);
  const i64 share = o.heads / o.kv_heads;  // query heads of a KV head
  std::array<const float*, task_queries_max> q;
  std::array<float*, task_queries_max> out;
  std::array<i32, task_queries_max> position;
  for (i64 unit = begin; unit < end;) {
    const RowSpan span = step.span_of_row[unit / o.heads];
    const i64 in_span = unit - i64{span.first} * o.heads;
    const i64 queries_of_head = i64{span.rows} * share;
    const i64 kv_head = in_span / queries_of_head;
    const i64 from = in_span % queries_of_head;
    const i64 queries = std::min(queries_of_head - from, end - unit);
    for (i64 i = 0; i < queries; ++i) {
      const i64 row = span.first + (from + i) / share;
      const i64 column = (kv_head * share + (from + i) % share) * o.head_dim;
      const auto at = static_cast<size_t>(i);
      q[at] = step.floats(o.x, row) + column;
      out[at] = o.out.terms != 0 ? member.tile + i * o.head_dim : step.floats(o.out, row) + column;
      position[at] = step.batch->positions[row];
    }
    const AttendTask task = {.kv = &kv,
                             .kv_head = kv_head,
                             .block_table = step.block_table(span.first),
                             .queries = queries,
                             .q = q.data(),
                             .out = out.data(),
                             .position = position.data(),
                             .scale = o.scale};
    member.kernels->attend(&task, member.leaf);
    for (i64 i = 0; o.out.terms != 0 && i < queries; ++i) {
      const i64 row = span.first + (from + i) / share;
      const i64 column = (kv_head * share + (from + i) % share) * o.head_dim;
      store(member, member.tile + i * o.head_dim, o.head_dim, step.row(o.out, row), o.out, column);
    }
    unit += queries;
  }
}

}  // namespace soma::cpu
