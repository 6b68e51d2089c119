// The table of emitters, and which ops a group of each consists of.
#include "circuit/program/emit/emit.hpp"

namespace soma {

namespace {

constexpr bool optional = true;

constexpr GroupMember embed[] = {{Op::Embed}};
constexpr GroupMember norm[] = {{Op::RmsNorm}, {Op::ActQuant, optional}};
constexpr GroupMember act_quant[] = {{Op::ActQuant}};
constexpr GroupMember linear[] = {{Op::GatherRows, optional},
                             {Op::RmsNorm, optional},
                             {Op::ActQuant, optional},
                             {Op::Linear},
                             {Op::ResidualAdd, optional}};
constexpr GroupMember rope[] = {{Op::Rope}};
constexpr GroupMember kv_write[] = {{Op::KvWrite}};
constexpr GroupMember qkv_rope_kv[] = {{Op::RmsNorm, optional},
                                  {Op::ActQuant, optional},
                                  {Op::Linear},
                                  {Op::Linear},
                                  {Op::Linear},
                                  {Op::Rope},
                                  {Op::Rope},
                                  {Op::KvWrite}};
constexpr GroupMember attend[] = {{Op::Attend}, {Op::ActQuant, optional}};
constexpr GroupMember silu_mul[] = {{Op::SiluMul}};
constexpr GroupMember gate_up_silu[] = {
    {Op::RmsNorm, optional}, {Op::ActQuant, optional}, {Op::Linear}, {Op::Linear},
    {Op::SiluMul},           {Op::ActQuant, optional}};
constexpr GroupMember residual_add[] = {{Op::ResidualAdd}};
constexpr GroupMember gather_rows[] = {{Op::GatherRows}};
constexpr GroupMember sample[] = {{Op::Sample}};

constexpr Emitter emitters[] = {
    {"embed", embed, emit_embed},
    {"norm", norm, emit_norm},
    {"act_quant", act_quant, emit_act_quant},
    {"linear", linear, emit_linear},
    {"rope", rope, emit_rope},
    {"kv_write", kv_write, emit_kv_write},
    {"qkv_rope_kv", qkv_rope_kv, emit_qkv_rope_kv},
    {"attend", attend, emit_attend},
    {"silu_mul", silu_mul, emit_silu_mul},
    {"gate_up_silu", gate_up_silu, emit_gate_up_silu},
    {"residual_add", residual_add, emit_residual_add},
    {"gather_rows", gather_rows, emit_gather_rows},
    {"sample", sample, emit_sample},
};

}  // namespace

const Emitter* find_emitter(std::string_view id) {
  for (const Emitter& emitter : emitters) {
    if (emitter.id == id) return &emitter;
  }
  return nullptr;
}

}  // namespace soma
