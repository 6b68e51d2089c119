// The parts of Circuit::validate(), one a kind of problem. Each adds all it finds.
#pragma once

#include "base/problems.hpp"
#include "circuit/circuit.hpp"

namespace soma {

// Limits that keep every later product and loop small, whoever wrote the circuit.
constexpr size_t circuit_nodes_max = 1 << 16;
constexpr i64 circuit_layers_max = 1 << 12;
constexpr u64 edge_width_max = u64{1} << 30;

// The edges of a node whose operands are all there: widths, formats and rows fit its op.
void check_shape(const Circuit& circuit, const Node& node, Problems& problems);

}  // namespace soma
