/* Plans: in which order the nodes of a graph run, and which of them at the same time.
 *
 * A plan is immutable, needs no graph, and may serve any number of runs at once. Compiling is pure:
 * equal graphs and options give equal plans, byte for byte.
 */
#ifndef SOMA_PLAN_H
#define SOMA_PLAN_H

#include "soma/base.h"
#include "soma/graph.h"
#include "soma/options.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soma_plan soma_plan;

/* Compiles a graph. `options` is of kind "compile". Any error that the compiler finds means no
 * plan: the call's error is the first of them, with others attached; its reasons are those named
 * "graph.", "loop.", "branch.", "region.", "schema.", "stream." and "distribute.". Linear in nodes
 * and edges, but for sorting. What the plan says of its graph's digest is made when it is first
 * needed: by its document, its facts, a diff or a journal, and costs what soma_graph_facts does.
 * @since 1.0  @own out  @threads any  @blocks no  @null options error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_plan_compile(const soma_graph* graph, const soma_options* options, soma_plan** out,
                  soma_error** error) SOMA_NOEXCEPT;

/* What the compiler had to say when it made the plan, as JSON: "diagnostics", an array of {"code",
 * "level" ("error", "warning", "info"), "message", "hint", "nodes", "edges"}, and "left_out", how
 * many more there were. A plan that was parsed has none.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_plan_diagnostics(const soma_plan* plan, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* From a plan document, as JSON or in its binary form, which begins as no JSON does. The document's
 * problems come all at once, each with its place: as in soma_graph_parse; what no plan can be is
 * "document.type". A binary form that is cut off or has changed is "document.corrupt".
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_plan_parse(const soma_runtime* runtime, const char* document, size_t document_length,
                soma_plan** out, soma_error** error) SOMA_NOEXCEPT;

/* The plan as a document: canonical, so equal plans give equal bytes.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_plan_document(const soma_plan* plan, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* The document in its binary form: much smaller, with a checksum. Of equal plans, two libraries may
 * make different bytes.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_plan_binary(const soma_plan* plan, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* JSON: "digest" (BLAKE2b-256 of the document), "graph" (that of the graph), "mode", "nodes",
 * "items" (counts), "models": those that nodes of kind "program" name, each once, in the plan's
 * order (soma_ops_add_session).
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_plan_facts(const soma_plan* plan, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* The plan to look at: `format` is "tree" (one item a line), "mermaid", "dot", "svg" (a picture) or
 * "html" (a page with the picture and what is known of each node). The last two are whole by
 * themselves; of a very large or deep plan they show a part, and say how much is left out.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_plan_show(const soma_plan* plan, const char* format, size_t format_length, soma_blob** out,
               soma_error** error) SOMA_NOEXCEPT;

/* How long the plan takes with `threads` threads (0: as many as it can use), without running it:
 * from what its nodes declare as "cost_us", else from `measured`, a JSON object of microseconds by
 * id of a node in "nodes", and by name of an op in "ops"; empty if nothing was measured. As JSON:
 * "total_us", null unless all is known; "known_us", what the known part of it takes, and so a lower
 * bound; "critical_path_us", with a thread for everything; "work_us", of all threads together;
 * "threads"; "unknown", the ids of nodes without a time and of loops without a bound.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_plan_estimate(const soma_plan* plan, const char* measured, size_t measured_length,
                   uint64_t threads, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* What became of `before` in `after`, as JSON: "added", "removed", "moved", "changed".
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_plan_diff(const soma_plan* before, const soma_plan* after, soma_blob** out,
               soma_error** error) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null plan */
SOMA_API void SOMA_CALL soma_plan_retain(const soma_plan* plan) SOMA_NOEXCEPT;

/* One reference less.
 * @since 1.0  @own none  @threads any  @blocks no  @null plan */
SOMA_API void SOMA_CALL soma_plan_release(const soma_plan* plan) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
