// A graph: work as nodes and edges, in the order in which they were added.
//
// That order is the only tie-break anywhere, so it is part of the graph's meaning. A graph is plain
// data: it may be wrong in every way that the compiler's first pass then finds, all of it at once.
// It does not know what becomes of it.
#pragma once

#include "base/core.hpp"
#include "value/dtype.hpp"
#include "value/value.hpp"

namespace soma {

enum class NodeKind : u8 { Function, Step, Loop, Branch, Subgraph, Program };
std::string_view node_kind_name(NodeKind kind);  // "function", …
std::optional<NodeKind> node_kind_by_name(std::string_view name);

struct Dimension {
  enum class Kind : u8 { Fixed, Symbol, Unknown };
  Kind kind = Kind::Unknown;
  u64 size = 0;                   // Fixed
  std::string symbol;             // Symbol: the same size wherever it stands in the graph
  bool operator==(const Dimension&) const = default;
};

struct Port {
  std::string name;
  Dtype dtype = Dtype::Any;
  std::optional<std::vector<Dimension>> shape;  // nothing: not said
  bool required = true;           // of inputs
  bool operator==(const Port&) const = default;
};

enum class StreamMode : u8 { None, Stateless, Stateful, Barrier };
std::string_view stream_mode_name(StreamMode mode);  // "none", "stateless", …
std::optional<StreamMode> stream_mode_by_name(std::string_view name);

struct Target {                   // where a node runs
  enum class Kind : u8 { Local, Tag, Worker };
  Kind kind = Kind::Local;
  std::string name;
  bool operator==(const Target&) const = default;
};

struct StopRule {
  enum class Kind : u8 { BodyTerminal, WhenSignaled, Exhaust };
  Kind kind = Kind::BodyTerminal;
  std::string node;               // WhenSignaled: whose value is the signal
  bool operator==(const StopRule&) const = default;
};

enum class EdgeKind : u8 { Data, Control };

class Graph;

struct GraphNode {
  std::string id;
  NodeKind kind = NodeKind::Function;
  std::string op;                 // the name that a run binds to code; empty: the id
  u32 op_version = 1;
  std::vector<Port> inputs, outputs;
  Value config;                   // a map, or null
  std::vector<u8> state;
  bool cacheable = false;
  bool deterministic = true;
  bool differentiable = false;
  bool waits = false;             // it may wait for another branch
  StreamMode stream_mode = StreamMode::None;
  std::optional<double> cost_us;
  Target target;
  std::string device = "cpu";     // "cpu", "cuda:N" or "meta"

  std::optional<i64> max_iterations;       // loop
  StopRule until;                          // loop
  std::optional<std::string> carry_from;   // loop
  std::optional<i64> max_turns;            // step
  std::string model, task;                 // program
  Value deployment;                        // program
  std::unique_ptr<Graph> graph;            // subgraph; none: an empty one

  GraphNode();
  GraphNode(GraphNode&&) noexcept;
  GraphNode& operator=(GraphNode&&) noexcept;
  ~GraphNode();
  GraphNode clone() const;        // deep: the subgraph too
};

struct GraphEdge {
  std::string from, to;           // ids
  EdgeKind kind = EdgeKind::Data;
  std::optional<std::string> arm;    // a predicate's text, or "else"
  std::optional<std::string> label;  // a text, a bool's name or a map's `branch`
  bool capture = false;           // a body or arm reads an outer value
  std::string output, input;      // ports; empty: the only one
  bool operator==(const GraphEdge&) const = default;
};

class Graph {
 public:
  // Of a document with all graphs within it, and of what `then` makes: twice the nodes that a
  // compilation is built to take.
  static constexpr size_t nodes_max = size_t{1} << 21;
  static constexpr size_t edges_max = size_t{1} << 23;

  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;

  Graph() = default;
  Graph(Graph&&) noexcept = default;
  Graph& operator=(Graph&&) noexcept = default;
  Graph clone() const;
  const GraphNode* find(std::string_view id) const;  // linear; nullptr if there is none

  // ---- document_read.cpp, document_write.cpp
  // Strict JSON of version 1: document_* reasons and graph_unknown_kind, all problems at once, each
  // naming its place ("nodes[3].inputs[0].dtype"). Lenient: unknown keys are passed over.
  enum class Reading : u8 { Strict, Lenient };
  static Result<Graph> parse(std::string_view json, Reading reading = Reading::Strict);
  // Canonical: fixed key order, nothing that has its default, shortest numbers. parse(document())
  // gives the same document, unless something in the graph has no form in a document, which the
  // compiler's first pass refuses: an integer beyond ±2^53, an opaque value, text with a NUL.
  std::string document() const;
  std::string digest() const;     // BLAKE2b-256 of the document, 64 hexadecimal digits
};

// ---- build.cpp: for hosts that write graphs as code

// An id that `graph` does not have yet: snake_case of the name, then _2, _3, … One pass over the
// nodes.
std::string automatic_id(const Graph& graph, std::string_view name);

// The two ways of putting graphs together. then: every sink of `first` feeds every source of
// `second`, in order. beside: disjoint union. Ids must differ (graph_duplicate_id names those that
// don't). Nodes inside loops, arms and hand-offs are neither sinks nor sources.
Result<Graph> then(Graph first, Graph second);
Result<Graph> beside(Graph first, Graph second);

}  // namespace soma
