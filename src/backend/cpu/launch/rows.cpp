// What is done row by row: embedding, residual sums, and picking out the rows that want logits.
#include <cstring>

#include "backend/cpu/launch/families.hpp"

namespace soma::cpu {

void check_embed(const Operands& o, Checker& check) {
  check.equal("columns of w", o.w[0]->columns, o.out.width);
}

void run_embed(const Operands& o, const Step& step, const Member& member, i64 begin, i64 end) {
  for (i64 r = begin; r < end; ++r) {
    member.kernels->embed(o.w[0], step.batch->tokens[r], step.floats(o.out, r));
  }
}

void check_residual_add(const Operands& o, Checker& check) {
  check.equal("x", o.x.width, o.out.width);
  check.equal("stream", o.y.width, o.out.width);
}

void run_residual_add(const Operands& o, const Step& step, const Member& member, i64 begin,
                      i64 end) {
  for (i64 r = begin; r < end; ++r) {
    member.kernels->add(step.floats(o.y, r), step.floats(o.x, r), o.x.width,
                        step.floats(o.out, r));
  }
}

void check_gather_rows(const Operands& o, Checker& check) {
  check.equal("out", o.out.width, o.x.width);
}

void run_gather_rows(const Operands& o, const Step& step, const Member&, i64 begin, i64 end) {
  for (i64 r = begin; r < end; ++r) {
    std::memcpy(step.floats(o.out, r), step.floats(o.x, step.batch->logit_row[r]),
                static_cast<size_t>(o.x.width) * 4);
  }
}

}  // namespace soma::cpu
