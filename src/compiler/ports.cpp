// Resolves the ports of edges, and checks that every input that must be fed is.
//
// Problem: an edge may leave its ports open, since most nodes have one on each side, and a node may
// declare none at all. Idea: a side with declared ports holds its edges to them: the name must be
// one of these, and may be left out only if there is one. A side without declarations takes any
// name: of an output it then means the member of a map, of an input the key among several values.
// Either way each value that a node reads has a place of its own: two for one port, or two under
// one key, would be one too many. Required inputs are asked of nodes that have a data edge only:
// one without reads what the run or the construct around it hands over, as a whole. Nor are they
// asked where an edge does not say which input it feeds, as that may be the one. A subgraph's edges
// lead to its roots, so its roots' inputs are asked, not its own. Cost: linear in edges, times the
// ports of a node, of which there is a limit.
#include "compiler/ports.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/text.hpp"

namespace soma {

namespace {

const Port* find_port(const std::vector<Port>& ports, std::string_view name) {
  if (name.empty()) return ports.size() == 1 ? &ports.front() : nullptr;
  const auto end = ports.begin() + static_cast<std::ptrdiff_t>(std::min(ports.size(), ports_max));
  const auto at =
      std::find_if(ports.begin(), end, [name](const Port& port) { return port.name == name; });
  return at == end ? nullptr : &*at;
}

std::string names_of(const std::vector<Port>& ports) {
  constexpr size_t shown_max = 8;
  std::string out;
  for (size_t i = 0; i < std::min(ports.size(), shown_max); ++i) {
    out += (i > 0 ? ", " : "") + quoted(ports[i].name);
  }
  return ports.size() > shown_max ? text("{} and {} more", out, ports.size() - shown_max) : out;
}

class Checker {
 public:
  Checker(const Draft& draft, Diagnostics& diagnostics)
      : draft_(draft), diagnostics_(diagnostics) {}

  void check() && {
    for (u32 node = 0; node < draft_.nodes.size(); ++node) {
      check_declared(node, draft_.nodes[node].spec->inputs(), "input");
      check_declared(node, draft_.nodes[node].spec->outputs(), "output");
    }
    for (const DraftEdge& edge : draft_.edges) {
      if (!carries_value(edge) || !edge.edge) continue;  // a leaf's whole value is its subgraph's
      check_end(edge, edge.from, draft_.nodes[edge.from].spec->outputs(), draft_.output_of(edge),
                "output");
      check_end(edge, edge.to, draft_.nodes[edge.to].spec->inputs(), draft_.input_of(edge),
                "input");
    }
    for (u32 node = 0; node < draft_.nodes.size(); ++node) check_inputs(node);
  }

 private:
  std::string name(u32 node) const { return quoted(draft_.nodes[node].id()); }
  std::string arrow(const DraftEdge& edge) const {
    return text("{} -> {}", name(edge.from), name(edge.to));
  }
  Diagnostic& complain(Reason reason, const DraftEdge& edge, u32 node, std::string message) {
    return diagnostics_.error(reason, std::move(message))
        .node(draft_.nodes[node].id())
        .edge(draft_.nodes[edge.from].id(), draft_.nodes[edge.to].id());
  }

  // ---- What a node declares

  void check_declared(u32 node, const std::vector<Port>& ports, std::string_view side) {
    if (ports.empty()) return;
    if (ports.size() > ports_max) {
      complain_limit(node, text("node {} has {} {}s, and {} are allowed", name(node), ports.size(),
                                side, ports_max));
    }
    std::unordered_set<std::string_view> names;
    for (const Port& port : ports) {
      if (port.shape && port.shape->size() > rank_max) {
        complain_limit(node, text("the {} {} of node {} has {} dimensions, and {} are allowed",
                                  side, quoted(port.name), name(node), port.shape->size(),
                                  rank_max));
      }
      if (ports.size() < 2 || (!port.name.empty() && names.insert(port.name).second)) continue;
      diagnostics_
          .error(Reason::graph_ambiguous_port,
                 port.name.empty() ? text("node {} has several {}s, and one has no name",
                                          name(node), side)
                                   : text("node {} has two {}s with the name {}", name(node), side,
                                          quoted(port.name)))
          .node(draft_.nodes[node].id())
          .advise("give each a name of its own");
    }
  }

  void complain_limit(u32 node, std::string message) {
    diagnostics_.error(Reason::graph_limit, std::move(message)).node(draft_.nodes[node].id());
  }

  // ---- What an edge names

  void check_end(const DraftEdge& edge, u32 node, const std::vector<Port>& ports,
                 std::string_view port, std::string_view side) {
    if (ports.empty() || find_port(ports, port)) return;
    if (port.empty()) {
      complain(Reason::graph_ambiguous_port, edge, node,
               text("the edge {} names no {} of {}, which has {}", arrow(edge), side, name(node),
                    names_of(ports)))
          .advise(text("name one of them: \"{}\"", side));
    } else {
      complain(Reason::graph_unknown_port, edge, node,
               text("the edge {} names the {} {} of {}, which has {}", arrow(edge), side,
                    quoted(port), name(node), names_of(ports)));
    }
  }

  // ---- What a node reads

  void check_inputs(u32 node) {
    edges_.clear();
    for (const u32 index : draft_.entering.of(node)) {
      const DraftEdge& edge = draft_.edges[index];
      if (!carries_value(edge)) continue;
      if (!edge.edge) return;     // a subgraph that reads its leaves
      edges_.push_back(&edge);
    }
    if (edges_.empty()) return;
    if (draft_.nodes[node].spec->inputs().empty()) check_keys(node);
    else check_feeds(node, draft_.nodes[node].spec->inputs());
  }

  void check_feeds(u32 node, const std::vector<Port>& ports) {
    std::vector<const DraftEdge*> feeds(ports.size(), nullptr);
    bool all_resolved = true;
    for (const DraftEdge* edge : edges_) {
      const Port* port = find_port(ports, draft_.input_of(*edge));
      all_resolved = all_resolved && port;
      if (!port) continue;
      const DraftEdge*& first = feeds[static_cast<size_t>(port - ports.data())];
      if (!first) {
        first = edge;
        continue;
      }
      complain(Reason::graph_ambiguous_port, *edge, node,
               text("both {} and {} feed the input {} of {}", name(first->from), name(edge->from),
                    quoted(port->name), name(node)))
          .edge(draft_.nodes[first->from].id(), draft_.nodes[first->to].id())
          .advise("an input takes one value: let a node before it join them");
    }
    for (size_t i = 0; all_resolved && i < ports.size(); ++i) {
      if (feeds[i] || !ports[i].required) continue;
      diagnostics_
          .error(Reason::graph_required_input,
                 text("no edge feeds the input {} of node {}", quoted(ports[i].name), name(node)))
          .node(draft_.nodes[node].id())
          .advise(R"(lead an edge to it, or declare it with "required":false)");
    }
  }

  // Several values are keyed by the inputs that their edges name, or by the nodes they come from.
  // Edges that name nothing come from different nodes, or they would be duplicates.
  void check_keys(u32 node) {
    const bool all_plain = std::all_of(edges_.begin(), edges_.end(), [&](const DraftEdge* edge) {
      return draft_.input_of(*edge).empty() && draft_.output_of(*edge).empty();
    });
    if (all_plain || edges_.size() < 2) return;
    std::unordered_map<std::string_view, const DraftEdge*> keys;
    for (const DraftEdge* edge : edges_) {
      const std::string_view input = draft_.input_of(*edge);
      const std::string_view key = input.empty() ? draft_.nodes[edge->from].id() : input;
      const auto [first, is_new] = keys.emplace(key, edge);
      if (is_new) continue;
      complain(Reason::graph_ambiguous_port, *edge, node,
               text("node {} reads two values under the key {}, by the edges {} and {}",
                    name(node), quoted(key), arrow(*first->second), arrow(*edge)))
          .advise("name an `input` on each of them");
    }
  }

  const Draft& draft_;
  Diagnostics& diagnostics_;
  std::vector<const DraftEdge*> edges_;  // that carry values to the node at hand
};

}  // namespace

const Port* output_port(const Draft& draft, const DraftEdge& edge) {
  return find_port(draft.nodes[edge.from].spec->outputs(), draft.output_of(edge));
}

const Port* input_port(const Draft& draft, const DraftEdge& edge) {
  const GraphNode& reader = *draft.nodes[edge.to].spec;
  return find_port(edge.edge ? reader.inputs() : reader.outputs(), draft.input_of(edge));
}

void check_ports(const Draft& draft, Diagnostics& diagnostics) {
  if (!draft.traits.has_settings) return;  // no port is declared, and none is named
  Checker(draft, diagnostics).check();
}

}  // namespace soma
