// Prints records of nodes, canonically.
//
// Canonical means: two nodes that are the same print the same bytes. So keys come in the order of
// their table, what has its default is left out, numbers have their shortest form, and a node shows
// what its kind may have, whatever else lies in its record. An empty config is no config.
#include "base/base64.hpp"
#include "value/node_document.hpp"
#include "value/value_json.hpp"

namespace soma::document {

namespace {

class Writer : private KeyWriter {
 public:
  Writer(JsonWriter& json_writer, NodeKey key)
      : KeyWriter{json_writer, node_keys[static_cast<size_t>(key)].name} {}

  void write(NodeKey key, const NodeSpec& node) {
    switch (key) {
      case NodeKey::Id: put(node.id); break;
      case NodeKey::Kind:
        put_unless(NodeKind::Function, node.kind, node_kind_name(node.kind));
        break;
      case NodeKey::Op: put_unless("", node.op, node.op); break;
      case NodeKey::OpVersion: put_unless(1U, node.op_version, node.op_version); break;
      case NodeKey::MaxIterations: put_if_any(node.max_iterations()); break;
      case NodeKey::Until: write_until(node.until()); break;
      case NodeKey::CarryFrom: put_if_any(node.carry_from()); break;
      case NodeKey::MaxTurns: put_if_any(node.max_turns()); break;
      case NodeKey::Model: put_unless("", node.model(), node.model()); break;
      case NodeKey::Task: put_unless("", node.task(), node.task()); break;
      case NodeKey::Deployment: write_any(node.deployment()); break;
      case NodeKey::Inputs: write_ports(node.inputs(), true); break;
      case NodeKey::Outputs: write_ports(node.outputs(), false); break;
      case NodeKey::Differentiable: put_unless(false, node.differentiable, true); break;
      case NodeKey::Cacheable: put_unless(false, node.cacheable, true); break;
      case NodeKey::Deterministic: put_unless(true, node.deterministic, false); break;
      case NodeKey::Waits: put_unless(false, node.waits, true); break;
      case NodeKey::StreamMode:
        put_unless(StreamMode::None, node.stream_mode, stream_mode_name(node.stream_mode));
        break;
      case NodeKey::CostUs:
        if (node.cost_us()) put(*node.cost_us() + 0.0);  // no minus before a zero
        break;
      case NodeKey::Target:
        if (node.target().kind != Target::Kind::Local) write_target(json.key(name), node.target());
        break;
      case NodeKey::Device: put_unless("cpu", node.device(), node.device()); break;
      case NodeKey::State:
        if (!node.state().empty()) put(base64(node.state()));
        break;
      case NodeKey::Config:
        if (!node.config().is(ValueKind::Map) || !node.config().map().empty()) {
          write_any(node.config());
        }
        break;
      case NodeKey::Graph:
      case NodeKey::From: break;
    }
  }

 private:
  void write_ports(const std::vector<Port>& ports, bool are_inputs) {
    if (ports.empty()) return;
    json.key(name).array();
    for (const Port& port : ports) {
      json.object();
      for (size_t i = 0; i < std::size(port_keys); ++i) {
        name = port_keys[i].name;
        switch (static_cast<PortKey>(i)) {
          case PortKey::Name: put(port.name); break;
          case PortKey::Dtype: put_unless(Dtype::Any, port.dtype, dtype_name(port.dtype)); break;
          case PortKey::Shape: write_shape(port); break;
          case PortKey::Required:
            if (are_inputs) put_unless(true, port.required, false);
            break;
        }
      }
      json.close();
    }
    json.close();
  }

  void write_shape(const Port& port) {
    if (!port.shape) return;
    json.key(name).array();
    for (const Dimension& dimension : *port.shape) {
      switch (dimension.kind) {
        case Dimension::Kind::Fixed: json.value(dimension.size); break;
        case Dimension::Kind::Symbol: json.value(dimension.symbol); break;
        case Dimension::Kind::Unknown: json.value(nullptr); break;
      }
    }
    json.close();
  }

  void write_until(const StopRule& until) {
    switch (until.kind) {
      case StopRule::Kind::BodyTerminal: break;
      case StopRule::Kind::Exhaust: put("exhaust"); break;
      case StopRule::Kind::WhenSignaled:
        json.key(name).object().field("when_signaled", until.node).close();
        break;
    }
  }

  // A value that has no JSON form is left out: the graph's check refuses it, and the document stays
  // one that can be read.
  void write_any(const Value& value) {
    JsonWriter trial;
    if (value.is_null() || !write_value(trial, value).ok()) return;
    json.key(name);
    static_cast<void>(write_value(json, value));
  }
};

}  // namespace

void write_node_key(JsonWriter& json, NodeKey key, const NodeSpec& node) {
  Writer(json, key).write(key, node);
}

void write_target(JsonWriter& json, const Target& target) {
  switch (target.kind) {
    case Target::Kind::Local: json.value("local"); break;
    case Target::Kind::Tag: json.object().field("tag", target.name).close(); break;
    case Target::Kind::Worker: json.object().field("worker", target.name).close(); break;
  }
}

}  // namespace soma::document
