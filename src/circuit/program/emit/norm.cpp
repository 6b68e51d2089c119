// Emitters of norms and of quantisation by rows: rms_norm, norm_quant, act_quant.
#include "circuit/program/emit/emit.hpp"

namespace soma {

void emit_norm(Emission& emission) {
  const Node& norm = *emission.member(0);
  const Node* quant = emission.member(1);
  const EdgeId out = (quant ? *quant : norm).outputs[0];
  const std::string_view weight = quant ? "norm" : "w";
  emission.launch(0, {.kind = GridKind::Rows, .rows = emission.rows(out)})
      .reads("x", norm.inputs[0])
      .weight(weight, norm)
      .params(norm, {"epsilon"})
      .writes("out", out);
}

void emit_act_quant(Emission& emission) {
  const Node& quant = *emission.member(0);
  const EdgeId out = quant.outputs[0];
  emission.launch(0, {.kind = GridKind::Rows, .rows = emission.rows(out)})
      .reads("x", quant.inputs[0])
      .writes("out", out);
}

}  // namespace soma
