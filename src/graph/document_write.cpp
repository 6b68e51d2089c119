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
  // Who only wants the digest has the text go there piece by piece: it is never there as a whole.
  explicit Writer(ContentDigest* digest) : digest_(digest) {}

  std::string print(const Graph& graph) && {
    json_.object().field("soma", graph_name).field("version", graph_version);
    write_body(graph);
    json_.close();
    if (digest_) feed();
    return std::move(json_).take();
  }

 private:
  static constexpr size_t piece_bytes = size_t{1} << 15;

  void feed() {
    digest_->feed(json_.written());
    json_.forget();
  }
  void feed_piece() {
    if (digest_ && json_.written().size() >= piece_bytes) feed();
  }

  void write_body(const Graph& graph) {
    json_.key("nodes").array();
    for (const GraphNode& node : graph.nodes) {
      write_node(node);
      feed_piece();
    }
    json_.close();
    if (graph.edges.empty()) return;
    json_.key("edges").array();
    for (const GraphEdge& edge : graph.edges) {
      write_edge(graph, edge);
      feed_piece();
    }
    json_.close();
  }

  void write_node(const GraphNode& node) {
    document::write_node(json_, in_graphs, node,
                         [&](NodeKey) { write_subgraph(node.graph.get()); });
  }

  void write_edge(const Graph& graph, const GraphEdge& edge) {
    json_.object();
    for (size_t i = 0; i < std::size(edge_keys); ++i) {
      write_edge_key(static_cast<EdgeKey>(i), graph, edge, {json_, edge_keys[i].name});
    }
    json_.close();
  }

  static void write_edge_key(EdgeKey key, const Graph& graph, const GraphEdge& edge,
                             KeyWriter writer) {
    switch (key) {
      case EdgeKey::From: writer.put(graph.id_of(edge.from)); break;
      case EdgeKey::To: writer.put(graph.id_of(edge.to)); break;
      case EdgeKey::Kind: writer.put_unless(EdgeKind::Data, edge.kind, "control"); break;
      case EdgeKey::Arm: writer.put_if_any(edge.arm()); break;
      case EdgeKey::Label: writer.put_if_any(edge.label()); break;
      case EdgeKey::Capture: writer.put_unless(false, edge.capture, true); break;
      case EdgeKey::Output: writer.put_unless("", edge.output(), edge.output()); break;
      case EdgeKey::Input: writer.put_unless("", edge.input(), edge.input()); break;
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

  ContentDigest* const digest_;   // none: the text is wanted
  JsonWriter json_;
};

}  // namespace

}  // namespace document

std::string Graph::document() const { return document::Writer(nullptr).print(*this); }

std::string Graph::digest() const {
  ContentDigest digest;
  static_cast<void>(document::Writer(&digest).print(*this));
  return digest.hex();
}

}  // namespace soma
