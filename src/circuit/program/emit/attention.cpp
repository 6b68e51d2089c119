// Emitters of the attention part of a layer: rope, kv_write, all of what comes before attention in
// one launch, and attention itself.
#include "circuit/program/emit/emit.hpp"

namespace soma {

void emit_rope(Emission& emission) {
  const Node& rope = *emission.member(0);
  emission.launch(0, {.kind = GridKind::Rows})
      .reads("x", rope.inputs[0])
      .params(rope, {"heads", "head_dim", "base", "dims", "adjacent"})
      .writes("out", rope.outputs[0]);
}

void emit_kv_write(Emission& emission) {
  const Node& write = *emission.member(0);
  emission.launch(0, {.kind = GridKind::Rows})
      .reads("k", write.inputs[0])
      .reads("v", write.inputs[1])
      .state("kv", write, true);
}

// A unit is what can be rotated without its neighbours: 16 columns hold whole adjacent pairs, but a
// pair of halves spans its head.
void emit_qkv_rope_kv(Emission& emission) {
  const Node *norm = emission.member(0), *quant = emission.member(1);
  const Node &q = *emission.member(2), &k = *emission.member(3), &v = *emission.member(4);
  const Node &rope = *emission.member(5), &write = *emission.member(7);
  const bool adjacent = rope.param("adjacent") != 0;
  const u32 columns =
      emission.width(q.outputs[0]) + emission.width(k.outputs[0]) + emission.width(v.outputs[0]);
  emission
      .launch(0, {.kind = GridKind::Columns,
                  .extent = columns,
                  .unit = adjacent ? 16 : static_cast<u32>(rope.param("head_dim"))})
      .reads("x", emission.first().inputs[0]);
  if (norm) emission.weight("norm", *norm).params(*norm, {"epsilon"});
  if (norm && quant) emission.terms(*quant);
  emission.weight("wq", q)
      .weight("wk", k)
      .weight("wv", v)
      .params(rope, {"heads"})
      .params(write, {"kv_heads"})
      .params(rope, {"head_dim", "base", "dims", "adjacent"})
      .state("kv", write, true)
      .writes("q", rope.outputs[0]);
}

void emit_attend(Emission& emission) {
  const Node& attend = *emission.member(0);
  const Node* quant = emission.member(1);
  emission
      .launch(0, {.kind = GridKind::RowHeads, .extent = static_cast<u32>(attend.param("heads"))})
      .reads("q", attend.inputs[0])
      .state("kv", attend, false)
      .params(attend, {"heads", "kv_heads", "head_dim", "scale"})
      .writes("out", (quant ? *quant : attend).outputs[0]);
}

}  // namespace soma
