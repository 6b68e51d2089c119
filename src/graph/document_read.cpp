// Reads a graph document and tells everything that is wrong with it, each with its place.
//
// Problem: documents are written by people and by programs of other versions. A misspelt key must
// not silently mean its default, and one problem at a time makes ten rounds of ten problems.
// Idea: the document is walked once, in its own order; every member of an object is looked up in
// the table of keys of such objects. What is not in the table is unknown, and what is gets read as
// the type that its case below says. A problem is noted with its place and the walk goes on with
// the default. Only the header ends it: of a document of another version nothing more can be said.
// What a key means together with others is no question of the document: the compiler's first pass
// asks that of every graph, however it was made.
//
// A subgraph's `graph` is written without a header, since a document has one version, which its
// top says. It may repeat the header, so that a whole document can be put there as it is; then it
// is held to it.
// Cost: linear. Graphs in graphs recurse as deep as JSON's limit of nesting lets them.
#include <cmath>

#include "base/base64.hpp"
#include "base/text.hpp"
#include "graph/document_walk.hpp"
#include "value/value_json.hpp"

namespace soma {

namespace document {

namespace {

std::string kinds_listed(u32 kinds) {
  std::string out;
  for (const NodeKind kind : {NodeKind::Function, NodeKind::Step, NodeKind::Loop,
                              NodeKind::Branch, NodeKind::Subgraph, NodeKind::Program}) {
    if ((kinds & kind_bit(kind)) == 0) continue;
    out.append(out.empty() ? "" : ", ").append(node_kind_name(kind));
  }
  return out;
}

class Reader : private Walk {
 public:
  explicit Reader(Graph::Reading reading) : Walk(reading) {}

  Result<Graph> read(JsonView root) && {
    Graph graph;
    read_graph(root, {}, true, graph);
    if (!problems_.none()) return std::move(problems_).take();
    return graph;
  }

 private:
  // ---- The objects

  void read_graph(JsonView json, const Place& at, bool is_root, Graph& graph) {
    if (!is_object(json, at)) return;
    if (!read_header(json, at, is_root)) return;
    if (!json.member("nodes")) missing({&at, "nodes"}, "a list of nodes");
    each_member<GraphKey>(json, at, "a graph", graph_keys,
                          [&](GraphKey key, JsonView member, const Place& place) {
      switch (key) {
        case GraphKey::Soma:
        case GraphKey::Version: break;
        case GraphKey::Nodes: read_nodes(member, place, graph); break;
        case GraphKey::Edges: read_edges(member, place, graph); break;
      }
    });
  }

  // Is this a document that this library reads?
  bool read_header(JsonView json, const Place& at, bool is_root) {
    const JsonView name = json.member("soma"), version = json.member("version");
    const Place name_at = {&at, "soma"}, version_at = {&at, "version"};
    const size_t before = problems_.count();
    if (!name) {
      if (is_root) missing(name_at, "\"graph\"");
    } else if (!name.is(JsonKind::Text) || name.text() != graph_name) {
      mistyped(name_at, "\"graph\"", name);
    }
    if (!version) {
      if (is_root) missing(version_at, "a version");
    } else if (!version.is(JsonKind::Number) || !version.integer()) {
      mistyped(version_at, "a version, which is an integer", version);
    } else if (*version.integer() != graph_version) {
      complain(Reason::document_version, version_at,
               text("the document is of version {}, and this libsoma reads version {}: write it "
                    "again for version {}, or use the libsoma that it is for",
                    *version.integer(), graph_version, graph_version));
    }
    return problems_.count() == before;
  }

  void read_nodes(JsonView json, const Place& at, Graph& graph) {
    if (!takes(json, at, nodes_, Graph::nodes_max, "nodes")) return;
    each_element(json, at, "a list of nodes", [&](JsonView element, const Place& place) {
      read_node(element, place, graph.nodes.emplace_back());
    });
  }

  void read_edges(JsonView json, const Place& at, Graph& graph) {
    if (!takes(json, at, edges_, Graph::edges_max, "edges")) return;
    each_element(json, at, "a list of edges", [&](JsonView element, const Place& place) {
      read_edge(element, place, graph.edges.emplace_back());
    });
  }

  void read_node(JsonView json, const Place& at, GraphNode& node) {
    if (!is_object(json, at)) return;
    // The kind says which other keys the node may have, so it comes first.
    const u32 kinds = read_kind(json.member("kind"), {&at, "kind"}, node);
    if (!json.member("id")) missing({&at, "id"}, "a text");
    if (kinds == kind_bit(NodeKind::Subgraph) && !json.member("graph")) {
      missing({&at, "graph"}, "the graph within this node");
    }
    each_member<NodeKey>(json, at, "a node", node_keys,
                         [&](NodeKey key, JsonView member, const Place& place) {
      const u32 allowed = node_keys[static_cast<size_t>(key)].kinds;
      if ((allowed & kinds) == 0) {
        return complain(Reason::document_type, place,
                        text("only a node of kind {} has this key, and this one is of kind {}",
                             kinds_listed(allowed), node_kind_name(node.kind)));
      }
      read_node_key(key, member, place, node);
    });
  }

  // The kinds that the node may be of: all of them, if it does not rightly say.
  u32 read_kind(JsonView json, const Place& at, GraphNode& node) {
    if (!json) return kind_bit(node.kind);
    const std::optional<NodeKind> kind =
        json.is(JsonKind::Text) ? node_kind_by_name(json.text()) : std::nullopt;
    if (kind) {
      node.kind = *kind;
      return kind_bit(*kind);
    }
    const std::string expected = text("one of {}", kinds_listed(every_kind));
    if (json.is(JsonKind::Text)) {
      complain(Reason::graph_unknown_kind, at,
               text("{} is no kind of node; {} is expected", quoted(json.text()), expected));
    } else {
      mistyped(at, expected, json);
    }
    return every_kind;
  }

  void read_node_key(NodeKey key, JsonView json, const Place& at, GraphNode& node) {
    switch (key) {
      case NodeKey::Id: read_text(json, at, node.id); break;
      case NodeKey::Kind: break;
      case NodeKey::Op: read_text(json, at, node.op); break;
      case NodeKey::OpVersion: read_op_version(json, at, node.op_version); break;
      case NodeKey::MaxIterations: read_integer(json, at, node.max_iterations.emplace()); break;
      case NodeKey::Until: read_until(json, at, node.until); break;
      case NodeKey::CarryFrom: read_text(json, at, node.carry_from.emplace()); break;
      case NodeKey::MaxTurns: read_integer(json, at, node.max_turns.emplace()); break;
      case NodeKey::Model: read_text(json, at, node.model); break;
      case NodeKey::Task: read_text(json, at, node.task); break;
      case NodeKey::Deployment: node.deployment = value_of(json); break;
      case NodeKey::Graph:
        read_graph(json, at, false, *(node.graph = std::make_unique<Graph>()));
        break;
      case NodeKey::Inputs: read_ports(json, at, true, node.inputs); break;
      case NodeKey::Outputs: read_ports(json, at, false, node.outputs); break;
      case NodeKey::Differentiable: read_bool(json, at, node.differentiable); break;
      case NodeKey::Cacheable: read_bool(json, at, node.cacheable); break;
      case NodeKey::Deterministic: read_bool(json, at, node.deterministic); break;
      case NodeKey::Waits: read_bool(json, at, node.waits); break;
      case NodeKey::StreamMode: read_stream_mode(json, at, node.stream_mode); break;
      case NodeKey::CostUs: read_cost(json, at, node.cost_us); break;
      case NodeKey::Target: read_target(json, at, node.target); break;
      case NodeKey::Device: read_text(json, at, node.device); break;
      case NodeKey::State: read_state(json, at, node.state); break;
      case NodeKey::Config: read_config(json, at, node.config); break;
    }
  }

  void read_edge(JsonView json, const Place& at, GraphEdge& edge) {
    if (!is_object(json, at)) return;
    if (!json.member("from")) missing({&at, "from"}, "the id of a node");
    if (!json.member("to")) missing({&at, "to"}, "the id of a node");
    each_member<EdgeKey>(json, at, "an edge", edge_keys,
                         [&](EdgeKey key, JsonView member, const Place& place) {
      switch (key) {
        case EdgeKey::From: read_text(member, place, edge.from); break;
        case EdgeKey::To: read_text(member, place, edge.to); break;
        case EdgeKey::Kind: read_edge_kind(member, place, edge.kind); break;
        case EdgeKey::Arm: read_text(member, place, edge.arm.emplace()); break;
        case EdgeKey::Label: read_text(member, place, edge.label.emplace()); break;
        case EdgeKey::Capture: read_bool(member, place, edge.capture); break;
        case EdgeKey::Output: read_text(member, place, edge.output); break;
        case EdgeKey::Input: read_text(member, place, edge.input); break;
      }
    });
    if (edge.arm && edge.label) {
      complain(Reason::document_type, {&at, "label"},
               "an edge has an `arm` or a `label`, and this one has both: leave one out");
    }
  }

  void read_ports(JsonView json, const Place& at, bool are_inputs, std::vector<Port>& ports) {
    each_element(json, at, "a list of ports", [&](JsonView element, const Place& place) {
      read_port(element, place, are_inputs, ports.emplace_back());
    });
  }

  void read_port(JsonView json, const Place& at, bool is_input, Port& port) {
    if (!is_object(json, at)) return;
    if (!json.member("name")) missing({&at, "name"}, "a text");
    each_member<PortKey>(json, at, "a port", port_keys,
                         [&](PortKey key, JsonView member, const Place& place) {
      switch (key) {
        case PortKey::Name: read_text(member, place, port.name); break;
        case PortKey::Dtype: read_dtype(member, place, port.dtype); break;
        case PortKey::Shape: read_shape(member, place, port.shape.emplace()); break;
        case PortKey::Required:
          if (is_input) {
            read_bool(member, place, port.required);
          } else {
            complain(Reason::document_type, place, "only an input has this key");
          }
          break;
      }
    });
  }

  // ---- The values of their keys

  void read_op_version(JsonView json, const Place& at, u32& out) {
    const std::optional<i64> version = integer_in(json);
    if (!version || *version < 0 || *version > i64{~u32{0}}) {
      return mistyped(at, text("an integer from 0 to {}", ~u32{0}), json);
    }
    out = static_cast<u32>(*version);
  }

  void read_cost(JsonView json, const Place& at, std::optional<double>& out) {
    if (!json.is(JsonKind::Number) || !(json.number() >= 0 && json.number() <= cost_us_max)) {
      return mistyped(at, text("a number of microseconds from 0 to {}", cost_us_max), json);
    }
    out = std::abs(json.number());  // no minus before a zero
  }

  void read_stream_mode(JsonView json, const Place& at, StreamMode& out) {
    const std::optional<StreamMode> mode =
        json.is(JsonKind::Text) ? stream_mode_by_name(json.text()) : std::nullopt;
    // A node without a mode leaves the key out.
    if (!mode || *mode == StreamMode::None) {
      return mistyped(at, "one of stateless, stateful, barrier", json);
    }
    out = *mode;
  }

  void read_edge_kind(JsonView json, const Place& at, EdgeKind& out) {
    if (json.is(JsonKind::Text) && json.text() == "control") {
      out = EdgeKind::Control;
    } else if (!json.is(JsonKind::Text) || json.text() != "data") {
      mistyped(at, "\"data\" or \"control\"", json);
    }
  }

  void read_dtype(JsonView json, const Place& at, Dtype& out) {
    const std::optional<Dtype> dtype =
        json.is(JsonKind::Text) ? dtype_by_name(json.text()) : std::nullopt;
    if (!dtype) {
      return mistyped(at, "one of bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, "
                          "text, bytes, list, map, opaque, any", json);
    }
    out = *dtype;
  }

  void read_shape(JsonView json, const Place& at, std::vector<Dimension>& out) {
    each_element(json, at, "a list of dimensions", [&](JsonView element, const Place& place) {
      const std::optional<i64> size = integer_in(element);
      if (size && *size >= 0) {
        out.push_back({Dimension::Kind::Fixed, static_cast<u64>(*size), ""});
      } else if (element.is(JsonKind::Text) && !element.text().empty()) {
        out.push_back({Dimension::Kind::Symbol, 0, std::string(element.text())});
      } else if (element.is(JsonKind::Null)) {
        out.push_back({});
      } else {
        mistyped(place, "a size from 0, the name of a size, or null if it is not known", element);
      }
    });
  }

  void read_until(JsonView json, const Place& at, StopRule& out) {
    if (json.is(JsonKind::Text) && json.text() == "body_terminal") return;
    if (json.is(JsonKind::Text) && json.text() == "exhaust") {
      out.kind = StopRule::Kind::Exhaust;
    } else if (read_choice(json, at, "when_signaled", out.node)) {
      out.kind = StopRule::Kind::WhenSignaled;
    } else {
      mistyped(at, R"("body_terminal", "exhaust" or {"when_signaled": the id of a node})", json);
    }
  }

  void read_target(JsonView json, const Place& at, Target& out) {
    if (json.is(JsonKind::Text) && json.text() == "local") return;
    const bool is_tag = json.is(JsonKind::Object) && json.member("tag");
    if (is_tag && json.member("worker")) {
      return complain(Reason::document_type, at,
                      "a target is a `tag` or a `worker`, and this one is both: leave one out");
    }
    if (!read_choice(json, at, is_tag ? "tag" : "worker", out.name)) {
      return mistyped(at, R"("local", {"tag": a text} or {"worker": a text})", json);
    }
    out.kind = is_tag ? Target::Kind::Tag : Target::Kind::Worker;
  }

  // {"name": a text}: false, if it is no object with that key.
  bool read_choice(JsonView json, const Place& at, std::string_view name, std::string& out) {
    if (!json.is(JsonKind::Object) || !json.member(name)) return false;
    const Key keys[] = {{name}};
    each_member<size_t>(json, at, "this object", keys,
                        [&](size_t, JsonView member, const Place& place) {
      read_text(member, place, out);
    });
    return true;
  }

  void read_state(JsonView json, const Place& at, std::vector<u8>& out) {
    if (!json.is(JsonKind::Text)) return mistyped(at, "bytes as base64", json);
    std::optional<std::vector<u8>> bytes = bytes_of_base64(json.text());
    if (!bytes) return mistyped(at, "bytes as base64, padded and without blanks", json);
    out = *std::move(bytes);
  }

  void read_config(JsonView json, const Place& at, Value& out) {
    if (json.is(JsonKind::Null)) return;
    if (!json.is(JsonKind::Object)) return mistyped(at, "an object or null", json);
    if (json.first()) out = value_of(json);  // an empty config is none
  }

  // Counts the elements of a list against the limit of the whole document: a short text can ask for
  // much longer records.
  bool takes(JsonView json, const Place& at, size_t& count, size_t limit, std::string_view what) {
    if (!json.is(JsonKind::Array)) return true;
    count += json.size();
    if (count <= limit) return true;
    complain(Reason::document_limit, at,
             text("a document has at most {} {}; up to here there are {}", limit, what, count));
    return false;
  }

  static constexpr double cost_us_max = 1e15;  // 31 years

  size_t nodes_ = 0, edges_ = 0;  // of all graphs so far
};

}  // namespace

}  // namespace document

Result<Graph> Graph::parse(std::string_view json, Reading reading) {
  SOMA_ASSIGN(const Json parsed, Json::parse(json));
  return document::Reader(reading).read(parsed.root());
}

}  // namespace soma
