// A circuit: what a model computes in one step, as a flat list of ops over edges, in an order in
// which every edge is made before it is read.
//
// A Circuit is a value: immutable once validated, independent of weights, threads and devices. An
// edge is a matrix of rows × width; its rows are the step's rows or the rows that want logits, so
// one circuit serves every mode. Weights appear by name, format and shape only.
#pragma once

#include "base/core.hpp"
#include "circuit/op.hpp"
#include "value/format.hpp"

namespace soma {

using EdgeId = u32;
using NodeId = u32;

enum class RowsOf : u8 { Step, Logits };  // how many rows an edge has

// The model's named buffers, outside the arena.
enum class ModelBuffer : u8 { None, Hidden, Logits, Tokens };
std::string_view buffer_name(ModelBuffer buffer);

struct Edge {
  std::string id;                 // "l3.attn.q"
  Format format = Format::F32;
  RowsOf rows = RowsOf::Step;
  u64 width = 0;                  // 0: an ordering edge, which holds no bytes (kv_write -> attend)
  NodeId producer = 0;
  std::vector<NodeId> consumers;  // in node order; a node that reads twice appears twice
  bool is_stream = false;         // lives in ModelBuffer::Hidden and is updated in place
  ModelBuffer binds = ModelBuffer::None;  // a declared output: where it lands
};

// A tensor a node reads: names the file's tensor, never its bytes.
struct WeightRef {
  std::string tensor;             // "blk.3.attn_q.weight"
  Format format = Format::F32;
  u64 rows = 1;                   // output features; 1 for a vector
  u64 columns = 0;                // input features, the row's width
  bool operator==(const WeightRef&) const = default;
};

struct Param {
  std::string name;
  double value = 0;
};

struct Node {
  std::string id;                 // "l3.attn.q"
  Op op = Op::Linear;
  std::string role;               // "q", "k", "v", "o", "gate", "up", "down", "head"; or empty
  std::vector<EdgeId> inputs;     // in the op's operand order
  std::vector<EdgeId> outputs;
  std::vector<WeightRef> weights;
  std::vector<Param> params;
  i32 layer = -1;                 // -1: prologue or epilogue; also the layer of the KV state
  double param(std::string_view name) const;  // the node has it: validate() saw to that
};
std::string canonical_name(const Node& node);  // "linear:down", "rms_norm:attn", "attend"

// The result of one model family's builder, or of a document.
struct Circuit {
  std::string architecture;
  i64 layers = 0;
  i64 kv_heads = 0;               // of the KV state, the same in every layer
  i64 head_dim = 0;
  std::vector<Node> nodes;
  std::vector<Edge> edges;

  // Every problem, collected: wrong operand counts, unknown or missing parameters, shapes, edges
  // read before they are made, outputs unread and unbound, an edge both stream and output.
  Status validate() const;
  std::string dump() const;       // one line a node
};

// Builds circuits: keeps producers and consumers in step. Nodes are appended in order.
class CircuitBuilder {
 public:
  EdgeId edge(std::string id, Format format, RowsOf rows, u64 width);
  // Appends a node and wires its edges' producer and consumers.
  NodeId node(Node node);
  Circuit& circuit() { return circuit_; }
  Result<Circuit> finish() &&;    // validates

 private:
  Circuit circuit_;
};

// How activations enter matrix products.
enum class Policy : u8 {
  Fast,       // int8 blocks of 32 where the weights are quantised; KV in f16
  Reference,  // f32 everywhere, KV in f32
};
std::string_view policy_name(Policy policy);  // "fast", "reference"

// Makes the policy's activation formats explicit: under Fast, every linear with quantised weights
// reads int8 (Q8A2 where its role is q, k or v, else Q8A), through one ActQuant node per edge and
// format that its readers share. Under Reference, the circuit comes back unchanged.
Result<Circuit> resolve_precision(const Circuit& circuit, Policy policy);

}  // namespace soma
