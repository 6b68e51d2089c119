// The CPU backend: the embedded default, and the numeric oracle of all others.
#pragma once

#include "backend/backend.hpp"
#include "base/team.hpp"

namespace soma::cpu {

// "auto", "scalar", "avx2", "avx512_vnni", "amx_int8"; amx: whether the system may be asked for
// tiles. isa_unavailable if amx, the processor or the system denies a set asked for by name.
Result<std::unique_ptr<Backend>> make_backend(Team& team, std::string_view isa, bool amx);

// The sets this build has, and which of them this machine can run.
struct SetInfo { std::string_view name; bool available; };
std::vector<SetInfo> kernel_sets();

}  // namespace soma::cpu
