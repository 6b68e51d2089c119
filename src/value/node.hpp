// What a node of work declares about itself: the part that graphs and plans have in common.
#pragma once

#include "value/dtype.hpp"
#include "value/name.hpp"
#include "value/rare.hpp"
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

// What few nodes say of themselves.
struct NodeSettings {
  std::vector<Port> inputs, outputs;
  Value config;                   // a map, or null
  std::vector<u8> state;
  std::optional<double> cost_us;
  Target target;
  std::string device = "cpu";     // "cpu", "cuda:N" or "meta"

  std::optional<i64> max_iterations;       // loop
  StopRule until;                          // loop
  std::optional<std::string> carry_from;   // loop
  std::optional<i64> max_turns;            // step
  std::string model, task;                 // program
  Value deployment;                        // program

  static const NodeSettings& usual();
};
extern template class Rare<NodeSettings>;

// Graphs have millions of these, so what most do not need lies elsewhere: read by its name, written
// through edit().
struct NodeSpec {
  Name id;
  Name op;                        // the name that a run binds to code; empty: the id
  Rare<NodeSettings> settings;
  u32 op_version = 1;
  NodeKind kind = NodeKind::Function;
  StreamMode stream_mode = StreamMode::None;
  bool cacheable : 1 = false;
  bool deterministic : 1 = true;
  bool differentiable : 1 = false;
  bool waits : 1 = false;         // it may wait for another branch

  std::string_view op_name() const { return op.empty() ? id : op; }

  const std::vector<Port>& inputs() const { return settings->inputs; }
  const std::vector<Port>& outputs() const { return settings->outputs; }
  const Value& config() const { return settings->config; }
  const std::vector<u8>& state() const { return settings->state; }
  std::optional<double> cost_us() const { return settings->cost_us; }
  const Target& target() const { return settings->target; }
  const std::string& device() const { return settings->device; }
  std::optional<i64> max_iterations() const { return settings->max_iterations; }
  const StopRule& until() const { return settings->until; }
  const std::optional<std::string>& carry_from() const { return settings->carry_from; }
  std::optional<i64> max_turns() const { return settings->max_turns; }
  const std::string& model() const { return settings->model; }
  const std::string& task() const { return settings->task; }
  const Value& deployment() const { return settings->deployment; }
  NodeSettings& edit() { return settings.edit(); }
};

}  // namespace soma
