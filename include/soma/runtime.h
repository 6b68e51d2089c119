/* The runtime: threads, memory and log. It comes first; every model keeps its runtime alive.
 *
 * There is no process-wide state: two runtimes with different options live side by side. One is
 * usually right, since each has its own team of threads. The one exception is AMX: permission to
 * use tile registers belongs to the process, can't be given back, and makes signal frames larger;
 * the option amx = never keeps a runtime from asking for it.
 */
#ifndef SOMA_RUNTIME_H
#define SOMA_RUNTIME_H

#include "soma/base.h"
#include "soma/cancel.h"
#include "soma/options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a runtime. Pass SOMA_HEADER_ABI as `header_abi`: a library of another generation answers
 * SOMA_INCOMPATIBLE; a newer level of the same one is fine until a function is missing. `options`
 * is of kind "runtime". SOMA_UNAVAILABLE if the option isa names a kernel set that the processor or
 * the system does not grant. Threads start with the first work; they block all signals. Ticks,
 * tokens and, if so set, log records come on the threads that call.
 * @since 1.0  @own out  @threads any  @blocks no log  @null options error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_runtime_create(uint32_t header_abi, const soma_options* options, soma_runtime** out,
                    soma_error** error) SOMA_NOEXCEPT;

/* JSON: "threads", "kernel_set" ("avx2"), "processor", "amx" ("granted", "absent", "refused" or
 * "never"), "memory_bytes" and "memory_peak_bytes" (through the allocator), "mapped_bytes" and
 * "mapped_peak_bytes" (files, weights, KV memory).
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_runtime_facts(const soma_runtime* runtime, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* Measures the machine with the runtime's threads, for comparison with what a session reaches.
 * Kind "read_bandwidth": reads memory that is larger than the caches, as kernels do; JSON with
 * "bytes_per_s" (median), "bytes", "rounds", "threads". Takes about a second.
 * @since 1.0  @own out  @threads any  @blocks yes tick  @null cancel error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_runtime_measure(const soma_runtime* runtime, const char* kind, size_t kind_length,
                     soma_cancel* cancel, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null runtime */
SOMA_API void SOMA_CALL soma_runtime_retain(const soma_runtime* runtime) SOMA_NOEXCEPT;

/* One reference less. The runtime goes with its last reference, those held by its models and other
 * objects included; its threads, which are idle then, end.
 * @since 1.0  @own none  @threads any  @blocks no  @null runtime */
SOMA_API void SOMA_CALL soma_runtime_release(const soma_runtime* runtime) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
