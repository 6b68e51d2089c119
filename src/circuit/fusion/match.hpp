// Finds where a rule's pattern fits a circuit.
#pragma once

#include "circuit/fusion/dependencies.hpp"
#include "circuit/fusion/rules.hpp"

namespace soma {

// How far an attempt came and why it ended there; what explain tells.
struct Miss {
  std::vector<NodeId> nodes;  // bound to the pattern's first lines
  std::string why;
};

// The pattern's nodes, in its order, with `anchor` bound to the first line and no node that is
// taken; or nothing. If `miss` is given, it gets the attempt that came furthest.
std::optional<std::vector<NodeId>> match(const Circuit& circuit, const Dependencies& dependencies,
                                         const Rule& rule, NodeId anchor,
                                         const std::vector<bool>& taken, Miss* miss = nullptr);

}  // namespace soma
