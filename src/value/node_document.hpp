// Records of nodes in documents: the keys that graphs and plans share, their reader and writer.
#pragma once

#include <bit>

#include "base/json_writer.hpp"
#include "value/document_walk.hpp"
#include "value/node.hpp"

namespace soma::document {

constexpr u32 kind_bit(NodeKind kind) { return 1U << static_cast<u32>(kind); }
inline constexpr u32 every_kind = ~0U;

// Graph and From have no place in a NodeSpec: a graph's document reads and writes its own
// subgraphs, a plan's what nodes read of each other.
enum class NodeKey : u8 {
  Id, Kind, Op, OpVersion,
  MaxIterations, Until, CarryFrom, MaxTurns, Model, Task, Deployment, Graph,
  Inputs, Outputs, Differentiable, Cacheable, Deterministic, Waits, StreamMode,
  CostUs, Target, Device, State, Config, From,
};
inline constexpr Key node_keys[] = {
    {"id"}, {"kind"}, {"op"}, {"op_version"},
    {"max_iterations", kind_bit(NodeKind::Loop), in_graphs},
    {"until", kind_bit(NodeKind::Loop), in_graphs},
    {"carry_from", kind_bit(NodeKind::Loop), in_graphs},
    {"max_turns", kind_bit(NodeKind::Step)},
    {"model", kind_bit(NodeKind::Program)},
    {"task", kind_bit(NodeKind::Program)},
    {"deployment", kind_bit(NodeKind::Program)},
    {"graph", kind_bit(NodeKind::Subgraph), in_graphs},
    {"inputs"}, {"outputs"}, {"differentiable"}, {"cacheable"}, {"deterministic"}, {"waits"},
    {"stream_mode"}, {"cost_us"}, {"target"}, {"device"}, {"state"}, {"config"},
    {"from", every_kind, in_plans},
};
static_assert(std::size(node_keys) == static_cast<size_t>(NodeKey::From) + 1);

enum class PortKey : u8 { Name, Dtype, Shape, Required };
inline constexpr Key port_keys[] = {{"name"}, {"dtype"}, {"shape"}, {"required"}};

// ---- node_document_read.cpp

class NodeReader : protected Walk {
 protected:
  using Walk::Walk;

  // The kind of a node says which other keys it may have, so it is read first; a node has an id.
  // Returns the kinds that the node may be of: all of them, if it does not rightly say.
  u32 begin_node(JsonView json, const Place& at, NodeSpec& node);
  // The other keys. own(key, value, place) reads what has no place in a NodeSpec.
  template <typename Own>
  void read_node(JsonView json, const Place& at, u32 kinds, NodeSpec& node, Own own) {
    each_member<NodeKey>(json, at, "a node", node_keys,
                         [&](NodeKey key, JsonView member, const Place& place) {
      if (!may_have(key, kinds, node, place)) return;
      if (key == NodeKey::Graph || key == NodeKey::From) {
        own(key, member, place);
      } else {
        read_node_key(key, member, place, node);
      }
    });
  }
  void read_target(JsonView json, const Place& at, Target& out);

 private:
  u32 read_kind(JsonView json, const Place& at, NodeSpec& node);
  bool may_have(NodeKey key, u32 kinds, const NodeSpec& node, const Place& at);
  void read_node_key(NodeKey key, JsonView json, const Place& at, NodeSpec& node);
  void read_ports(JsonView json, const Place& at, bool are_inputs, std::vector<Port>& ports);
  void read_port(JsonView json, const Place& at, bool is_input, Port& port);
  void read_name(JsonView json, const Place& at, Name& out);
  void read_op_version(JsonView json, const Place& at, u32& out);
  void read_cost(JsonView json, const Place& at, std::optional<double>& out);
  void read_stream_mode(JsonView json, const Place& at, StreamMode& out);
  void read_dtype(JsonView json, const Place& at, Dtype& out);
  void read_shape(JsonView json, const Place& at, std::vector<Dimension>& out);
  void read_until(JsonView json, const Place& at, StopRule& out);
  void read_state(JsonView json, const Place& at, std::vector<u8>& out);
  void read_config(JsonView json, const Place& at, Value& out);
};

// ---- node_document_write.cpp

// A key with its value, unless that is its default. Of Graph and From: nothing.
void write_node_key(JsonWriter& json, NodeKey key, const NodeSpec& node);
// "local", {"tag": …} or {"worker": …}.
void write_target(JsonWriter& json, const Target& target);

// The keys that may say something, as bits; all others have their default.
inline u32 telling_keys(const NodeSpec& node) {
  static_assert(std::size(node_keys) <= 32);
  if (!node.settings.is_usual()) return ~0U;
  u32 keys = 0;
  const auto tell = [&keys](bool says_something, NodeKey key) {
    keys |= u32{says_something} << static_cast<u32>(key);
  };
  tell(true, NodeKey::Id);
  tell(node.kind != NodeKind::Function, NodeKey::Kind);
  tell(!node.op.empty(), NodeKey::Op);
  tell(node.op_version != 1, NodeKey::OpVersion);
  tell(true, NodeKey::Graph);
  tell(node.differentiable, NodeKey::Differentiable);
  tell(node.cacheable, NodeKey::Cacheable);
  tell(!node.deterministic, NodeKey::Deterministic);
  tell(node.waits, NodeKey::Waits);
  tell(node.stream_mode != StreamMode::None, NodeKey::StreamMode);
  tell(true, NodeKey::From);
  return keys;
}

// What a node of its kind may have in such a document. own(key) writes what has no place in a
// NodeSpec.
template <typename Own>
void write_node(JsonWriter& json, u32 document, const NodeSpec& node, Own own) {
  json.object();
  for (u32 left = telling_keys(node); left != 0; left &= left - 1) {
    const size_t i = static_cast<size_t>(std::countr_zero(left));
    if (i >= std::size(node_keys)) break;
    const NodeKey key = static_cast<NodeKey>(i);
    if ((node_keys[i].kinds & kind_bit(node.kind)) == 0) continue;
    if ((node_keys[i].documents & document) == 0) continue;
    if (key == NodeKey::Graph || key == NodeKey::From) {
      own(key);
    } else {
      write_node_key(json, key, node);
    }
  }
  json.close();
}

// One key of an object, written only if it says something.
struct KeyWriter {
  JsonWriter& json;
  std::string_view name;

  template <typename T>
  void put(const T& content) {
    json.field(name, content);
  }
  template <typename T>
  void put_if_any(const std::optional<T>& content) {
    if (content) put(*content);
  }
  template <typename Default, typename T, typename Shown>
  void put_unless(const Default& usual, const T& content, const Shown& shown) {
    if (content != usual) put(shown);
  }
};

}  // namespace soma::document
