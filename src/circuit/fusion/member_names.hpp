// Names a group's members in few words.
#pragma once

#include "circuit/circuit.hpp"

namespace soma {

// What the ids have in common, up to a dot, is said once: l0.attn.norm l0.attn.q l0.attn.kv
// becomes "l0.attn: norm q kv". `nodes` is not empty.
std::string member_names(const Circuit& circuit, const std::vector<NodeId>& nodes);

}  // namespace soma
