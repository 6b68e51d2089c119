// The closed vocabulary of circuit ops. One table (op.cpp) says for each what it reads, writes and
// needs; an op that is not in it does not exist.
#pragma once

#include "base/core.hpp"

namespace soma {

enum class Op : u8 {
  Embed,        // -> x                 token ids of the step -> rows of the embedding (a weight)
  RmsNorm,      // x -> y               y = x / sqrt(mean(x²) + epsilon) × weight
  ActQuant,     // x -> q               f32 -> int8 blocks of 32 (Format::Q8A or Q8A2)
  Linear,       // x -> y               y = W x, W of any weight format; role names the projection
  Rope,         // x -> y               rotary embedding of each head at its row's position
  KvWrite,      // k, v -> order        append each row at its position to the layer's KV state
  Attend,       // q, order -> a        softmax attention of each row over its own sequence
  SiluMul,      // gate, up -> y        y = silu(gate) × up
  ResidualAdd,  // stream, x -> stream  elementwise sum, into the stream
  GatherRows,   // x -> y               the rows of the step that want logits
  Sample,       // logits -> tokens     greedy or by the row's sampling parameters
};

// What kind of number a parameter must be; a node carries exactly the parameters of its op.
struct ParamInfo {
  std::string_view name;  // "epsilon", "head_dim", "base", "dims", "adjacent", "heads", …
  double low, high;       // inclusive range
  bool whole;             // an integer
};

struct OpInfo {
  std::string_view name;  // "rms_norm"
  u32 inputs, outputs;
  u32 weights;            // tensors the node binds
  bool has_role;          // Linear, RmsNorm: role is part of the canonical name ("linear:down")
  std::span<const ParamInfo> params;
  bool has_state = false;  // reads or appends to the KV state of its layer
  i32 in_place = -1;       // the operand whose place the output may take; -1: none
};
const OpInfo& op_info(Op op);
std::optional<Op> op_by_name(std::string_view name);

}  // namespace soma
