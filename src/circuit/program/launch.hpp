// A program: a circuit's plan as a flat list of launches. A launch is data: it can be printed,
// hashed, compared and run by any backend; it holds no pointers and nothing of any one step.
#pragma once

#include "base/core.hpp"
#include "circuit/circuit.hpp"
#include "circuit/fusion/plan.hpp"
#include "circuit/storage/buffer_plan.hpp"

namespace soma {

enum class ArgKind : u8 {
  Edge,     // a matrix at a place in the arena or a model buffer
  Weight,   // index into Program::weights
  State,    // the KV state of a layer
  Number,   // an immediate
};

struct Arg {
  std::string name;                // the kernel's own name for it: "x", "norm", "wq", "epsilon"
  ArgKind kind = ArgKind::Number;
  // Edge
  EdgeId edge = 0;
  ModelBuffer buffer = ModelBuffer::None;
  u64 offset = 0;                  // within the arena or the model buffer
  u64 row_bytes = 0;
  Format format = Format::F32;
  RowsOf rows = RowsOf::Step;
  u64 width = 0;
  bool written = false;
  // Weight, State
  u32 index = 0;                   // weight index, or layer
  // Number
  double number = 0;
};

// How a launch's work is cut into independent units.
enum class GridKind : u8 {
  Rows,      // one unit a row (of `rows`)
  Columns,   // extent / unit units; each serves all rows
  RowHeads,  // rows × extent units (extent = heads)
  Single,    // one unit
};
struct Grid {
  GridKind kind = GridKind::Single;
  RowsOf rows = RowsOf::Step;
  u32 extent = 1;
  u32 unit = 1;
};

struct Launch {
  u32 group = 0;
  std::string kernel;              // a name of the catalogue below
  Grid grid;
  bool barrier_before = true;      // reads or overwrites what earlier launches left in flight
  std::vector<Arg> args;
  const Arg* find(std::string_view name) const;
};

struct Program {
  PlanRequest request;
  std::string plan_digest;
  std::string digest;              // of the launches: two programs with one digest do the same
  std::vector<WeightRef> weights;  // every tensor the launches read, each once
  std::vector<Launch> launches;
  u64 arena_bytes = 0;
  u64 hidden_bytes = 0;
  u64 logits_row_bytes = 0;
  i64 layers = 0, kv_heads = 0, head_dim = 0;
  Format kv_format = Format::F16;  // f16 under Fast, f32 under Reference
  std::string dump() const;        // one line a launch
};

// Emits every group and checks that it queued exactly the launches and copies it declared.
Result<Program> compile_program(const Circuit& circuit, const FusionPlan& plan,
                                const Layout& layout, const BufferPlan& buffers);

// The catalogue of kernel names and their arguments. Every backend implements these names; args are
// found by name. `x` is f32, q8a or q8a2 as its Arg says, "int8" is q8a or q8a2; weights may each
// have their own format. `terms`: how many int8 rows stand for one row of a norm's result.
//
//   fallback, one an op                    grid
//   embed        w -> out                  Rows        w: the embedding; out f32
//   rms_norm     x, w, epsilon -> out      Rows
//   act_quant    x -> out                  Rows        out int8
//   linear       x, w -> out               Columns 16
//   rope         x, heads, head_dim, base, dims, adjacent -> out      Rows   in place over x
//   kv_write     k, v, kv (state)          Rows
//   attend       q, kv (state), heads, kv_heads, head_dim, scale -> out      RowHeads
//   silu_mul     gate, up -> out           Rows
//   residual_add stream, x -> out          Rows        in place over stream
//   gather_rows  x -> out                  Rows (Logits)
//   sample       logits -> tokens          Rows (Logits)
//
//   fused (names say the ops in order; args are the union of the parts' args)
//   norm_quant                x, norm, epsilon -> out (int8)                       Rows
//   norm_quant_qkv_rope_kv    x, norm, epsilon, terms, wq, wk, wv, heads, kv_heads, head_dim,
//                             base, dims, adjacent, kv (state) -> q      Columns: extent all
//                             columns of q|k|v, unit 16 (adjacent pairs) or head_dim (halves)
//   qkv_rope_kv               the same without norm: x is int8 (many rows)
//   attend_quant              as attend, out int8                                  RowHeads
//   linear_add                x, w, stream -> out (stream, in place)               Columns 16
//   norm_quant_gate_up_silu_quant   x, norm, epsilon, terms, wgate, wup -> out (int8)  Columns 32
//   gate_up_silu_quant        the same without norm: x is int8                     Columns 32
//   gather_norm_quant_linear  x, norm, epsilon, terms, w -> out   (rows Logits)    Columns 16
//   with f32 activations (the policy Reference, and float weights under Fast)
//   norm_qkv_rope_kv, qkv_rope_kv, attend, linear_add, norm_gate_up_silu, gate_up_silu,
//   gather_norm_linear        the same, f32

}  // namespace soma
