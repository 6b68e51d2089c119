/* Plan caches: plans in memory, so that a graph which was compiled before is not compiled again.
 *
 * A plan is found by a digest of all that the graph is and by the options of the compilation: equal
 * graphs have one plan, however they came about. That costs a walk through the graph, about an
 * eighth of compiling it. A cache may be used by any number of threads; a graph that several ask
 * for at the same time is compiled once. What was used longest ago goes when there are too many.
 */
#ifndef SOMA_PLAN_CACHE_H
#define SOMA_PLAN_CACHE_H

#include "soma/base.h"
#include "soma/graph.h"
#include "soma/options.h"
#include "soma/plan.h"
#include "soma/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soma_plan_cache soma_plan_cache;

/* An empty one. `options` is of kind "plan_cache".
 * @since 1.0  @own out  @threads any  @blocks no  @null options error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_plan_cache_create(const soma_runtime* runtime, const soma_options* options,
                       soma_plan_cache** out, soma_error** error) SOMA_NOEXCEPT;

/* The plan that soma_plan_compile would make, which is made only if it is not there; the graph is
 * of the cache's runtime. `options` is of kind "compile". The plan brings its diagnostics each
 * time. A failure is that of soma_plan_compile, and is not kept. While another thread compiles the
 * same, it waits for that.
 * @since 1.0  @own out  @threads any  @blocks no  @null options error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_plan_cache_compile(const soma_plan_cache* cache, const soma_graph* graph,
                        const soma_options* options, soma_plan** out,
                        soma_error** error) SOMA_NOEXCEPT;

/* JSON: "hits", "misses" (compilations), "failures" (of these), "evicted", "plans", "plans_max",
 * "bytes" (about what the plans take), "bytes_max".
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_plan_cache_facts(const soma_plan_cache* cache, soma_blob** out,
                      soma_error** error) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null cache */
SOMA_API void SOMA_CALL soma_plan_cache_retain(const soma_plan_cache* cache) SOMA_NOEXCEPT;

/* One reference less; plans that were given out stay.
 * @since 1.0  @own none  @threads any  @blocks no  @null cache */
SOMA_API void SOMA_CALL soma_plan_cache_release(const soma_plan_cache* cache) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
