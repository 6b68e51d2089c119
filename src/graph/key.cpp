// Digests a graph as it lies in memory.
//
// Problem. A cache of plans has to tell graphs apart for less than compiling costs, and must never
// take one for another, also if somebody would like it to. The digest of the document does that,
// but printing and digesting that costs as much as compiling it.
//
// Idea. The same digest, over the fields themselves: numbers as they are, texts behind their
// lengths, in an order in which all that follows says how long it is. So no two graphs feed the
// same bytes, unless their documents are the same too. What few nodes have (ports, settings,
// bounds) is fed as it stands in the document, which is canonical.
//
// Cost. Linear: a third of the digest of the document, a third to a half of compiling (chains with
// skipping edges; make bench-plans has the figures).
#include "graph/key.hpp"

#include <cstring>

#include "graph/document_keys.hpp"

namespace soma {

namespace {

class KeyDigest {
 public:
  void graph(const Graph& graph) {
    number(graph.nodes.size());
    for (const GraphNode& each : graph.nodes) node(each);
    number(graph.edges.size());
    for (const GraphEdge& each : graph.edges) edge(each);
    number(graph.strangers.size());
    for (const std::string& id : graph.strangers) text(id);
  }

  DigestBytes bytes() && {
    flush();
    return digest_.bytes();
  }

 private:
  void node(const GraphNode& node) {
    const bool has_settings = !node.settings.is_usual();
    u64 facts = node.op_version;
    const auto add = [&facts](u32 value, u32 bits) { facts = facts << bits | value; };
    add(static_cast<u32>(node.kind), 8);
    add(static_cast<u32>(node.stream_mode), 8);
    for (const bool fact : {bool{node.cacheable}, bool{node.deterministic},
                            bool{node.differentiable}, bool{node.waits}, has_settings,
                            node.graph != nullptr}) {
      add(fact ? 1 : 0, 1);
    }
    number(facts);
    text(node.id);
    text(node.op);
    if (has_settings) {
      JsonWriter json;
      document::write_node(json, document::in_graphs, node, [](document::NodeKey) {});
      text(json.written());
    }
    if (node.graph) graph(*node.graph);
  }

  void edge(const GraphEdge& edge) {
    const bool has_settings = !edge.settings.is_usual();
    number(u64{edge.from} << 32 | edge.to);
    number(u64{edge.kind == EdgeKind::Control} << 2 | u64{edge.capture} << 1 | u64{has_settings});
    if (!has_settings) return;
    for (const std::optional<std::string>* one : {&edge.arm(), &edge.label()}) {
      number(one->has_value() ? 1 : 0);
      text(one->value_or(std::string()));
    }
    text(edge.output());
    text(edge.input());
  }

  void text(std::string_view text) {
    number(text.size());
    if (text.size() > sizeof buffer_ - filled_) flush();
    if (text.size() > sizeof buffer_) return digest_.feed(text);
    if (!text.empty()) std::memcpy(buffer_ + filled_, text.data(), text.size());
    filled_ += text.size();
  }

  void number(u64 value) {
    if (sizeof value > sizeof buffer_ - filled_) flush();
    std::memcpy(buffer_ + filled_, &value, sizeof value);
    filled_ += sizeof value;
  }

  void flush() { digest_.feed({buffer_, std::exchange(filled_, 0)}); }

  ContentDigest digest_;
  size_t filled_ = 0;
  char buffer_[4096];
};

}  // namespace

DigestBytes graph_key(const Graph& graph) {
  KeyDigest digest;
  digest.graph(graph);
  return std::move(digest).bytes();
}

}  // namespace soma
