// Emitters of launches that treat each row for itself: embed, gather_rows, residual_add, sample.
#include "circuit/program/emit/emit.hpp"

namespace soma {

void emit_embed(Emission& emission) {
  const Node& embed = *emission.member(0);
  emission.launch(0, {.kind = GridKind::Rows}).weight("w", embed).writes("out", embed.outputs[0]);
}

void emit_gather_rows(Emission& emission) {
  const Node& gather = *emission.member(0);
  emission.launch(0, {.kind = GridKind::Rows, .rows = RowsOf::Logits})
      .reads("x", gather.inputs[0])
      .writes("out", gather.outputs[0]);
}

void emit_residual_add(Emission& emission) {
  const Node& add = *emission.member(0);
  emission.launch(0, {.kind = GridKind::Rows})
      .reads("stream", add.inputs[0])
      .reads("x", add.inputs[1])
      .writes("out", add.outputs[0]);
}

void emit_sample(Emission& emission) {
  const Node& sample = *emission.member(0);
  emission.launch(0, {.kind = GridKind::Rows, .rows = RowsOf::Logits})
      .reads("logits", sample.inputs[0])
      .writes("tokens", sample.outputs[0]);
}

}  // namespace soma
