// What a node of work declares about itself: the part that graphs and plans have in common.
#pragma once

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

struct NodeSpec {
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

  std::string_view op_name() const { return op.empty() ? id : op; }
};

}  // namespace soma
