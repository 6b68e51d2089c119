// What the processor has *and* the system grants: CPUID, XCR0 and, for AMX, the tile permission.
#pragma once

#include "base/core.hpp"

namespace soma {

struct CpuFeatures {
  bool avx2 = false;         // with FMA and F16C
  bool avx512_vnni = false;  // F, BW, VL, DQ, VNNI and the upper state
  bool amx_int8 = false;     // AMX-TILE, AMX-INT8, the state enabled, and avx512_vnni
  std::string brand;         // "AMD EPYC …"
};
CpuFeatures probe_cpu();

// Asks the kernel for the tile state, once a process. It can't be given back and makes signal
// frames larger: the one documented exception to "no process state". False if refused.
bool request_amx();

}  // namespace soma
