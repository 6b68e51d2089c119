// soma_graph_*: work as nodes and edges.
#include "abi/graph.hpp"

#include <algorithm>

#include "abi/blob.hpp"
#include "abi/guard.hpp"
#include "abi/text_argument.hpp"
#include "base/json_writer.hpp"
#include "base/plain.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

Status check_room(size_t count, size_t limit, std::string_view what) {
  if (count < limit) return {};
  return fail(Reason::graph_limit, "the graph has {} {}, and can't have more", count, what);
}

// A list that is long grows to four times its length at once: it is moved less often, and what is
// reserved beyond its end is no memory before it is written.
template <typename T>
void make_room(std::vector<T>& list, size_t limit) {
  constexpr size_t is_long = size_t{1} << 16;
  if (list.size() < list.capacity() || list.size() < is_long) return;
  list.reserve(std::min(4 * list.size(), limit));
}

// A node, or what one is made of.
template <typename... Parts>
Status add_node(soma_graph& graph, uint32_t* out, Parts&&... parts) {
  SOMA_TRY(check_room(graph.graph.nodes.size(), Graph::nodes_max, "nodes"));
  make_room(graph.graph.nodes, Graph::nodes_max);
  graph.graph.nodes.emplace_back(std::forward<Parts>(parts)...);
  *out = static_cast<uint32_t>(graph.graph.nodes.size() - 1);
  return {};
}

// Ids and the names of ops come by the million, and nearly all are short and plain.
Result<std::string_view> name_argument(std::string_view name, const char* text, size_t length) {
  constexpr size_t short_max = 64;
  const bool is_fine = text && length <= short_max && is_plain({text, length});
  if (is_fine) return std::string_view(text, length);
  return text_argument(name, text, length);
}

Status check_node(const soma_graph& graph, std::string_view name, uint32_t node) {
  if (node < graph.graph.nodes.size()) return {};
  return fail(Reason::graph_unknown_node, "{} is node {}, and the graph has {} nodes", name, node,
              graph.graph.nodes.size());
}

}  // namespace

soma_code soma_graph_create(const soma_runtime* runtime, soma_graph** out,
                            soma_error** error) noexcept {
  return produce(runtime, out, error, [&]() -> Result<Ref<soma_graph>> {
    return make<soma_graph>(runtime, Graph());
  });
}

soma_code soma_graph_parse(const soma_runtime* runtime, const char* json, size_t json_length,
                           soma_graph** out, soma_error** error) noexcept {
  return produce(runtime, out, error, [&]() -> Result<Ref<soma_graph>> {
    SOMA_ASSIGN(const std::string_view text, text_argument("json", json, json_length));
    SOMA_ASSIGN(Graph graph, Graph::parse(text));
    return make<soma_graph>(runtime, std::move(graph));
  });
}

soma_code soma_graph_document(const soma_graph* graph, soma_blob** out,
                              soma_error** error) noexcept {
  return produce(graph, out, error, [&]() -> Result<Ref<soma_blob>> {
    return make_blob(graph->runtime, graph->graph.document());
  });
}

soma_code soma_graph_facts(const soma_graph* graph, soma_blob** out,
                           soma_error** error) noexcept {
  return produce(graph, out, error, [&]() -> Result<Ref<soma_blob>> {
    JsonWriter json;
    json.object()
        .field("nodes", graph->graph.nodes.size())
        .field("edges", graph->graph.edges.size())
        .field("digest", graph->graph.digest())
        .close();
    return make_blob(graph->runtime, std::move(json).take());
  });
}

soma_code soma_graph_add_node(soma_graph* graph, const char* json, size_t json_length,
                              uint32_t* out, soma_error** error) noexcept {
  return perform(graph, error, [&]() -> Status {
    if (!out) return null_argument("out");
    SOMA_ASSIGN(const std::string_view text, text_argument("json", json, json_length));
    SOMA_ASSIGN(GraphNode node, Graph::parse_node(text));
    return add_node(*graph, out, std::move(node));
  });
}

soma_code soma_graph_add_function(soma_graph* graph, const char* id, size_t id_length,
                                  const char* op, size_t op_length, uint32_t* out,
                                  soma_error** error) noexcept {
  return perform(graph, error, [&]() -> Status {
    if (!out) return null_argument("out");
    SOMA_ASSIGN(const std::string_view name, name_argument("id", id, id_length));
    SOMA_ASSIGN(const std::string_view code, name_argument("op", op, op_length));
    return add_node(*graph, out, name, code);
  });
}

soma_code soma_graph_automatic_id(const soma_graph* graph, const char* name, size_t name_length,
                                  soma_blob** out, soma_error** error) noexcept {
  return produce(graph, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_ASSIGN(const std::string_view text, text_argument("name", name, name_length));
    return make_blob(graph->runtime, automatic_id(graph->graph, text));
  });
}

soma_code soma_graph_add_subgraph(soma_graph* graph, const char* id, size_t id_length,
                                  const soma_graph* inner, uint32_t* out,
                                  soma_error** error) noexcept {
  return perform(graph, error, [&]() -> Status {
    SOMA_TRY(check_within(graph->runtime, inner));
    if (!out) return null_argument("out");
    SOMA_ASSIGN(const std::string_view name, text_argument("id", id, id_length));
    GraphNode node;
    node.id = name;
    node.kind = NodeKind::Subgraph;
    node.graph = std::make_unique<Graph>(inner->graph.clone());
    if (node.graph->depth() > Graph::nesting_max) {
      return fail(Reason::graph_limit, "subgraphs nest {} deep at most", Graph::nesting_max);
    }
    return add_node(*graph, out, std::move(node));
  });
}

soma_code soma_graph_add_edge(soma_graph* graph, uint32_t from, uint32_t to, int32_t kind,
                              const char* settings, size_t settings_length,
                              soma_error** error) noexcept {
  return perform(graph, error, [&]() -> Status {
    SOMA_TRY(check_node(*graph, "from", from));
    SOMA_TRY(check_node(*graph, "to", to));
    if (kind != SOMA_EDGE_DATA && kind != SOMA_EDGE_CONTROL) {
      return fail(Reason::argument_range,
                  "kind is SOMA_EDGE_DATA (1) or SOMA_EDGE_CONTROL (2), got {}", kind);
    }
    SOMA_ASSIGN(const std::string_view text,
                text_argument("settings", settings, settings_length));
    SOMA_TRY(check_room(graph->graph.edges.size(), Graph::edges_max, "edges"));
    GraphEdge read;
    if (!text.empty()) {
      SOMA_ASSIGN(read, Graph::parse_edge_settings(text));
    }
    make_room(graph->graph.edges, Graph::edges_max);
    GraphEdge& edge = graph->graph.edges.emplace_back(std::move(read));
    edge.from = from;
    edge.to = to;
    edge.kind = kind == SOMA_EDGE_DATA ? EdgeKind::Data : EdgeKind::Control;
    return {};
  });
}

soma_code soma_graph_then(const soma_graph* first, const soma_graph* second, soma_graph** out,
                          soma_error** error) noexcept {
  return produce(first, out, error, [&]() -> Result<Ref<soma_graph>> {
    SOMA_TRY(check_within(first->runtime, second));
    SOMA_ASSIGN(Graph graph, then(first->graph.clone(), second->graph.clone()));
    return make<soma_graph>(first->runtime, std::move(graph));
  });
}

soma_code soma_graph_beside(const soma_graph* first, const soma_graph* second, soma_graph** out,
                            soma_error** error) noexcept {
  return produce(first, out, error, [&]() -> Result<Ref<soma_graph>> {
    SOMA_TRY(check_within(first->runtime, second));
    SOMA_ASSIGN(Graph graph, beside(first->graph.clone(), second->graph.clone()));
    return make<soma_graph>(first->runtime, std::move(graph));
  });
}

void soma_graph_retain(const soma_graph* graph) noexcept { retain(graph); }
void soma_graph_release(const soma_graph* graph) noexcept { release(graph); }
