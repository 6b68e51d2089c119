/* Caches: what nodes yielded, so that they need not run again.
 *
 * A node that says "cacheable" is looked up before it runs, under a key made of its op and version,
 * its config, state and device (of a program also its model), and the content of what it reads; not
 * of its id, nor of the pass or the chunk that it is called for, so that its code must make nothing
 * of these. Its value is kept if the node is deterministic, waits for no other branch, and nothing
 * opaque is read or yielded. Outside of loops, arms and hand-offs it is also looked up by how its
 * input comes about, before anything runs: if it is there, what only it would have read is skipped.
 * Whatever is found is what running would have yielded, as long as each op's name and version stand
 * for one piece of code: who changes what an op computes changes its version. Only plans of mode
 * "inference" use a cache.
 *
 * A cache may serve any number of runs at once; its folder, any number of processes. Files that are
 * damaged, foreign or gone are not found, and what can't be written makes no run fail: it is
 * counted, and told to the run's observer.
 */
#ifndef SOMA_CACHE_H
#define SOMA_CACHE_H

#include "soma/base.h"
#include "soma/cancel.h"
#include "soma/options.h"
#include "soma/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soma_cache soma_cache;

/* In memory only. `options` is of kind "cache".
 * @since 1.0  @own out  @threads any  @blocks no  @null options error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_cache_create(const soma_runtime* runtime, const soma_options* options, soma_cache** out,
                  soma_error** error) SOMA_NOEXCEPT;

/* In memory, and behind that in a folder, which is made if it is missing. "cache.version": the
 * folder holds something else, or a cache of another version. "cache.store".
 * @since 1.0  @own out  @threads any  @blocks no  @null options error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_cache_open(const soma_runtime* runtime, const char* path, size_t path_length,
                const soma_options* options, soma_cache** out, soma_error** error) SOMA_NOEXCEPT;

/* JSON: what runs did with this object, in nodes: "hits", "misses", "skipped"; "failed_writes" and
 * the "last_failure", a text; "path", null if it is in memory only; and of "memory" and "disk",
 * which is null then: "entries", "bytes", "bytes_max", "pinned", "evicted", "damaged". Looks
 * through the folder.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_cache_facts(const soma_cache* cache, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* Reads all entries, and removes those that are damaged. As JSON: "entries" and "bytes" that are
 * sound, "damaged", "foreign" (no entries of this library's: left alone), "unreadable" (the system
 * refused). The tick's phase is "verify", in entries.
 * @since 1.0  @own out  @threads any  @blocks yes tick  @null cancel error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_cache_verify(const soma_cache* cache, soma_cancel* cancel, soma_blob** out,
                  soma_error** error) SOMA_NOEXCEPT;

/* Removes what was not used for longest until at most `bytes_max` bytes are left, in memory and in
 * the folder, and what writers left that were broken off. Pinned entries stay. As JSON: "entries"
 * and "bytes" that were removed, "left_overs".
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_cache_sweep(const soma_cache* cache, uint64_t bytes_max, soma_blob** out,
                 soma_error** error) SOMA_NOEXCEPT;

/* Pins an entry (1), so that it stays whatever is removed, or lets go of it (0). The key stands in
 * the events of runs, 64 hexadecimal digits. "cache.key", "cache.not_found", "cache.store".
 * @since 1.0  @own none  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_cache_pin(const soma_cache* cache, const char* key, size_t key_length, int32_t is_pinned,
               soma_error** error) SOMA_NOEXCEPT;

/* How long nodes took whose values are there, as soma_plan_estimate takes it: {"ops": {name: us}},
 * the median of each op.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_cache_measured(const soma_cache* cache, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null cache */
SOMA_API void SOMA_CALL soma_cache_retain(const soma_cache* cache) SOMA_NOEXCEPT;

/* One reference less.
 * @since 1.0  @own none  @threads any  @blocks no  @null cache */
SOMA_API void SOMA_CALL soma_cache_release(const soma_cache* cache) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
