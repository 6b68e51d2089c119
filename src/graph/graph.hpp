// A graph: work as nodes and edges, in the order in which they were added.
//
// That order is the only tie-break anywhere, so it is part of the graph's meaning. A graph is plain
// data: it may be wrong in every way that the compiler's first pass then finds, all of it at once.
// It does not know what becomes of it.
#pragma once

#include "value/node.hpp"

namespace soma {

enum class EdgeKind : u8 { Data, Control };

class Graph;

struct GraphNode : NodeSpec {
  std::unique_ptr<Graph> graph;   // subgraph; none: an empty one

  GraphNode();
  GraphNode(std::string_view node_id, std::string_view node_op);
  GraphNode(GraphNode&&) noexcept;
  GraphNode& operator=(GraphNode&&) noexcept;
  ~GraphNode();
  GraphNode clone() const;        // deep: the subgraph too
};

// What few edges say.
struct EdgeSettings {
  std::optional<std::string> arm;    // a predicate's text, or "else"
  std::optional<std::string> label;  // a text, a bool's name or a map's `branch`
  std::string output, input;      // ports; empty: the only one

  static const EdgeSettings& usual();
  bool operator==(const EdgeSettings&) const = default;
};
extern template class Rare<EdgeSettings>;

struct GraphEdge {
  static constexpr u32 nowhere = ~u32{0};

  u32 from = nowhere, to = nowhere;  // nodes, or others that only have a name: Graph::end_named
  Rare<EdgeSettings> settings;
  EdgeKind kind = EdgeKind::Data;
  bool capture = false;           // a body or arm reads an outer value

  const std::optional<std::string>& arm() const { return settings->arm; }
  const std::optional<std::string>& label() const { return settings->label; }
  const std::string& output() const { return settings->output; }
  const std::string& input() const { return settings->input; }
  EdgeSettings& edit() { return settings.edit(); }
  bool operator==(const GraphEdge&) const = default;
};

class Graph {
 public:
  // Of a document with all graphs within it, and of what `then` makes: twice the nodes that a
  // compilation is built to take.
  static constexpr size_t nodes_max = size_t{1} << 21;
  static constexpr size_t edges_max = size_t{1} << 23;
  static constexpr u32 nesting_max = 100;  // of subgraphs
  static constexpr u32 first_stranger = u32{1} << 31;

  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;
  // Ids that edges name, and that no node had then: one that comes later is meant.
  std::vector<std::string> strangers;

  Graph() = default;
  Graph(Graph&&) noexcept = default;
  Graph& operator=(Graph&&) noexcept = default;
  Graph clone() const;
  u32 depth() const;              // how deep subgraphs nest; 0: there are none
  const GraphNode* find(std::string_view id) const;  // linear; nullptr if there is none

  // An end of an edge by its id: a node's number, or that of a stranger. Linear.
  u32 end_named(std::string_view id);
  u32 add_stranger(std::string id);
  // The id that an end names; of a number that is neither a node's nor a stranger's, nothing.
  std::string_view id_of(u32 end) const;

  // ---- document_read.cpp, document_write.cpp
  // Strict JSON of version 1: document_* reasons and graph_unknown_kind, all problems at once, each
  // naming its place ("nodes[3].inputs[0].dtype"). Lenient: unknown keys are passed over.
  enum class Reading : u8 { Strict, Lenient };
  static Result<Graph> parse(std::string_view json, Reading reading = Reading::Strict);
  // One node as it stands in a document; and what an edge has beside its ends and its kind.
  static Result<GraphNode> parse_node(std::string_view json);
  static Result<GraphEdge> parse_edge_settings(std::string_view json);
  // Canonical: fixed key order, nothing that has its default, shortest numbers. parse(document())
  // gives the same document, unless something in the graph has no form in a document, which the
  // compiler's first pass refuses: an integer beyond ±2^53, an opaque value, text with a NUL.
  std::string document() const;
  std::string digest() const;     // BLAKE2b-256 of the document, 64 hexadecimal digits
};

// Only here is a Graph defined, which a node owns.
inline GraphNode::GraphNode() = default;
inline GraphNode::GraphNode(std::string_view node_id, std::string_view node_op)
    : NodeSpec{Name(node_id), Name(node_op), {}} {}
inline GraphNode::GraphNode(GraphNode&&) noexcept = default;
inline GraphNode& GraphNode::operator=(GraphNode&&) noexcept = default;
inline GraphNode::~GraphNode() = default;

// ---- build.cpp: for hosts that write graphs as code

// An id that `graph` does not have yet: snake_case of the name, then _2, _3, … One pass over the
// nodes.
std::string automatic_id(const Graph& graph, std::string_view name);

// The two ways of putting graphs together. then: every sink of `first` feeds every source of
// `second`, in order. beside: disjoint union. Ids must differ (graph_duplicate_id names those that
// don't). A loop stands for its body. A branch or a step stands for its arms or hand-offs as a
// source; its sinks are their ends, one by one.
Result<Graph> then(Graph first, Graph second);
Result<Graph> beside(Graph first, Graph second);

}  // namespace soma
