// Prints a graph as its canonical document, which is what its digest is taken of.
//
// Canonical means: two graphs that are the same print the same bytes. So keys come in the order of
// their table, what has its default is left out, numbers have their shortest form, and a node shows
// what its kind may have, whatever else lies in its record. An empty config is no config.
#include "base/base64.hpp"
#include "base/hash.hpp"
#include "graph/document_keys.hpp"
#include "value/value_json.hpp"

namespace soma {

namespace document {

namespace {

class Writer {
 public:
  std::string print(const Graph& graph) && {
    json_.object().field("soma", graph_name).field("version", graph_version);
    write_body(graph);
    json_.close();
    return std::move(json_).take();
  }

 private:
  void write_body(const Graph& graph) {
    json_.key("nodes").array();
    for (const GraphNode& node : graph.nodes) write_node(node);
    json_.close();
    if (graph.edges.empty()) return;
    json_.key("edges").array();
    for (const GraphEdge& edge : graph.edges) write_edge(edge);
    json_.close();
  }

  void write_node(const GraphNode& node) {
    json_.object();
    for (size_t i = 0; i < std::size(node_keys); ++i) {
      if ((node_keys[i].kinds & kind_bit(node.kind)) == 0) continue;
      name_ = node_keys[i].name;
      write_node_key(static_cast<NodeKey>(i), node);
    }
    json_.close();
  }

  void write_node_key(NodeKey key, const GraphNode& node) {
    switch (key) {
      case NodeKey::Id: put(node.id); break;
      case NodeKey::Kind:
        put_unless(NodeKind::Function, node.kind, node_kind_name(node.kind));
        break;
      case NodeKey::Op: put_unless("", node.op, node.op); break;
      case NodeKey::OpVersion: put_unless(1U, node.op_version, node.op_version); break;
      case NodeKey::MaxIterations: put_if_any(node.max_iterations); break;
      case NodeKey::Until: write_until(node.until); break;
      case NodeKey::CarryFrom: put_if_any(node.carry_from); break;
      case NodeKey::MaxTurns: put_if_any(node.max_turns); break;
      case NodeKey::Model: put_unless("", node.model, node.model); break;
      case NodeKey::Task: put_unless("", node.task, node.task); break;
      case NodeKey::Deployment: write_any(node.deployment); break;
      case NodeKey::Graph: write_subgraph(node.graph.get()); break;
      case NodeKey::Inputs: write_ports(node.inputs, true); break;
      case NodeKey::Outputs: write_ports(node.outputs, false); break;
      case NodeKey::Differentiable: put_unless(false, node.differentiable, true); break;
      case NodeKey::Cacheable: put_unless(false, node.cacheable, true); break;
      case NodeKey::Deterministic: put_unless(true, node.deterministic, false); break;
      case NodeKey::Waits: put_unless(false, node.waits, true); break;
      case NodeKey::StreamMode:
        put_unless(StreamMode::None, node.stream_mode, stream_mode_name(node.stream_mode));
        break;
      case NodeKey::CostUs:
        if (node.cost_us) put(*node.cost_us + 0.0);  // no minus before a zero
        break;
      case NodeKey::Target: write_target(node.target); break;
      case NodeKey::Device: put_unless("cpu", node.device, node.device); break;
      case NodeKey::State:
        if (!node.state.empty()) put(base64(node.state));
        break;
      case NodeKey::Config:
        if (!node.config.is(ValueKind::Map) || !node.config.map().empty()) write_any(node.config);
        break;
    }
  }

  void write_edge(const GraphEdge& edge) {
    json_.object();
    for (size_t i = 0; i < std::size(edge_keys); ++i) {
      name_ = edge_keys[i].name;
      switch (static_cast<EdgeKey>(i)) {
        case EdgeKey::From: put(edge.from); break;
        case EdgeKey::To: put(edge.to); break;
        case EdgeKey::Kind: put_unless(EdgeKind::Data, edge.kind, "control"); break;
        case EdgeKey::Arm: put_if_any(edge.arm); break;
        case EdgeKey::Label: put_if_any(edge.label); break;
        case EdgeKey::Capture: put_unless(false, edge.capture, true); break;
        case EdgeKey::Output: put_unless("", edge.output, edge.output); break;
        case EdgeKey::Input: put_unless("", edge.input, edge.input); break;
      }
    }
    json_.close();
  }

  void write_ports(const std::vector<Port>& ports, bool are_inputs) {
    if (ports.empty()) return;
    json_.key(name_).array();
    for (const Port& port : ports) {
      json_.object();
      for (size_t i = 0; i < std::size(port_keys); ++i) {
        name_ = port_keys[i].name;
        switch (static_cast<PortKey>(i)) {
          case PortKey::Name: put(port.name); break;
          case PortKey::Dtype: put_unless(Dtype::Any, port.dtype, dtype_name(port.dtype)); break;
          case PortKey::Shape: write_shape(port); break;
          case PortKey::Required:
            if (are_inputs) put_unless(true, port.required, false);
            break;
        }
      }
      json_.close();
    }
    json_.close();
  }

  void write_shape(const Port& port) {
    if (!port.shape) return;
    json_.key(name_).array();
    for (const Dimension& dimension : *port.shape) {
      switch (dimension.kind) {
        case Dimension::Kind::Fixed: json_.value(dimension.size); break;
        case Dimension::Kind::Symbol: json_.value(dimension.symbol); break;
        case Dimension::Kind::Unknown: json_.value(nullptr); break;
      }
    }
    json_.close();
  }

  void write_until(const StopRule& until) {
    switch (until.kind) {
      case StopRule::Kind::BodyTerminal: break;
      case StopRule::Kind::Exhaust: put("exhaust"); break;
      case StopRule::Kind::WhenSignaled:
        json_.key(name_).object().field("when_signaled", until.node).close();
        break;
    }
  }

  void write_target(const Target& target) {
    if (target.kind == Target::Kind::Local) return;
    const std::string_view kind = target.kind == Target::Kind::Tag ? "tag" : "worker";
    json_.key(name_).object().field(kind, target.name).close();
  }

  void write_subgraph(const Graph* graph) {
    json_.key(name_).object();
    if (graph) {
      write_body(*graph);
    } else {
      json_.key("nodes").array().close();
    }
    json_.close();
  }

  // A value that has no JSON form is left out: the graph's check refuses it, and the document stays
  // one that can be read.
  void write_any(const Value& value) {
    JsonWriter trial;
    if (value.is_null() || !write_value(trial, value).ok()) return;
    json_.key(name_);
    static_cast<void>(write_value(json_, value));
  }

  // ---- One key with its value

  template <typename T>
  void put(const T& content) {
    json_.field(name_, content);
  }
  template <typename T>
  void put_if_any(const std::optional<T>& content) {
    if (content) put(*content);
  }
  template <typename Default, typename T, typename Shown>
  void put_unless(const Default& usual, const T& content, const Shown& shown) {
    if (content != usual) put(shown);
  }

  JsonWriter json_;
  std::string_view name_;         // of the key at hand
};

}  // namespace

}  // namespace document

std::string Graph::document() const { return document::Writer().print(*this); }

std::string Graph::digest() const { return content_digest(document()); }

}  // namespace soma
