/* Sessions: a model made ready to run: programs compiled, weights packed, KV memory allocated.
 *
 * A session serves any number of sequences (sequence.h), up to its pool of KV memory, and runs one
 * step at a time on the runtime's threads. Several sessions may share a model; each packs its own
 * weights.
 */
#ifndef SOMA_SESSION_H
#define SOMA_SESSION_H

#include "soma/base.h"
#include "soma/cancel.h"
#include "soma/model.h"
#include "soma/options.h"
#include "soma/program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soma_session soma_session;

/* Compiles, packs and allocates; `options` is of kind "session". Cost: reads the file's tensors
 * once and writes them packed; the tick's phase is "pack", in bytes. Errors:
 * SOMA_RESOURCE_EXHAUSTED, "model.tensor.format", "backend.*".
 * @since 1.0  @own out  @threads any  @blocks yes tick log  @null options cancel error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_session_create(const soma_model* model, const soma_options* options, soma_cancel* cancel,
                    soma_session** out, soma_error** error) SOMA_NOEXCEPT;

/* JSON: "context", "policy", "kernel_set", "threads", "weight_bytes", "kv_bytes", "kv_blocks",
 * "arena_bytes", "scratch_bytes", "decode_launches" and "prefill_launches" (of one step),
 * "decode_read_bytes" (weights read for one token), "decode_program" and "prefill_program"
 * (digests).
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_session_facts(const soma_session* session, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* The program that the session runs in `mode`, "decode" or "prefill".
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_session_program(const soma_session* session, const char* mode, size_t mode_length,
                     soma_program** out, soma_error** error) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null session */
SOMA_API void SOMA_CALL soma_session_retain(const soma_session* session) SOMA_NOEXCEPT;

/* One reference less.
 * @since 1.0  @own none  @threads any  @blocks no  @null session */
SOMA_API void SOMA_CALL soma_session_release(const soma_session* session) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
