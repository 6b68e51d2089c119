// The keys of graph documents beside those of nodes: what reader and writer agree on.
#pragma once

#include "graph/graph.hpp"
#include "value/node_document.hpp"

namespace soma::document {

inline constexpr std::string_view graph_name = "graph";  // what the key `soma` says
inline constexpr i64 graph_version = 1;

enum class GraphKey : u8 { Soma, Version, Nodes, Edges };
inline constexpr Key graph_keys[] = {{"soma"}, {"version"}, {"nodes"}, {"edges"}};

enum class EdgeKey : u8 { From, To, Kind, Arm, Label, Capture, Output, Input };
inline constexpr Key edge_keys[] = {{"from"}, {"to"},      {"kind"},   {"arm"},
                                    {"label"}, {"capture"}, {"output"}, {"input"}};

}  // namespace soma::document
