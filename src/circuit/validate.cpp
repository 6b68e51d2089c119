// Finds everything that is wrong with a circuit.
//
// Problem: all later passes index edges by what nodes say, multiply widths, and rely on an edge
// being made before it is read. A circuit may come from anywhere, so all of that is proven here,
// once, and every problem is reported, not the first.
// Order: a node is looked at in itself (names, operands, parameters) before its edges' shapes are,
// which a node with missing operands is spared; wiring and the stream are facts of the whole.
// Cost: linear, but for the sets of names.
#include "circuit/validate.hpp"

#include <cmath>
#include <map>
#include <set>

#include "base/text.hpp"

namespace soma {

namespace {

constexpr NodeId nobody = ~NodeId{0};

// Names are shown, matched by rules and compared in golden texts: plain words only.
bool is_name(std::string_view name) {
  if (name.empty() || name.size() > 128) return false;
  for (const char letter : name) {
    const bool fine = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                      (letter >= '0' && letter <= '9') || letter == '.' || letter == '_' ||
                      letter == '-';
    if (!fine) return false;
  }
  return true;
}

class Validator {
 public:
  explicit Validator(const Circuit& circuit)
      : circuit_(circuit), makers_(circuit.edges.size(), nobody), readers_(circuit.edges.size()) {}

  Status run() && {
    check_size();
    if (!problems_.none()) return std::move(problems_).status();
    check_names();
    std::vector<bool> sound;
    for (const Node& node : circuit_.nodes) sound.push_back(check_node(node));
    check_wiring();
    check_outputs();
    check_stream();
    check_state();
    check_tensors();
    for (size_t i = 0; i < sound.size(); ++i) {
      if (sound[i]) check_shape(circuit_, circuit_.nodes[i], problems_);
    }
    return std::move(problems_).status();
  }

 private:
  template <typename... Args>
  void complain(Reason reason, fmt::format_string<Args...> pattern, Args&&... args) {
    problems_.add(fail(reason, pattern, std::forward<Args>(args)...));
  }
  void complain_of(const Node& node, std::string_view what) {
    complain(Reason::circuit_op, "node {} ({}): {}", quoted(node.id), op_info(node.op).name, what);
  }

  void check_size() {
    if (circuit_.nodes.empty() || circuit_.nodes.size() > circuit_nodes_max ||
        circuit_.edges.size() > circuit_nodes_max) {
      complain(Reason::circuit_op, "a circuit has 1..{} nodes and edges; this one has {} and {}",
               circuit_nodes_max, circuit_.nodes.size(), circuit_.edges.size());
    }
    if (circuit_.layers < 0 || circuit_.layers > circuit_layers_max || circuit_.kv_heads < 0 ||
        circuit_.head_dim < 0) {
      complain(Reason::circuit_op, "impossible sizes: {} layers, {} KV heads of {}",
               circuit_.layers, circuit_.kv_heads, circuit_.head_dim);
    }
  }

  void check_names() {
    std::set<std::string_view> node_ids, edge_ids;
    for (const Node& node : circuit_.nodes) {
      if (!is_name(node.id)) complain(Reason::circuit_op, "bad node id {}", quoted(node.id));
      if (!node_ids.insert(node.id).second) {
        complain(Reason::circuit_op, "two nodes are called {}", quoted(node.id));
      }
    }
    for (const Edge& edge : circuit_.edges) {
      if (!is_name(edge.id)) complain(Reason::circuit_op, "bad edge id {}", quoted(edge.id));
      if (!edge_ids.insert(edge.id).second) {
        complain(Reason::circuit_op, "two edges are called {}", quoted(edge.id));
      }
    }
  }

  // Whether the node's operands are all there and exist, so that its shapes can be looked at.
  bool check_node(const Node& node) {
    const OpInfo& info = op_info(node.op);
    const size_t before = problems_.count();
    count_of(node, "inputs", node.inputs.size(), info.inputs);
    count_of(node, "outputs", node.outputs.size(), info.outputs);
    count_of(node, "weights", node.weights.size(), info.weights);
    for (const std::vector<EdgeId>* edges : {&node.inputs, &node.outputs}) {
      for (const EdgeId edge : *edges) {
        if (edge >= circuit_.edges.size()) complain_of(node, text("there is no edge {}", edge));
      }
    }
    if (info.has_role ? !is_name(node.role) : !node.role.empty()) {
      complain_of(node, text("it {} role, got {}", info.has_role ? "needs a" : "has no",
                             quoted(node.role)));
    }
    if (node.layer < (info.has_state ? 0 : -1) || node.layer >= circuit_.layers) {
      complain_of(node,
                  text("layer {} is not one of the circuit's {}", node.layer, circuit_.layers));
    }
    check_params(node, info);
    return problems_.count() == before;
  }

  void count_of(const Node& node, std::string_view what, size_t got, size_t expected) {
    if (got != expected) complain_of(node, text("it has {} {}, expected {}", got, what, expected));
  }

  void check_params(const Node& node, const OpInfo& info) {
    std::set<std::string_view> seen;
    for (const Param& param : node.params) {
      if (!seen.insert(param.name).second) {
        complain_of(node, text("parameter {} is given twice", quoted(param.name)));
      }
      const ParamInfo* known = nullptr;
      for (const ParamInfo& candidate : info.params) {
        if (candidate.name == param.name) known = &candidate;
      }
      if (known == nullptr) {
        complain_of(node, text("it has no parameter {}", quoted(param.name)));
      } else if (!(param.value >= known->low && param.value <= known->high) ||
                 (known->whole && std::trunc(param.value) != param.value)) {
        complain_of(
            node, text("{} must be {}{}..{}, is {}", param.name,
                       known->whole ? "an integer of " : "", known->low, known->high, param.value));
      }
    }
    for (const ParamInfo& param : info.params) {
      if (!seen.contains(param.name))
        complain_of(node, text("parameter '{}' is missing", param.name));
    }
  }

  // Every edge is made once, before it is read, and its own lists agree with the nodes'.
  void check_wiring() {
    for (NodeId id = 0; id < circuit_.nodes.size(); ++id) {
      const Node& node = circuit_.nodes[id];
      for (const EdgeId input : node.inputs) {
        if (input >= circuit_.edges.size()) continue;
        if (makers_[input] == nobody) {
          complain(Reason::circuit_order, "node {} reads {}, which nothing before it makes",
                   quoted(node.id), quoted(circuit_.edges[input].id));
        }
        readers_[input].push_back(id);
      }
      for (const EdgeId output : node.outputs) {
        if (output >= circuit_.edges.size()) continue;
        if (makers_[output] != nobody) {
          complain(Reason::circuit_order, "edge {} is made twice, by {} and {}",
                   quoted(circuit_.edges[output].id), quoted(circuit_.nodes[makers_[output]].id),
                   quoted(node.id));
        }
        makers_[output] = id;
      }
    }
    for (EdgeId id = 0; id < circuit_.edges.size(); ++id) {
      const Edge& edge = circuit_.edges[id];
      if (makers_[id] == nobody) {
        complain(Reason::circuit_order, "edge {} is made by no node", quoted(edge.id));
      } else if (edge.producer != makers_[id] || edge.consumers != readers_[id]) {
        complain(Reason::circuit_order,
                 "edge {} lists other producers or readers than its nodes do", quoted(edge.id));
      }
    }
  }

  void check_outputs() {
    const Edge* bound[4] = {};
    for (EdgeId id = 0; id < circuit_.edges.size(); ++id) {
      const Edge& edge = circuit_.edges[id];
      if (edge.binds == ModelBuffer::None) {
        if (readers_[id].empty()) {
          complain(Reason::circuit_output, "edge {} is read by nobody and bound to no buffer",
                   quoted(edge.id));
        }
        continue;
      }
      const Edge*& first = bound[static_cast<size_t>(edge.binds)];
      if (edge.is_stream || edge.binds == ModelBuffer::Hidden) {
        complain(Reason::circuit_output, "edge {} can't be bound to {}: the stream lives in hidden",
                 quoted(edge.id), buffer_name(edge.binds));
      } else if (first != nullptr) {
        complain(Reason::circuit_output, "edges {} and {} are both bound to {}", quoted(first->id),
                 quoted(edge.id), buffer_name(edge.binds));
      } else if (edge.rows != RowsOf::Logits) {
        complain(Reason::circuit_output,
                 "edge {} is bound to {}, which has the rows that want logits", quoted(edge.id),
                 buffer_name(edge.binds));
      }
      first = &edge;
    }
  }

  // The stream is one value after another in one buffer: one node starts it, each residual_add
  // replaces its predecessor, and whoever reads a value does so before it is replaced.
  void check_stream() {
    const Edge* start = nullptr;
    std::vector<NodeId> replaced(circuit_.edges.size(), nobody);
    for (NodeId id = 0; id < circuit_.nodes.size(); ++id) {
      const Node& node = circuit_.nodes[id];
      for (const EdgeId input : node.inputs) {
        if (input >= replaced.size() || replaced[input] == nobody) continue;
        complain(Reason::circuit_order, "node {} reads {} after {} has overwritten it",
                 quoted(node.id), quoted(circuit_.edges[input].id),
                 quoted(circuit_.nodes[replaced[input]].id));
      }
      for (const EdgeId output : node.outputs) {
        if (output >= replaced.size() || !circuit_.edges[output].is_stream) continue;
        const Edge& edge = circuit_.edges[output];
        if (node.op != Op::ResidualAdd && start != nullptr) {
          complain(Reason::circuit_order, "streams {} and {} both want the one hidden buffer",
                   quoted(start->id), quoted(edge.id));
        }
        if (start == nullptr) start = &edge;
        if (edge.width != start->width || edge.rows != RowsOf::Step) {
          complain(Reason::circuit_shape, "stream {} must have the step's rows of {}, is {} wide",
                   quoted(edge.id), start->width, edge.width);
        }
      }
      if (node.op == Op::ResidualAdd && !node.inputs.empty() && node.inputs[0] < replaced.size() &&
          circuit_.edges[node.inputs[0]].is_stream) {
        replaced[node.inputs[0]] = id;
      }
    }
  }

  void check_state() {
    std::vector<const Node*> writers(static_cast<size_t>(circuit_.layers));
    for (const Node& node : circuit_.nodes) {
      if (node.op != Op::KvWrite || node.layer < 0 || node.layer >= circuit_.layers) continue;
      const Node*& writer = writers[static_cast<size_t>(node.layer)];
      if (writer != nullptr) {
        complain_of(node, text("{} already writes the KV state of layer {}", quoted(writer->id),
                               node.layer));
      }
      writer = &node;
    }
  }

  // A tensor may be read by several nodes, but it is one thing.
  void check_tensors() {
    std::map<std::string_view, const WeightRef*> tensors;
    for (const Node& node : circuit_.nodes) {
      for (const WeightRef& weight : node.weights) {
        const WeightRef& first = *tensors.emplace(weight.tensor, &weight).first->second;
        if (first == weight) continue;
        complain_of(node, text("tensor {} is {} x {} of {} here, but {} x {} of {} elsewhere",
                               quoted(weight.tensor), weight.rows, weight.columns,
                               format_info(weight.format).name, first.rows, first.columns,
                               format_info(first.format).name));
      }
    }
  }

  const Circuit& circuit_;
  std::vector<NodeId> makers_;                // by edge
  std::vector<std::vector<NodeId>> readers_;  // by edge
  Problems problems_;
};

}  // namespace

Status Circuit::validate() const {
  return Validator(*this).run();
}

}  // namespace soma
