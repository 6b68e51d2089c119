// The table of circuit ops: the only home of what each op reads, writes and needs.
#include "circuit/op.hpp"

#include <array>

namespace soma {

namespace {

constexpr double heads_max = 65536;
constexpr double width_max = 65536;

constexpr ParamInfo epsilon = {"epsilon", 0, 1, false};
constexpr ParamInfo heads = {"heads", 1, heads_max, true};
constexpr ParamInfo kv_heads = {"kv_heads", 1, heads_max, true};
constexpr ParamInfo head_dim = {"head_dim", 1, width_max, true};

constexpr ParamInfo norm_params[] = {epsilon};
constexpr ParamInfo rope_params[] = {
    heads,
    head_dim,
    {"base", 1, 1e12, false},
    {"dims", 2, width_max, true},  // rotated values of a head, from its start
    {"adjacent", 0, 1, true},      // pairs (2i, 2i + 1), else (i, i + dims / 2)
};
constexpr ParamInfo kv_write_params[] = {kv_heads, head_dim};
constexpr ParamInfo attend_params[] = {heads, kv_heads, head_dim, {"scale", 1e-6, 1e6, false}};

//                                       in out weights role params, state, in place
constexpr std::array<OpInfo, 11> ops = {{
    {"embed", /*              */ 0, 1, 1, false, {}},
    {"rms_norm", /*           */ 1, 1, 1, true, norm_params},
    {"act_quant", /*          */ 1, 1, 0, false, {}},
    {"linear", /*             */ 1, 1, 1, true, {}},
    {"rope", /*               */ 1, 1, 0, false, rope_params, false, 0},
    {"kv_write", /*           */ 2, 1, 0, false, kv_write_params, true},
    {"attend", /*             */ 2, 1, 0, false, attend_params, true},
    {"silu_mul", /*           */ 2, 1, 0, false, {}},
    {"residual_add", /*       */ 2, 1, 0, false, {}, false, 0},
    {"gather_rows", /*        */ 1, 1, 0, false, {}},
    {"sample", /*             */ 1, 1, 0, false, {}},
}};
static_assert(ops.size() == static_cast<size_t>(Op::Sample) + 1);

}  // namespace

const OpInfo& op_info(Op op) { return ops[static_cast<size_t>(op)]; }

std::optional<Op> op_by_name(std::string_view name) {
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].name == name) return static_cast<Op>(i);
  }
  return std::nullopt;
}

}  // namespace soma
