// Reads records of nodes, as graphs and plans have them.
//
// Each key gets read as the type that its case below says, and whatever else is there is noted.
#include <cmath>

#include "base/base64.hpp"
#include "base/text.hpp"
#include "value/node_document.hpp"
#include "value/value_json.hpp"

namespace soma::document {

namespace {

constexpr double cost_us_max = 1e15;  // 31 years

std::string kinds_listed(u32 kinds) {
  std::string out;
  for (const NodeKind kind : {NodeKind::Function, NodeKind::Step, NodeKind::Loop,
                              NodeKind::Branch, NodeKind::Subgraph, NodeKind::Program}) {
    if ((kinds & kind_bit(kind)) == 0) continue;
    out.append(out.empty() ? "" : ", ").append(node_kind_name(kind));
  }
  return out;
}

}  // namespace

u32 NodeReader::begin_node(JsonView json, const Place& at, NodeSpec& node) {
  const u32 kinds = read_kind(json.member("kind"), {&at, "kind"}, node);
  required(json, at, "id", "a text");
  return kinds;
}

u32 NodeReader::read_kind(JsonView json, const Place& at, NodeSpec& node) {
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

bool NodeReader::may_have(NodeKey key, u32 kinds, const NodeSpec& node, const Place& at) {
  const u32 allowed = node_keys[static_cast<size_t>(key)].kinds;
  if ((allowed & kinds) != 0) return true;
  complain(Reason::document_type, at,
           text("only a node of kind {} has this key, and this one is of kind {}",
                kinds_listed(allowed), node_kind_name(node.kind)));
  return false;
}

void NodeReader::read_node_key(NodeKey key, JsonView json, const Place& at, NodeSpec& node) {
  const auto flag = [&](bool usual) {
    read_bool(json, at, usual);
    return usual;
  };
  switch (key) {
    case NodeKey::Id: return read_name(json, at, node.id);
    case NodeKey::Op: return read_name(json, at, node.op);
    case NodeKey::OpVersion: return read_op_version(json, at, node.op_version);
    case NodeKey::Differentiable: node.differentiable = flag(node.differentiable); return;
    case NodeKey::Cacheable: node.cacheable = flag(node.cacheable); return;
    case NodeKey::Deterministic: node.deterministic = flag(node.deterministic); return;
    case NodeKey::Waits: node.waits = flag(node.waits); return;
    case NodeKey::StreamMode: return read_stream_mode(json, at, node.stream_mode);
    case NodeKey::MaxIterations:
      return read_integer(json, at, node.edit().max_iterations.emplace());
    case NodeKey::Until: return read_until(json, at, node.edit().until);
    case NodeKey::CarryFrom: return read_text(json, at, node.edit().carry_from.emplace());
    case NodeKey::MaxTurns: return read_integer(json, at, node.edit().max_turns.emplace());
    case NodeKey::Model: return read_text(json, at, node.edit().model);
    case NodeKey::Task: return read_text(json, at, node.edit().task);
    case NodeKey::Deployment: node.edit().deployment = value_of(json); return;
    case NodeKey::Inputs: return read_ports(json, at, true, node.edit().inputs);
    case NodeKey::Outputs: return read_ports(json, at, false, node.edit().outputs);
    case NodeKey::CostUs: return read_cost(json, at, node.edit().cost_us);
    case NodeKey::Target: return read_target(json, at, node.edit().target);
    case NodeKey::Device: return read_text(json, at, node.edit().device);
    case NodeKey::State: return read_state(json, at, node.edit().state);
    case NodeKey::Config: return read_config(json, at, node.edit().config);
    case NodeKey::Kind:
    case NodeKey::Graph:
    case NodeKey::From: return;
  }
}

void NodeReader::read_ports(JsonView json, const Place& at, bool are_inputs,
                            std::vector<Port>& ports) {
  each_element(json, at, "a list of ports", [&](JsonView element, const Place& place) {
    read_port(element, place, are_inputs, ports.emplace_back());
  });
}

void NodeReader::read_port(JsonView json, const Place& at, bool is_input, Port& port) {
  if (!is_object(json, at)) return;
  required(json, at, "name", "a text");
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

void NodeReader::read_name(JsonView json, const Place& at, Name& out) {
  std::string name;
  read_text(json, at, name);
  out = name;
}

void NodeReader::read_op_version(JsonView json, const Place& at, u32& out) {
  const std::optional<i64> version = integer_in(json);
  if (!version || *version < 0 || *version > i64{~u32{0}}) {
    return mistyped(at, text("an integer from 0 to {}", ~u32{0}), json);
  }
  out = static_cast<u32>(*version);
}

void NodeReader::read_cost(JsonView json, const Place& at, std::optional<double>& out) {
  if (!json.is(JsonKind::Number) || !(json.number() >= 0 && json.number() <= cost_us_max)) {
    return mistyped(at, text("a number of microseconds from 0 to {}", cost_us_max), json);
  }
  out = std::abs(json.number());  // no minus before a zero
}

void NodeReader::read_stream_mode(JsonView json, const Place& at, StreamMode& out) {
  const std::optional<StreamMode> mode =
      json.is(JsonKind::Text) ? stream_mode_by_name(json.text()) : std::nullopt;
  // A node without a mode leaves the key out.
  constexpr std::string_view expected = "one of stateless, stateful, barrier";
  if (mode && *mode != StreamMode::None) {
    out = *mode;
  } else if (json.is(JsonKind::Text)) {
    complain(Reason::stream_mode, at,
             text("{} is no stream mode; {} is expected", quoted(json.text()), expected));
  } else {
    mistyped(at, expected, json);
  }
}

void NodeReader::read_dtype(JsonView json, const Place& at, Dtype& out) {
  const std::optional<Dtype> dtype =
      json.is(JsonKind::Text) ? dtype_by_name(json.text()) : std::nullopt;
  if (!dtype) {
    return mistyped(at, "one of bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, "
                        "text, bytes, list, map, opaque, any", json);
  }
  out = *dtype;
}

void NodeReader::read_shape(JsonView json, const Place& at, std::vector<Dimension>& out) {
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

void NodeReader::read_until(JsonView json, const Place& at, StopRule& out) {
  if (json.is(JsonKind::Text) && json.text() == "body_terminal") return;
  if (json.is(JsonKind::Text) && json.text() == "exhaust") {
    out.kind = StopRule::Kind::Exhaust;
  } else if (read_choice(json, at, "when_signaled", out.node)) {
    out.kind = StopRule::Kind::WhenSignaled;
  } else {
    mistyped(at, R"("body_terminal", "exhaust" or {"when_signaled": the id of a node})", json);
  }
}

void NodeReader::read_target(JsonView json, const Place& at, Target& out) {
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

void NodeReader::read_state(JsonView json, const Place& at, std::vector<u8>& out) {
  if (!json.is(JsonKind::Text)) return mistyped(at, "bytes as base64", json);
  std::optional<std::vector<u8>> bytes = bytes_of_base64(json.text());
  if (!bytes) return mistyped(at, "bytes as base64, padded and without blanks", json);
  out = *std::move(bytes);
}

void NodeReader::read_config(JsonView json, const Place& at, Value& out) {
  if (json.is(JsonKind::Null)) return;
  if (!json.is(JsonKind::Object)) return mistyped(at, "an object or null", json);
  if (json.first()) out = value_of(json);  // an empty config is none
}

}  // namespace soma::document
