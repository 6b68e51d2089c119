/* Graphs: work as nodes and edges.
 *
 * A graph is data, in the order in which its nodes and edges were added, which is the only
 * tie-break there is. Adding checks the call; what the parts make together is checked when a plan
 * is compiled, all of it at once. A node has a kind: "function", "step", "loop", "branch",
 * "subgraph" or "program"; its other properties are those of a graph document's nodes, as JSON.
 * A data edge carries its source's value. What a control edge means depends on what it leaves:
 * of a loop it leads to its body's entries, of a step to a hand-off, of a branch (or with "arm" or
 * "label") to an arm; of any other node it only says what comes later.
 */
#ifndef SOMA_GRAPH_H
#define SOMA_GRAPH_H

#include "soma/base.h"
#include "soma/options.h"
#include "soma/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soma_graph soma_graph;

/* An empty one.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_graph_create(const soma_runtime* runtime, soma_graph** out, soma_error** error) SOMA_NOEXCEPT;

/* From a graph document. The document's problems come all at once, each with its place:
 * "document.syntax", "document.version", "document.unknown_key", "document.duplicate_key",
 * "document.type", "document.limit", "graph.unknown_kind".
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_graph_parse(const soma_runtime* runtime, const char* json, size_t json_length,
                 soma_graph** out, soma_error** error) SOMA_NOEXCEPT;

/* The graph as a document: canonical, so equal graphs give equal bytes.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_graph_document(const soma_graph* graph, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* JSON: "nodes", "edges" (counts), "digest" (BLAKE2b-256 of the document, hexadecimal).
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_graph_facts(const soma_graph* graph, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* Compiles the graph only to hear what the compiler says, as JSON: everything that it finds,
 * errors, warnings and hints, in the form of soma_plan_diagnostics (plan.h). `options` is of kind
 * "compile".
 * @since 1.0  @own out  @threads any  @blocks no  @null options error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_graph_check(const soma_graph* graph, const soma_options* options, soma_blob** out,
                 soma_error** error) SOMA_NOEXCEPT;

/* Adds a node and gives its number, counted from 0. `json` is a node as it stands in a document:
 * {"id":"refine","kind":"loop","max_iterations":4}. All of its problems come at once:
 * "document.syntax", "document.unknown_key", "document.type", "graph.unknown_kind".
 * @since 1.0  @own none  @threads one  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_graph_add_node(soma_graph* graph, const char* json, size_t json_length, uint32_t* out,
                    soma_error** error) SOMA_NOEXCEPT;

/* Adds a node of kind "function" that has an id and an op and nothing else; an empty op is the
 * id's. The short way for graphs of many nodes.
 * @since 1.0  @own none  @threads one  @blocks no  @null op error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_graph_add_function(soma_graph* graph, const char* id, size_t id_length, const char* op,
                        size_t op_length, uint32_t* out, soma_error** error) SOMA_NOEXCEPT;

/* An id that the graph does not have yet: the name in snake_case, then with _2, _3 and so on. Looks
 * at every node.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_graph_automatic_id(const soma_graph* graph, const char* name, size_t name_length,
                        soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* Adds a node that stands for all of `inner`, which is copied.
 * @since 1.0  @own none  @threads one  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_graph_add_subgraph(soma_graph* graph, const char* id, size_t id_length,
                        const soma_graph* inner, uint32_t* out, soma_error** error) SOMA_NOEXCEPT;

enum {
  SOMA_EDGE_DATA = 1,
  SOMA_EDGE_CONTROL = 2
};

/* Adds an edge between two nodes, by their numbers. `settings` is a JSON object: "arm" (a predicate
 * or "else"), "label", "capture", "output", "input"; empty: none of them. "graph.unknown_node",
 * "document.type", "document.unknown_key".
 * @since 1.0  @own none  @threads one  @blocks no  @null settings error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_graph_add_edge(soma_graph* graph, uint32_t from, uint32_t to, int32_t kind,
                    const char* settings, size_t settings_length,
                    soma_error** error) SOMA_NOEXCEPT;

/* A graph of both, in which every sink of `first` feeds every source of `second`; the two are
 * copied. A loop is source and sink for all that is in its body. A branch or a step is the source
 * for what is in its arms or hand-offs; its sinks are their ends, each of them.
 * "graph.duplicate_id" names ids that both have.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_graph_then(const soma_graph* first, const soma_graph* second, soma_graph** out,
                soma_error** error) SOMA_NOEXCEPT;

/* A graph of both, with nothing between them.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_graph_beside(const soma_graph* first, const soma_graph* second, soma_graph** out,
                  soma_error** error) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null graph */
SOMA_API void SOMA_CALL soma_graph_retain(const soma_graph* graph) SOMA_NOEXCEPT;

/* One reference less.
 * @since 1.0  @own none  @threads any  @blocks no  @null graph */
SOMA_API void SOMA_CALL soma_graph_release(const soma_graph* graph) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
