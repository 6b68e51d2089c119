// The functions of all launch families, for the table in kinds.cpp.
#pragma once

#include "backend/cpu/launch/launch.hpp"

namespace soma::cpu {

#define SOMA_LAUNCH(name)                              \
  void check_##name(const Operands& o, Checker& check); \
  void run_##name(const Operands& o, const Step& step, const Member& member, i64 begin, i64 end);
SOMA_LAUNCH(embed)         // rows.cpp
SOMA_LAUNCH(rms_norm)      // norm.cpp
SOMA_LAUNCH(act_quant)
SOMA_LAUNCH(norm_quant)
SOMA_LAUNCH(linear)        // linear.cpp
SOMA_LAUNCH(linear_add)
SOMA_LAUNCH(qkv)           // qkv.cpp
SOMA_LAUNCH(rope)
SOMA_LAUNCH(kv_write)
SOMA_LAUNCH(attend)        // attend.cpp
SOMA_LAUNCH(gate_up)       // gate_up.cpp
SOMA_LAUNCH(silu_mul)
SOMA_LAUNCH(residual_add)  // rows.cpp
SOMA_LAUNCH(gather_rows)
SOMA_LAUNCH(sample)        // sample.cpp
#undef SOMA_LAUNCH

}  // namespace soma::cpu
