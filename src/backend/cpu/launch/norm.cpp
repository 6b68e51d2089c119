// Norms and the quantisation of activations, a row a unit.
#include "backend/cpu/launch/families.hpp"
#include "backend/cpu/launch/input.hpp"

namespace soma::cpu {

void check_rms_norm(const Operands& o, Checker& check) {
  check.equal("norm", o.norm_width, o.x.width);
  check.equal("out", o.out.width, o.x.width);
}

void run_rms_norm(const Operands& o, const Step& step, const Member& member, i64 begin, i64 end) {
  for (i64 r = begin; r < end; ++r) {
    member.kernels->rms_norm(step.floats(o.x, r), o.norm, o.x.width, o.epsilon,
                             step.floats(o.out, r));
  }
}

void check_act_quant(const Operands& o, Checker& check) {
  check.equal("out", o.out.width, o.x.width);
  check.multiple("x", o.x.width, kBlock);
}

void run_act_quant(const Operands& o, const Step& step, const Member& member, i64 begin, i64 end) {
  for (i64 r = begin; r < end; ++r) {
    quantize(member, step.floats(o.x, r), o.x.width, step.row(o.out, r), o.out.row_bytes,
             o.out.terms);
  }
}

void check_norm_quant(const Operands& o, Checker& check) {
  check.equal("norm", o.norm_width, o.x.width);
  check_act_quant(o, check);
}

void run_norm_quant(const Operands& o, const Step& step, const Member& member, i64 begin,
                    i64 end) {
  for (i64 r = begin; r < end; ++r) {
    member.kernels->rms_norm(step.floats(o.x, r), o.norm, o.x.width, o.epsilon, member.row);
    quantize(member, member.row, o.x.width, step.row(o.out, r), o.out.row_bytes, o.out.terms);
  }
}

}  // namespace soma::cpu
