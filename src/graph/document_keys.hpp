// The keys of graph documents: what reader and writer agree on. The order of a table is the order
// in which its keys are printed.
#pragma once

#include "graph/graph.hpp"

namespace soma::document {

inline constexpr std::string_view graph_name = "graph";  // what the key `soma` says
inline constexpr i64 graph_version = 1;

// Kinds of nodes, as a set.
constexpr u32 kind_bit(NodeKind kind) { return 1U << static_cast<u32>(kind); }
inline constexpr u32 every_kind = ~0U;

struct Key {
  std::string_view name;
  u32 kinds = every_kind;         // of nodes: which may have it
};

enum class GraphKey : u8 { Soma, Version, Nodes, Edges };
inline constexpr Key graph_keys[] = {{"soma"}, {"version"}, {"nodes"}, {"edges"}};

enum class NodeKey : u8 {
  Id, Kind, Op, OpVersion,
  MaxIterations, Until, CarryFrom, MaxTurns, Model, Task, Deployment, Graph,
  Inputs, Outputs, Differentiable, Cacheable, Deterministic, Waits, StreamMode,
  CostUs, Target, Device, State, Config,
};
inline constexpr Key node_keys[] = {
    {"id"}, {"kind"}, {"op"}, {"op_version"},
    {"max_iterations", kind_bit(NodeKind::Loop)},
    {"until", kind_bit(NodeKind::Loop)},
    {"carry_from", kind_bit(NodeKind::Loop)},
    {"max_turns", kind_bit(NodeKind::Step)},
    {"model", kind_bit(NodeKind::Program)},
    {"task", kind_bit(NodeKind::Program)},
    {"deployment", kind_bit(NodeKind::Program)},
    {"graph", kind_bit(NodeKind::Subgraph)},
    {"inputs"}, {"outputs"}, {"differentiable"}, {"cacheable"}, {"deterministic"}, {"waits"},
    {"stream_mode"}, {"cost_us"}, {"target"}, {"device"}, {"state"}, {"config"},
};
static_assert(std::size(node_keys) == static_cast<size_t>(NodeKey::Config) + 1);

enum class PortKey : u8 { Name, Dtype, Shape, Required };
inline constexpr Key port_keys[] = {{"name"}, {"dtype"}, {"shape"}, {"required"}};

enum class EdgeKey : u8 { From, To, Kind, Arm, Label, Capture, Output, Input };
inline constexpr Key edge_keys[] = {{"from"}, {"to"},      {"kind"},   {"arm"},
                                    {"label"}, {"capture"}, {"output"}, {"input"}};

}  // namespace soma::document
