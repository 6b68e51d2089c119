// Which ports an edge connects.
#pragma once

#include "compiler/draft.hpp"

namespace soma {

// Each edge looks through the ports of its ends, and through the dimensions of their shapes.
inline constexpr size_t ports_max = 1024;  // of a node, on a side
inline constexpr size_t rank_max = 64;     // of a port

// Does a value flow along it?
inline bool carries_value(const DraftEdge& edge) {
  return edge.link == Link::Data || edge.link == Link::Capture;
}

// The port that an end of an edge means: the one it names, or the only one there is. None: the node
// declares no ports there, or the edge leaves it open, which check_ports reports. The edge from a
// leaf to its subgraph's node arrives at what that node yields: the leaf's value becomes its own.
const Port* output_port(const Draft& draft, const DraftEdge& edge);
const Port* input_port(const Draft& draft, const DraftEdge& edge);

// graph_unknown_port, graph_ambiguous_port, graph_required_input, graph_limit.
void check_ports(const Draft& draft, Diagnostics& diagnostics);

}  // namespace soma
