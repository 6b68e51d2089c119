// Proves that each kind of damage to a circuit is found, named and reported with all others.
#include <doctest/doctest.h>

#include <limits>

#include "unit/circuit/llama_fixture.hpp"

namespace soma {

namespace {

using fixture::all_messages;

Circuit small() {
  return fixture::llama(fixture::small_sizes());
}

Node& node_of(Circuit& circuit, std::string_view id) {
  for (Node& node : circuit.nodes) {
    if (node.id == id) return node;
  }
  FAIL("no such node");
  return circuit.nodes.front();
}

Edge& edge_of(Circuit& circuit, std::string_view id) {
  for (Edge& edge : circuit.edges) {
    if (edge.id == id) return edge;
  }
  FAIL("no such edge");
  return circuit.edges.front();
}

EdgeId id_of(Circuit& circuit, std::string_view id) {
  return static_cast<EdgeId>(&edge_of(circuit, id) - circuit.edges.data());
}

struct Damage {
  const char* what;
  void (*apply)(Circuit& circuit);
  Reason reason;
  const char* message;  // a part of it
};

const Damage damages[] = {
    {"no nodes", [](Circuit& c) { c.nodes.clear(); }, Reason::circuit_op, "1..65536 nodes"},
    {"too many layers", [](Circuit& c) { c.layers = 1 << 20; }, Reason::circuit_op, "layers"},
    {"negative KV heads", [](Circuit& c) { c.kv_heads = -1; }, Reason::circuit_op, "KV heads"},
    {"bad node id", [](Circuit& c) { node_of(c, "l0.attn.q").id = "a b"; }, Reason::circuit_op,
     "bad node id 'a b'"},
    {"bad edge id", [](Circuit& c) { edge_of(c, "l0.attn.q").id = ""; }, Reason::circuit_op,
     "bad edge id"},
    {"two nodes of a name", [](Circuit& c) { node_of(c, "l0.attn.q").id = "l0.attn.k"; },
     Reason::circuit_op, "two nodes are called 'l0.attn.k'"},
    {"two edges of a name", [](Circuit& c) { edge_of(c, "l0.attn.q").id = "l0.attn.k"; },
     Reason::circuit_op, "two edges are called 'l0.attn.k'"},
    {"an operand too few", [](Circuit& c) { node_of(c, "l0.ffn.act").inputs.pop_back(); },
     Reason::circuit_op, "1 inputs, expected 2"},
    {"an output too many", [](Circuit& c) { node_of(c, "l0.attn.q").outputs.push_back(0); },
     Reason::circuit_op, "2 outputs, expected 1"},
    {"no weight", [](Circuit& c) { node_of(c, "l0.attn.q").weights.clear(); }, Reason::circuit_op,
     "0 weights, expected 1"},
    {"an edge that is not there", [](Circuit& c) { node_of(c, "l0.attn.q").inputs[0] = 9999; },
     Reason::circuit_op, "there is no edge 9999"},
    {"no role", [](Circuit& c) { node_of(c, "l0.attn.q").role.clear(); }, Reason::circuit_op,
     "needs a role"},
    {"a stray role", [](Circuit& c) { node_of(c, "l0.ffn.act").role = "q"; }, Reason::circuit_op,
     "has no role, got 'q'"},
    {"a layer too high", [](Circuit& c) { node_of(c, "l0.attn.q").layer = 2; }, Reason::circuit_op,
     "layer 2 is not one of the circuit's 2"},
    {"state without a layer", [](Circuit& c) { node_of(c, "l0.attn.kv").layer = -1; },
     Reason::circuit_op, "layer -1"},
    {"a parameter twice",
     [](Circuit& c) { node_of(c, "l0.attn.norm").params.push_back({"epsilon", 1e-5}); },
     Reason::circuit_op, "'epsilon' is given twice"},
    {"an unknown parameter",
     [](Circuit& c) { node_of(c, "l0.attn.norm").params.push_back({"plus_one", 1}); },
     Reason::circuit_op, "no parameter 'plus_one'"},
    {"a missing parameter", [](Circuit& c) { node_of(c, "l0.attn.norm").params.clear(); },
     Reason::circuit_op, "'epsilon' is missing"},
    {"a parameter out of range", [](Circuit& c) { node_of(c, "l0.attn.norm").params[0].value = 2; },
     Reason::circuit_op, "epsilon must be 0..1, is 2"},
    {"a parameter that is no number",
     [](Circuit& c) {
       node_of(c, "l0.attn.norm").params[0].value = std::numeric_limits<double>::quiet_NaN();
     },
     Reason::circuit_op, "epsilon must be 0..1, is nan"},
    {"a broken integer", [](Circuit& c) { node_of(c, "l0.attn.q_rope").params[0].value = 8.5; },
     Reason::circuit_op, "heads must be an integer of 1..65536, is 8.5"},
    {"reading before making", [](Circuit& c) { std::swap(c.nodes[1], c.nodes[2]); },
     Reason::circuit_order, "'l0.attn.q' reads 'l0.attn.norm', which nothing before it makes"},
    {"an edge made twice",
     [](Circuit& c) { node_of(c, "l0.attn.k").outputs[0] = id_of(c, "l0.attn.q"); },
     Reason::circuit_order, "'l0.attn.q' is made twice, by 'l0.attn.q' and 'l0.attn.k'"},
    {"an edge made by nobody",
     [](Circuit& c) {
       c.edges.emplace_back();
       c.edges.back().id = "lost";
     },
     Reason::circuit_order, "'lost' is made by no node"},
    {"lists that lie", [](Circuit& c) { edge_of(c, "l0.attn.q").consumers.push_back(3); },
     Reason::circuit_order, "'l0.attn.q' lists other producers or readers"},
    {"an output nobody reads", [](Circuit& c) { edge_of(c, "tokens").binds = ModelBuffer::None; },
     Reason::circuit_output, "'tokens' is read by nobody and bound to no buffer"},
    {"bound to hidden", [](Circuit& c) { edge_of(c, "tokens").binds = ModelBuffer::Hidden; },
     Reason::circuit_output, "'tokens' can't be bound to hidden"},
    {"both stream and output",
     [](Circuit& c) { edge_of(c, "l0.ffn.add").binds = ModelBuffer::Tokens; },
     Reason::circuit_output, "'l0.ffn.add' can't be bound to tokens: the stream lives in hidden"},
    {"two outputs in one buffer",
     [](Circuit& c) { edge_of(c, "tokens").binds = ModelBuffer::Logits; }, Reason::circuit_output,
     "'logits' and 'tokens' are both bound to logits"},
    {"an output with the step's rows",
     [](Circuit& c) {
       edge_of(c, "l0.attn.q").binds = ModelBuffer::Logits;
       edge_of(c, "logits").binds = ModelBuffer::None;
     },
     Reason::circuit_output, "'l0.attn.q' is bound to logits, which has the rows"},
    {"two streams", [](Circuit& c) { edge_of(c, "l0.attn.q").is_stream = true; },
     Reason::circuit_order, "'embed' and 'l0.attn.q' both want the one hidden buffer"},
    {"the stream read after it was replaced",
     [](Circuit& c) {
       Node& norm = node_of(c, "l0.ffn.norm");
       std::vector<NodeId>& old = c.edges[norm.inputs[0]].consumers;
       old.erase(old.begin());
       norm.inputs[0] = id_of(c, "embed");
       c.edges[norm.inputs[0]].consumers.push_back(static_cast<NodeId>(&norm - c.nodes.data()));
     },
     Reason::circuit_order, "'l0.ffn.norm' reads 'embed' after 'l0.attn.add' has overwritten it"},
    {"two writers of one KV state", [](Circuit& c) { node_of(c, "l1.attn.kv").layer = 0; },
     Reason::circuit_op, "'l0.attn.kv' already writes the KV state of layer 0"},
    {"one tensor of two shapes",
     [](Circuit& c) { node_of(c, "l1.attn.q").weights[0].tensor = "blk.0.ffn_up.weight"; },
     Reason::circuit_op, "elsewhere"},
};

const Damage shape_damages[] = {
    {"embedding width", [](Circuit& c) { edge_of(c, "embed").width = 64; }, Reason::circuit_shape,
     "node 'embed' (embed): edge 'embed' must be f32 of step x 576, is f32 of step x 64"},
    {"norm of integers", [](Circuit& c) { edge_of(c, "l0.attn.norm").format = Format::I32; },
     Reason::circuit_shape, "'l0.attn.norm' must be f32"},
    {"norm weight not f32",
     [](Circuit& c) { node_of(c, "l0.attn.norm").weights[0].format = Format::F16; },
     Reason::circuit_shape, "must be one row of f32, is 1 rows of f16"},
    {"linear columns", [](Circuit& c) { node_of(c, "l0.attn.q").weights[0].columns = 544; },
     Reason::circuit_shape, "'l0.attn.norm' must be f32 of step x 544"},
    {"linear rows", [](Circuit& c) { node_of(c, "l0.attn.q").weights[0].rows = 32; },
     Reason::circuit_shape, "'l0.attn.q' must be f32 of step x 32"},
    {"a weight in a format without kernels",
     [](Circuit& c) { node_of(c, "l0.attn.q").weights[0].format = Format::Q4_K; },
     Reason::circuit_shape, "can't be stored as q4_k"},
    {"a weight without rows", [](Circuit& c) { node_of(c, "l0.attn.q").weights[0].rows = 0; },
     Reason::circuit_shape, "can't be 0 x 576"},
    {"a weight that splits a block",
     [](Circuit& c) { node_of(c, "l0.attn.q").weights[0].columns = 570; }, Reason::circuit_shape,
     "in blocks of 32"},
    {"an edge in a weight's format",
     [](Circuit& c) { edge_of(c, "l0.attn.q").format = Format::Q4_1; }, Reason::circuit_shape,
     "'l0.attn.q' can't be stored as q4_1"},
    {"an edge too wide", [](Circuit& c) { edge_of(c, "l0.attn.q").width = u64{1} << 40; },
     Reason::circuit_shape, "must be 1..1073741824 wide"},
    {"an edge of no width", [](Circuit& c) { edge_of(c, "l0.attn.q").width = 0; },
     Reason::circuit_shape, "must be 1..1073741824 wide, is 0"},
    {"rope over other heads", [](Circuit& c) { node_of(c, "l0.attn.q_rope").params[0].value = 8; },
     Reason::circuit_shape, "'l0.attn.q' must be f32 of step x 512"},
    {"odd rotary dims", [](Circuit& c) { node_of(c, "l0.attn.q_rope").params[3].value = 33; },
     Reason::circuit_shape, "dims must be even and at most head_dim = 64, is 33"},
    {"too many rotary dims", [](Circuit& c) { node_of(c, "l0.attn.q_rope").params[3].value = 66; },
     Reason::circuit_shape, "at most head_dim = 64, is 66"},
    {"a KV state of other heads", [](Circuit& c) { c.kv_heads = 9; }, Reason::circuit_shape,
     "the KV state has 9 heads of 64, the node says 3 of 64"},
    {"an order edge with bytes", [](Circuit& c) { edge_of(c, "l0.attn.kv").width = 4; },
     Reason::circuit_shape, "'l0.attn.kv' must be f32 of step x 0"},
    {"heads that don't share evenly",
     [](Circuit& c) {
       for (const char* id : {"l0.attn.kv", "l1.attn.kv"}) node_of(c, id).params[0].value = 3;
       node_of(c, "l0.attn.attend").params[0].value = 8;
     },
     Reason::circuit_shape, "8 heads can't share 3 KV heads evenly"},
    {"attention over another layer's state",
     [](Circuit& c) { node_of(c, "l0.attn.attend").layer = 1; }, Reason::circuit_shape,
     "'l0.attn.kv' must come from the kv_write of layer 1"},
    {"gate and up of two widths", [](Circuit& c) { edge_of(c, "l0.ffn.up").width = 1504; },
     Reason::circuit_shape, "'l0.ffn.up' must be f32 of step x 1536"},
    {"adding to no stream", [](Circuit& c) { edge_of(c, "l0.attn.add").is_stream = false; },
     Reason::circuit_shape, "must both be stream edges"},
    {"gathering into the step's rows",
     [](Circuit& c) { edge_of(c, "final.rows").rows = RowsOf::Step; }, Reason::circuit_shape,
     "'final.rows' must be f32 of logits x 576"},
    {"tokens that are floats", [](Circuit& c) { edge_of(c, "tokens").format = Format::F32; },
     Reason::circuit_shape, "'tokens' must be i32 of logits x 1"},
    {"float weights over int8",
     [](Circuit& c) {
       c = resolve_precision(c, Policy::Fast).value();
       node_of(c, "l0.attn.q").weights[0].format = Format::F16;
     },
     Reason::circuit_shape, "'l0.attn.norm.q8a2' must be f32 of step x 576, is q8a2"},
};

void check(const Damage& damage) {
  CAPTURE(damage.what);
  Circuit circuit = small();
  damage.apply(circuit);
  const Status status = circuit.validate();
  REQUIRE_FALSE(status.ok());
  const std::string messages = all_messages(status.error());
  CAPTURE(messages);
  CHECK(messages.find(damage.message) != std::string::npos);
  CHECK(fixture::has_reason(status.error(), damage.reason));
}

}  // namespace

TEST_CASE("a circuit as the builders make it is valid") {
  CHECK(small().validate().ok());
  CHECK(resolve_precision(small(), Policy::Fast).ok());
}

TEST_CASE("damage to a circuit is found and named") {
  for (const Damage& damage : damages) check(damage);
}

TEST_CASE("edges and weights that don't fit their op are found and named") {
  for (const Damage& damage : shape_damages) check(damage);
}

TEST_CASE("all problems are reported, not the first") {
  Circuit circuit = small();
  node_of(circuit, "l0.attn.norm").params.clear();
  node_of(circuit, "l0.attn.q").weights[0].rows = 32;
  edge_of(circuit, "tokens").binds = ModelBuffer::None;
  const Status status = circuit.validate();
  REQUIRE_FALSE(status.ok());
  CHECK(fixture::has_reason(status.error(), Reason::circuit_op));
  CHECK(fixture::has_reason(status.error(), Reason::circuit_shape));
  CHECK(fixture::has_reason(status.error(), Reason::circuit_output));
}

TEST_CASE("a circuit that is nothing but damage ends with a bounded list") {
  Circuit circuit = small();
  for (Node& node : circuit.nodes) {
    node.params.clear();
    node.inputs.assign(1, ~EdgeId{0});
    node.weights.clear();
  }
  for (Edge& edge : circuit.edges) edge.producer = ~NodeId{0};
  const Status status = circuit.validate();
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().others().size() < 32);
  CHECK(all_messages(status.error()).find("more problems") != std::string::npos);
}

TEST_CASE("the builder leaves operands that don't exist to validate") {
  CircuitBuilder builder;
  Node node;
  node.id = "a";
  node.op = Op::SiluMul;
  node.inputs = {7, 8};
  node.outputs = {9};
  builder.node(node);
  const Result<Circuit> circuit = std::move(builder).finish();
  REQUIRE_FALSE(circuit.ok());
  CHECK(all_messages(circuit.error()).find("there is no edge 9") != std::string::npos);
}

TEST_CASE("the dump names every node in a line of its own") {
  const Circuit circuit = small();
  const std::string dump = circuit.dump();
  CHECK(static_cast<size_t>(std::count(dump.begin(), dump.end(), '\n')) ==
        circuit.nodes.size() + 2);
  CHECK(dump.find("rms_norm:attn") != std::string::npos);
  CHECK(dump.find("epsilon=1e-05") != std::string::npos);
  CHECK(dump.find("blk.0.attn_q.weight:q4_1[576 x 576]") != std::string::npos);
}

}  // namespace soma
