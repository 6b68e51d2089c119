// Emitter of one product with what may come before and after it in the same launch: linear,
// linear_add, gather_norm_quant_linear, gather_norm_linear.
#include "circuit/program/emit/emit.hpp"

namespace soma {

void emit_linear(Emission& emission) {
  const Node* norm = emission.member(1);
  const Node* quant = emission.member(2);
  const Node& linear = *emission.member(3);
  const Node* add = emission.member(4);
  const EdgeId out = (add ? *add : linear).outputs[0];
  emission
      .launch(0, {.kind = GridKind::Columns,
                  .rows = emission.rows(out),
                  .extent = emission.width(out),
                  .unit = 16})
      .reads("x", emission.first().inputs[0]);
  if (norm) emission.weight("norm", *norm).params(*norm, {"epsilon"});
  if (norm && quant) emission.terms(*quant);
  emission.weight("w", linear);
  if (add) emission.reads("stream", add->inputs[0]);
  emission.writes("out", out);
}

}  // namespace soma
