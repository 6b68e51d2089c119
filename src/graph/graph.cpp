// The plain parts of a graph: the names of its kinds, copies, looking up a node.
#include "graph/graph.hpp"

#include <algorithm>
#include <array>

namespace soma {

namespace {

constexpr std::array<std::string_view, 6> node_kinds = {"function", "step",     "loop",
                                                        "branch",   "subgraph", "program"};
constexpr std::array<std::string_view, 4> stream_modes = {"none", "stateless", "stateful",
                                                          "barrier"};

// The enumerator that stands where the name does in the table.
template <typename Enum, size_t count>
std::optional<Enum> by_name(const std::array<std::string_view, count>& names,
                            std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return std::nullopt;
  return static_cast<Enum>(at - names.begin());
}

}  // namespace

std::string_view node_kind_name(NodeKind kind) { return node_kinds[static_cast<size_t>(kind)]; }
std::optional<NodeKind> node_kind_by_name(std::string_view name) {
  return by_name<NodeKind>(node_kinds, name);
}

std::string_view stream_mode_name(StreamMode mode) {
  return stream_modes[static_cast<size_t>(mode)];
}
std::optional<StreamMode> stream_mode_by_name(std::string_view name) {
  return by_name<StreamMode>(stream_modes, name);
}

// Here and not in the header, since a node owns a Graph, which the header has not defined there.
GraphNode::GraphNode() = default;
GraphNode::GraphNode(GraphNode&&) noexcept = default;
GraphNode& GraphNode::operator=(GraphNode&&) noexcept = default;
GraphNode::~GraphNode() = default;

GraphNode GraphNode::clone() const {
  GraphNode out;
  out.id = id;
  out.kind = kind;
  out.op = op;
  out.op_version = op_version;
  out.inputs = inputs;
  out.outputs = outputs;
  out.config = config;
  out.state = state;
  out.cacheable = cacheable;
  out.deterministic = deterministic;
  out.differentiable = differentiable;
  out.waits = waits;
  out.stream_mode = stream_mode;
  out.cost_us = cost_us;
  out.target = target;
  out.device = device;
  out.max_iterations = max_iterations;
  out.until = until;
  out.carry_from = carry_from;
  out.max_turns = max_turns;
  out.model = model;
  out.task = task;
  out.deployment = deployment;
  if (graph) out.graph = std::make_unique<Graph>(graph->clone());
  return out;
}

Graph Graph::clone() const {
  Graph out;
  out.nodes.reserve(nodes.size());
  for (const GraphNode& node : nodes) out.nodes.push_back(node.clone());
  out.edges = edges;
  return out;
}

const GraphNode* Graph::find(std::string_view id) const {
  const auto at = std::find_if(nodes.begin(), nodes.end(),
                               [id](const GraphNode& node) { return node.id == id; });
  return at == nodes.end() ? nullptr : &*at;
}

}  // namespace soma
