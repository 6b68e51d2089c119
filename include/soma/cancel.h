/* Cancel: how a blocking call is stopped, and how it says how far it is.
 *
 * A cancel object is passed to a blocking call, one call at a time. It stops the call when another
 * thread asks, when its deadline passes, or when its tick says so. Stopping is cooperative and
 * takes a few milliseconds; the call returns SOMA_CANCELLED or SOMA_DEADLINE_EXCEEDED. What was
 * asked stays asked: soma_cancel_reset makes the object fit for another call.
 */
#ifndef SOMA_CANCEL_H
#define SOMA_CANCEL_H

#include "soma/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soma_cancel soma_cancel;
typedef struct soma_runtime soma_runtime;

/* Makes one: nothing asked, no deadline, no tick.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_cancel_create(const soma_runtime* runtime, soma_cancel** out,
                   soma_error** error) SOMA_NOEXCEPT;

/* Stops the call that uses the object, and each later one until the reset. May be called during
 * that call, from any thread, and from a signal handler.
 * @since 1.0  @own none  @threads any  @blocks no  @null cancel */
SOMA_API void SOMA_CALL soma_cancel_request(const soma_cancel* cancel) SOMA_NOEXCEPT;

/* Stops at `from_now_ns` nanoseconds from now, on the monotonic clock; 0 or less: at once;
 * INT64_MAX: no deadline. May be called during the call, from any thread.
 * @since 1.0  @own none  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_cancel_set_deadline(const soma_cancel* cancel, int64_t from_now_ns,
                         soma_error** error) SOMA_NOEXCEPT;

/* Takes back the request and the deadline; the tick stays. Refused while a call uses the object.
 * @since 1.0  @own none  @threads one  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_cancel_reset(soma_cancel* cancel, soma_error** error) SOMA_NOEXCEPT;

/* Called on the thread that made the blocking call, while it runs: every 20 to 50 ms, and not at
 * all in a shorter call. `phase` says what is being done ("open", "pack", "prefill", "decode",
 * "measure", "run", "backward"; ends with a NUL), `done` of `total` how much of it, in the phase's
 * own unit (bytes, tokens or nodes; total 0: not known). Returns SOMA_CONTINUE to go on; anything
 * else stops the call, which then returns SOMA_CANCELLED. The runtime's team is at work meanwhile:
 * in a tick, blocking functions and those of sequences answer SOMA_FAILED_PRECONDITION. While
 * another thread has its turn on the same session or runtime, a call waits for the end of that step
 * without a tick. */
typedef int32_t (SOMA_CALL* soma_tick_fn)(void* user, const char* phase, size_t phase_length,
                                          uint64_t done, uint64_t total);

/* Sets the tick, in place of the one before; NULL: none. Refused while a call uses the object.
 * @since 1.0  @own none  @threads one  @blocks no  @null tick user destroy error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_cancel_set_tick(soma_cancel* cancel, soma_tick_fn tick, void* user, soma_destroy_fn destroy,
                     soma_error** error) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null cancel */
SOMA_API void SOMA_CALL soma_cancel_retain(const soma_cancel* cancel) SOMA_NOEXCEPT;

/* One reference less.
 * @since 1.0  @own none  @threads any  @blocks no  @null cancel */
SOMA_API void SOMA_CALL soma_cancel_release(const soma_cancel* cancel) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
