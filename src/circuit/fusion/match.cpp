// Finds where a rule's pattern fits a circuit.
//
// Problem: a group is a piece of a graph, not a chain: siblings share an input, two producers join
// in one consumer, operands come from outside, and a value may be stored for others besides.
// Idea: a pattern is a little program over values. Binding its first line to a node binds the
// values of that line to edges; each further line reads at least one value that is bound by then,
// so its node is among the readers of that edge. Candidates are tried in node order, and the
// search backs up when a later line finds none. What fits is a match only if it is also legal:
//   - a value that the group does not store is read inside it only, and is no bound output;
//   - a value from outside is not made inside;
//   - parameters agree and divide, and outside values are stored, as the rule asks;
//   - no node reads a stream value that another member replaces: a launch has no order inside, and
//     a thread may be done with its part of the stream while others still read it.
// That nothing outside lies on a path between members is not looked at here: it depends on which
// other groups there are, and select.cpp checks it against all of them.
// Right, because it returns only what it has checked, and finds the first in order of what there
// is; it ends because each step is counted: symmetric siblings could otherwise make it exponential.
#include "circuit/fusion/match.hpp"

#include <algorithm>
#include <cmath>

namespace soma {

namespace {

constexpr EdgeId unbound = ~EdgeId{0};
constexpr u32 trials_max = 4096;  // candidates looked at from one anchor

class Matcher {
 public:
  Matcher(const Circuit& circuit, const Dependencies& dependencies, const Rule& rule,
          const std::vector<bool>& taken, Miss* miss)
      : circuit_(circuit),
        dependencies_(dependencies),
        rule_(rule),
        elements_(rule.pattern.elements),
        taken_(taken),
        miss_(miss),
        edges_(rule.pattern.values.size(), unbound) {}

  bool start(NodeId anchor) { return try_node(anchor); }
  std::vector<NodeId> nodes() && { return std::move(nodes_); }

 private:
  // Binds the next line to `node` and then all others, or leaves everything as it was.
  bool try_node(NodeId node) {
    const Element& element = elements_[nodes_.size()];
    if (++trials_ > trials_max) return give_up("too many possibilities; gave up");
    if (!fits(element, node)) return false;
    const std::vector<EdgeId> before = edges_;
    bind(element, node);
    nodes_.push_back(node);
    if (nodes_.size() == elements_.size() ? is_legal() : try_next()) return true;
    nodes_.pop_back();
    edges_ = before;
    return false;
  }

  bool try_next() {
    const Element& element = elements_[nodes_.size()];
    EdgeId edge = unbound;
    for (const u32 value : element.reads) {
      if (edge == unbound) edge = edges_[value];
    }
    NodeId last = ~NodeId{0};
    for (const NodeId reader : circuit_.edges[edge].consumers) {
      if (reader != last && try_node(reader)) return true;
      last = reader;
    }
    return give_up(text("no free node fits line {}: {} reading '{}'", nodes_.size() + 1,
                        op_info(element.op).name, circuit_.edges[edge].id));
  }

  bool fits(const Element& element, NodeId id) const {
    const Node& node = circuit_.nodes[id];
    if (taken_[id] || node.op != element.op || holds(id)) return false;
    if (!element.roles.empty() &&
        std::find(element.roles.begin(), element.roles.end(), node.role) == element.roles.end()) {
      return false;
    }
    // A name that stands twice among the operands means one edge, also on its first mention.
    std::vector<EdgeId> edges = edges_;
    for (size_t i = 0; i < element.reads.size(); ++i) {
      EdgeId& edge = edges[element.reads[i]];
      if (edge == unbound) edge = node.inputs[i];
      if (edge != node.inputs[i]) return false;
    }
    return true;
  }

  void bind(const Element& element, NodeId id) {
    const Node& node = circuit_.nodes[id];
    for (size_t i = 0; i < element.reads.size(); ++i) edges_[element.reads[i]] = node.inputs[i];
    edges_[element.makes] = node.outputs[0];
  }

  // ---- What makes a fitting set of nodes a legal group

  bool is_legal() {
    for (const Element& element : elements_) {
      if (!element.stored && !stays_inside(edges_[element.makes])) return false;
    }
    for (const u32 value : rule_.pattern.outside) {
      const Edge& edge = circuit_.edges[edges_[value]];
      if (holds(edge.producer)) return give_up(text("'{}' is made inside the group", edge.id));
    }
    for (const Rule::ValueFormat& wanted : rule_.formats) {
      const Edge& edge = circuit_.edges[edges_[wanted.value]];
      if (edge.format != wanted.format) {
        return give_up(text("'{}' is {}, not {}", edge.id, format_info(edge.format).name,
                            format_info(wanted.format).name));
      }
    }
    return params_agree() && params_divide() && stream_is_safe();
  }

  bool stays_inside(EdgeId id) {
    const Edge& edge = circuit_.edges[id];
    if (edge.binds != ModelBuffer::None) {
      return give_up(text("'{}' is a bound output, which the group would not store", edge.id));
    }
    for (const NodeId reader : edge.consumers) {
      if (holds(reader)) continue;
      return give_up(
          text("'{}' is also read by '{}', outside the group", edge.id, circuit_.nodes[reader].id));
    }
    return true;
  }

  bool params_agree() {
    for (const std::string& name : rule_.agree) {
      const Node* first = nullptr;
      for (const NodeId id : nodes_) {
        const Node& node = circuit_.nodes[id];
        const auto has_name = [&name](const Param& param) { return param.name == name; };
        if (std::none_of(node.params.begin(), node.params.end(), has_name)) continue;
        if (first == nullptr) first = &node;
        if (node.param(name) == first->param(name)) continue;
        return give_up(text("'{}' and '{}' have another {}", first->id, node.id, name));
      }
    }
    return true;
  }

  bool params_divide() {
    for (const Rule::Multiple& multiple : rule_.multiples) {
      for (const NodeId id : nodes_) {
        const double value = circuit_.nodes[id].param(multiple.param);
        if (std::fmod(value, static_cast<double>(multiple.of)) == 0) continue;
        return give_up(text("{} of '{}' is {}, not a multiple of {}", multiple.param,
                            circuit_.nodes[id].id, value, multiple.of));
      }
    }
    return true;
  }

  bool stream_is_safe() {
    for (const Dependencies::Replacement& pair : dependencies_.replacements) {
      if (!holds(pair.reader) || !holds(pair.writer)) continue;
      return give_up(text("'{}' reads a stream value that '{}' replaces",
                          circuit_.nodes[pair.reader].id, circuit_.nodes[pair.writer].id));
    }
    return true;
  }

  bool holds(NodeId node) const {
    return std::find(nodes_.begin(), nodes_.end(), node) != nodes_.end();
  }

  // Remembers the attempt if none came further; always false.
  bool give_up(std::string why) {
    if (miss_ != nullptr && (miss_->why.empty() || nodes_.size() > miss_->nodes.size())) {
      *miss_ = {nodes_, std::move(why)};
    }
    return false;
  }

  const Circuit& circuit_;
  const Dependencies& dependencies_;
  const Rule& rule_;
  const std::vector<Element>& elements_;
  const std::vector<bool>& taken_;
  Miss* miss_;
  std::vector<EdgeId> edges_;  // by value
  std::vector<NodeId> nodes_;  // by element, those bound so far
  u32 trials_ = 0;
};

}  // namespace

std::optional<std::vector<NodeId>> match(const Circuit& circuit, const Dependencies& dependencies,
                                         const Rule& rule, NodeId anchor,
                                         const std::vector<bool>& taken, Miss* miss) {
  Matcher matcher(circuit, dependencies, rule, taken, miss);
  if (!matcher.start(anchor)) return std::nullopt;
  return std::move(matcher).nodes();
}

}  // namespace soma
