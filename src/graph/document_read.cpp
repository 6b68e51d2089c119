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
#include "graph/document_keys.hpp"
#include "graph/id_index.hpp"

namespace soma {

namespace document {

namespace {

class Reader : private NodeReader {
 public:
  explicit Reader(bool is_strict) : NodeReader(in_graphs, is_strict) {}

  Result<Graph> read(JsonView root) && {
    Graph graph;
    read_graph(root, {}, true, graph);
    if (!problems_.none()) return std::move(problems_).take();
    return graph;
  }

  Result<GraphNode> read_single_node(JsonView root) && {
    GraphNode node;
    read_node(root, {}, node);
    if (!problems_.none()) return std::move(problems_).take();
    return node;
  }

  // An edge whose ends and kind are given otherwise.
  Result<GraphEdge> read_edge_settings(JsonView root) && {
    GraphEdge edge;
    Named ends;
    if (is_object(root, {})) {
      for (const EdgeKey key : {EdgeKey::From, EdgeKey::To, EdgeKey::Kind}) {
        const Key& known = edge_keys[static_cast<size_t>(key)];
        const Place place = {nullptr, known.name};
        if (root.member(known.name)) {
          complain(Reason::document_type, place, "this key is an argument of its own here");
        }
      }
      read_edge_keys(root, {}, edge, ends);
    }
    if (!problems_.none()) return std::move(problems_).take();
    return edge;
  }

 private:
  struct Named {                  // the ends of an edge
    std::string from, to;
  };

  // ---- The objects

  void read_graph(JsonView json, const Place& at, bool is_root, Graph& graph) {
    if (!is_object(json, at)) return;
    if (!read_header(json, at, graph_name, graph_version, is_root)) return;
    required(json, at, "nodes", "a list of nodes");
    std::vector<Named> ends;      // by edge: nodes may come behind the edges
    each_member<GraphKey>(json, at, "a graph", graph_keys,
                          [&](GraphKey key, JsonView member, const Place& place) {
      switch (key) {
        case GraphKey::Soma:
        case GraphKey::Version: break;
        case GraphKey::Nodes: read_nodes(member, place, graph); break;
        case GraphKey::Edges: read_edges(member, place, graph, ends); break;
      }
    });
    resolve(graph, ends);
  }

  void read_nodes(JsonView json, const Place& at, Graph& graph) {
    if (!takes(json, at, nodes_, Graph::nodes_max, "nodes")) return;
    each_element(json, at, "a list of nodes", [&](JsonView element, const Place& place) {
      read_node(element, place, graph.nodes.emplace_back());
    });
  }

  void read_edges(JsonView json, const Place& at, Graph& graph, std::vector<Named>& ends) {
    if (!takes(json, at, edges_, Graph::edges_max, "edges")) return;
    each_element(json, at, "a list of edges", [&](JsonView element, const Place& place) {
      read_edge(element, place, graph.edges.emplace_back(), ends.emplace_back());
    });
  }

  static void resolve(Graph& graph, std::vector<Named>& ends) {
    if (ends.empty()) return;
    IdIndex index(graph.nodes.size());
    for (const GraphNode& node : graph.nodes) index.add(node.id);
    const auto end_of = [&](std::string& id) {
      const u32 node = index.find(id);
      return node != IdIndex::none ? node : graph.add_stranger(std::move(id));
    };
    for (size_t i = 0; i < ends.size(); ++i) {
      graph.edges[i].from = end_of(ends[i].from);
      graph.edges[i].to = end_of(ends[i].to);
    }
  }

  void read_node(JsonView json, const Place& at, GraphNode& node) {
    if (!is_object(json, at)) return;
    const u32 kinds = begin_node(json, at, node);
    if (kinds == kind_bit(NodeKind::Subgraph)) {
      required(json, at, "graph", "the graph within this node");
    }
    NodeReader::read_node(json, at, kinds, node, [&](NodeKey, JsonView graph, const Place& place) {
      read_graph(graph, place, false, *(node.graph = std::make_unique<Graph>()));
    });
  }

  void read_edge(JsonView json, const Place& at, GraphEdge& edge, Named& ends) {
    if (!is_object(json, at)) return;
    required(json, at, "from", "the id of a node");
    required(json, at, "to", "the id of a node");
    read_edge_keys(json, at, edge, ends);
  }

  void read_edge_keys(JsonView json, const Place& at, GraphEdge& edge, Named& ends) {
    each_member<EdgeKey>(json, at, "an edge", edge_keys,
                         [&](EdgeKey key, JsonView member, const Place& place) {
      switch (key) {
        case EdgeKey::From: read_text(member, place, ends.from); break;
        case EdgeKey::To: read_text(member, place, ends.to); break;
        case EdgeKey::Kind: read_edge_kind(member, place, edge.kind); break;
        case EdgeKey::Arm: read_text(member, place, edge.edit().arm.emplace()); break;
        case EdgeKey::Label: read_text(member, place, edge.edit().label.emplace()); break;
        case EdgeKey::Capture: read_bool(member, place, edge.capture); break;
        case EdgeKey::Output: read_text(member, place, edge.edit().output); break;
        case EdgeKey::Input: read_text(member, place, edge.edit().input); break;
      }
    });
    if (edge.arm() && edge.label()) {
      complain(Reason::document_type, {&at, "label"},
               "an edge has an `arm` or a `label`, and this one has both: leave one out");
    }
  }

  void read_edge_kind(JsonView json, const Place& at, EdgeKind& out) {
    if (json.is(JsonKind::Text) && json.text() == "control") {
      out = EdgeKind::Control;
    } else if (!json.is(JsonKind::Text) || json.text() != "data") {
      mistyped(at, "\"data\" or \"control\"", json);
    }
  }

  size_t nodes_ = 0, edges_ = 0;  // of all graphs so far
};

}  // namespace

}  // namespace document

Result<Graph> Graph::parse(std::string_view json, Reading reading) {
  SOMA_ASSIGN(const Json parsed, Json::parse(json));
  return document::Reader(reading == Reading::Strict).read(parsed.root());
}

Result<GraphNode> Graph::parse_node(std::string_view json) {
  SOMA_ASSIGN(const Json parsed, Json::parse(json));
  return document::Reader(true).read_single_node(parsed.root());
}

Result<GraphEdge> Graph::parse_edge_settings(std::string_view json) {
  SOMA_ASSIGN(const Json parsed, Json::parse(json));
  return document::Reader(true).read_edge_settings(parsed.root());
}

}  // namespace soma
