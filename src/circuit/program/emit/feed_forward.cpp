// Emitters of the feed-forward part of a layer: silu_mul, and gate, up and silu in one launch.
#include "circuit/program/emit/emit.hpp"

namespace soma {

void emit_silu_mul(Emission& emission) {
  const Node& silu = *emission.member(0);
  const EdgeId out = silu.outputs[0];
  emission.launch(0, {.kind = GridKind::Rows, .rows = emission.rows(out)})
      .reads("gate", silu.inputs[0])
      .reads("up", silu.inputs[1])
      .writes("out", out);
}

// A unit is one block of the quantised output.
void emit_gate_up_silu(Emission& emission) {
  const Node *norm = emission.member(0), *quant = emission.member(1);
  const Node* out_quant = emission.member(5);
  const EdgeId out = (out_quant ? out_quant : emission.member(4))->outputs[0];
  emission
      .launch(0, {.kind = GridKind::Columns,
                  .rows = emission.rows(out),
                  .extent = emission.width(out),
                  .unit = 32})
      .reads("x", emission.first().inputs[0]);
  if (norm) emission.weight("norm", *norm).params(*norm, {"epsilon"});
  if (norm && quant) emission.terms(*quant);
  emission.weight("wgate", *emission.member(2))
      .weight("wup", *emission.member(3))
      .writes("out", out);
}

}  // namespace soma
