// The table of launch kinds: the catalogue's names, their arguments, and the functions behind them.
#include <array>

#include "backend/cpu/launch/families.hpp"

namespace soma::cpu {

namespace {

using enum Role;
using enum Accepts;

constexpr ArgSpec embed_args[] = {{"w", W0}, {"out", Out, F32}};
constexpr ArgSpec rms_norm_args[] = {
    {"x", X, F32}, {"w", Norm}, {"epsilon", Epsilon}, {"out", Out, F32}};
constexpr ArgSpec act_quant_args[] = {{"x", X, F32}, {"out", Out, Int8}};
constexpr ArgSpec norm_quant_args[] = {
    {"x", X, F32}, {"norm", Norm}, {"epsilon", Epsilon}, {"out", Out, Int8}};

constexpr ArgSpec linear_args[] = {{"x", X, Activations}, {"w", W0}, {"out", Out, F32}};
constexpr ArgSpec linear_add_args[] = {
    {"x", X, Activations}, {"w", W0}, {"stream", Y, F32}, {"out", Out, F32}};
constexpr ArgSpec norm_linear_args[] = {
    {"x", X, F32}, {"norm", Norm}, {"epsilon", Epsilon}, {"w", W0}, {"out", Out, F32}};
constexpr ArgSpec norm_quant_linear_args[] = {{"x", X, F32},         {"norm", Norm},
                                              {"epsilon", Epsilon}, {"terms", Terms},
                                              {"w", W0},            {"out", Out, F32}};

constexpr ArgSpec rope_args[] = {{"x", X, F32},      {"heads", Heads}, {"head_dim", HeadDim},
                                 {"base", Base},     {"dims", Dims},   {"adjacent", Adjacent},
                                 {"out", Out, F32}};
constexpr ArgSpec kv_write_args[] = {{"k", X, F32}, {"v", Y, F32}, {"kv", Kv}};
constexpr ArgSpec qkv_args[] = {
    {"x", X, Activations}, {"wq", W0},           {"wk", W1},      {"wv", W2},
    {"heads", Heads},      {"kv_heads", KvHeads}, {"head_dim", HeadDim}, {"base", Base},
    {"dims", Dims},        {"adjacent", Adjacent}, {"kv", Kv},      {"q", Out, F32}};
constexpr ArgSpec norm_qkv_args[] = {
    {"x", X, F32},         {"norm", Norm},       {"epsilon", Epsilon}, {"wq", W0},
    {"wk", W1},            {"wv", W2},           {"heads", Heads}, {"kv_heads", KvHeads},
    {"head_dim", HeadDim}, {"base", Base},       {"dims", Dims},   {"adjacent", Adjacent},
    {"kv", Kv},            {"q", Out, F32}};
constexpr ArgSpec norm_quant_qkv_args[] = {
    {"x", X, F32},         {"norm", Norm},       {"epsilon", Epsilon}, {"terms", Terms},
    {"wq", W0},            {"wk", W1},           {"wv", W2},           {"heads", Heads},
    {"kv_heads", KvHeads}, {"head_dim", HeadDim}, {"base", Base},      {"dims", Dims},
    {"adjacent", Adjacent}, {"kv", Kv},          {"q", Out, F32}};

constexpr ArgSpec attend_args[] = {
    {"q", X, F32},           {"kv", Kv},       {"heads", Heads},  {"kv_heads", KvHeads},
    {"head_dim", HeadDim},   {"scale", Scale}, {"out", Out, F32}};
constexpr ArgSpec attend_quant_args[] = {
    {"q", X, F32},           {"kv", Kv},       {"heads", Heads},  {"kv_heads", KvHeads},
    {"head_dim", HeadDim},   {"scale", Scale}, {"out", Out, Int8}};

constexpr ArgSpec silu_mul_args[] = {{"gate", X, F32}, {"up", Y, F32}, {"out", Out, F32}};
constexpr ArgSpec gate_up_args[] = {
    {"x", X, F32}, {"wgate", W0}, {"wup", W1}, {"out", Out, F32}};
constexpr ArgSpec gate_up_quant_args[] = {
    {"x", X, Int8}, {"wgate", W0}, {"wup", W1}, {"out", Out, Int8}};
constexpr ArgSpec norm_gate_up_args[] = {
    {"x", X, F32}, {"norm", Norm}, {"epsilon", Epsilon}, {"wgate", W0}, {"wup", W1},
    {"out", Out, F32}};
constexpr ArgSpec norm_gate_up_quant_args[] = {
    {"x", X, F32}, {"norm", Norm}, {"epsilon", Epsilon}, {"terms", Terms},
    {"wgate", W0}, {"wup", W1},    {"out", Out, Int8}};

constexpr ArgSpec residual_add_args[] = {{"stream", Y, F32}, {"x", X, F32}, {"out", Out, F32}};
constexpr ArgSpec gather_rows_args[] = {{"x", X, F32}, {"out", Out, F32}};
constexpr ArgSpec sample_args[] = {{"logits", X, F32}, {"tokens", Out, I32}};

constexpr auto rows = GridKind::Rows;
constexpr auto columns = GridKind::Columns;
constexpr auto row_heads = GridKind::RowHeads;
constexpr auto none = Prepare::No;

constexpr std::array kinds = {
    LaunchKind{"embed", embed_args, rows, false, none, check_embed, run_embed},
    LaunchKind{"rms_norm", rms_norm_args, rows, false, none, check_rms_norm, run_rms_norm},
    LaunchKind{"act_quant", act_quant_args, rows, false, none, check_act_quant, run_act_quant},
    LaunchKind{"norm_quant", norm_quant_args, rows, false, none, check_norm_quant,
               run_norm_quant},
    LaunchKind{"linear", linear_args, columns, false, none, check_linear, run_linear},
    LaunchKind{"linear_add", linear_add_args, columns, false, none, check_linear_add,
               run_linear_add},
    LaunchKind{"gather_norm_quant_linear", norm_quant_linear_args, columns, true,
               Prepare::GatherNorm, check_linear, run_linear},
    LaunchKind{"gather_norm_linear", norm_linear_args, columns, true, Prepare::GatherNorm,
               check_linear, run_linear},
    LaunchKind{"rope", rope_args, rows, false, none, check_rope, run_rope},
    LaunchKind{"kv_write", kv_write_args, rows, false, none, check_kv_write, run_kv_write},
    LaunchKind{"qkv_rope_kv", qkv_args, columns, false, none, check_qkv, run_qkv},
    LaunchKind{"norm_qkv_rope_kv", norm_qkv_args, columns, false, Prepare::Norm, check_qkv,
               run_qkv},
    LaunchKind{"norm_quant_qkv_rope_kv", norm_quant_qkv_args, columns, false, Prepare::Norm,
               check_qkv, run_qkv},
    LaunchKind{"attend", attend_args, row_heads, false, none, check_attend, run_attend},
    LaunchKind{"attend_quant", attend_quant_args, row_heads, false, none, check_attend,
               run_attend},
    LaunchKind{"silu_mul", silu_mul_args, rows, false, none, check_silu_mul, run_silu_mul},
    LaunchKind{"gate_up_silu", gate_up_args, columns, false, none, check_gate_up, run_gate_up},
    LaunchKind{"gate_up_silu_quant", gate_up_quant_args, columns, false, none, check_gate_up,
               run_gate_up},
    LaunchKind{"norm_gate_up_silu", norm_gate_up_args, columns, false, Prepare::Norm,
               check_gate_up, run_gate_up},
    LaunchKind{"norm_quant_gate_up_silu_quant", norm_gate_up_quant_args, columns, false,
               Prepare::Norm, check_gate_up, run_gate_up},
    LaunchKind{"residual_add", residual_add_args, rows, false, none, check_residual_add,
               run_residual_add},
    LaunchKind{"gather_rows", gather_rows_args, rows, true, none, check_gather_rows,
               run_gather_rows},
    LaunchKind{"sample", sample_args, rows, false, none, check_sample, run_sample},
};

}  // namespace

std::span<const LaunchKind> launch_kinds() { return kinds; }

const LaunchKind* find_kind(std::string_view name) {
  for (const LaunchKind& kind : kinds) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

}  // namespace soma::cpu
