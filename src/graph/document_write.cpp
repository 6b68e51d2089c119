// Prints a graph as its canonical document, which is what its digest is taken of.
//
// Canonical means: two graphs that are the same print the same bytes. So keys come in the order of
// their table, and what has its default is left out.
#include "base/hash.hpp"
#include "graph/document_keys.hpp"

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
    document::write_node(json_, in_graphs, node,
                         [&](NodeKey) { write_subgraph(node.graph.get()); });
  }

  void write_edge(const GraphEdge& edge) {
    json_.object();
    for (size_t i = 0; i < std::size(edge_keys); ++i) {
      write_edge_key(static_cast<EdgeKey>(i), edge, {json_, edge_keys[i].name});
    }
    json_.close();
  }

  static void write_edge_key(EdgeKey key, const GraphEdge& edge, KeyWriter writer) {
    switch (key) {
      case EdgeKey::From: writer.put(edge.from); break;
      case EdgeKey::To: writer.put(edge.to); break;
      case EdgeKey::Kind: writer.put_unless(EdgeKind::Data, edge.kind, "control"); break;
      case EdgeKey::Arm: writer.put_if_any(edge.arm); break;
      case EdgeKey::Label: writer.put_if_any(edge.label); break;
      case EdgeKey::Capture: writer.put_unless(false, edge.capture, true); break;
      case EdgeKey::Output: writer.put_unless("", edge.output, edge.output); break;
      case EdgeKey::Input: writer.put_unless("", edge.input, edge.input); break;
    }
  }

  void write_subgraph(const Graph* graph) {
    json_.key("graph").object();
    if (graph) {
      write_body(*graph);
    } else {
      json_.key("nodes").array().close();
    }
    json_.close();
  }

  JsonWriter json_;
};

}  // namespace

}  // namespace document

std::string Graph::document() const { return document::Writer().print(*this); }

std::string Graph::digest() const { return content_digest(document()); }

}  // namespace soma
