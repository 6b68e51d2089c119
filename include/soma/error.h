/* Errors: what went wrong, as data that a program can act on and a person can read.
 *
 * An error has a code (what to do), a reason id (which failure; stable, for programs to compare), a
 * message (what, where, expected, got, what now; for people, its wording may change), details by
 * key, and the further problems of the same kind that the call found. It is immutable and needs no
 * runtime. When there is no memory for one, an error that exists already is returned: its reason is
 * "memory.exhausted" and it has no details.
 */
#ifndef SOMA_ERROR_H
#define SOMA_ERROR_H

#include "soma/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the failing call returned. SOMA_INVALID_ARGUMENT of a NULL or wrong handle.
 * @since 1.0  @own none  @threads any  @blocks no  @null err */
SOMA_API soma_code SOMA_CALL soma_error_code(const soma_error* err) SOMA_NOEXCEPT;

/* The reason id, dotted: "gguf.truncated". Ids are listed in ABI.md; a new library may give a
 * failure a new id of the same code, never an old id a new meaning. Ends with a NUL; its length
 * goes to `length`. Empty text of a NULL or wrong handle.
 * @since 1.0  @own borrowed from err  @threads any  @blocks no  @null err length */
SOMA_API const char* SOMA_CALL
soma_error_reason(const soma_error* err, size_t* length) SOMA_NOEXCEPT;

/* The message, safe to show on a terminal. Otherwise like the reason.
 * @since 1.0  @own borrowed from err  @threads any  @blocks no  @null err length */
SOMA_API const char* SOMA_CALL
soma_error_message(const soma_error* err, size_t* length) SOMA_NOEXCEPT;

/* How many details there are.
 * @since 1.0  @own none  @threads any  @blocks no  @null err */
SOMA_API size_t SOMA_CALL soma_error_detail_count(const soma_error* err) SOMA_NOEXCEPT;

/* The key of detail `index`: "tensor", "offset", "expected", "got". Keys may repeat. Empty text if
 * there is no such detail. Ends with a NUL.
 * @since 1.0  @own borrowed from err  @threads any  @blocks no  @null err length */
SOMA_API const char* SOMA_CALL
soma_error_detail_key(const soma_error* err, size_t index, size_t* length) SOMA_NOEXCEPT;

/* The value of detail `index`, likewise.
 * @since 1.0  @own borrowed from err  @threads any  @blocks no  @null err length */
SOMA_API const char* SOMA_CALL
soma_error_detail_value(const soma_error* err, size_t index, size_t* length) SOMA_NOEXCEPT;

/* How many further problems the call found.
 * @since 1.0  @own none  @threads any  @blocks no  @null err */
SOMA_API size_t SOMA_CALL soma_error_other_count(const soma_error* err) SOMA_NOEXCEPT;

/* Further problem `index`, an error like this one; NULL if there is none.
 * @since 1.0  @own borrowed from err  @threads any  @blocks no  @null err */
SOMA_API const soma_error* SOMA_CALL
soma_error_other(const soma_error* err, size_t index) SOMA_NOEXCEPT;

/* All of it as JSON: {"code": 15, "name": "DATA_LOSS", "reason", "message", "details": [{"key",
 * "value"}], "others": [errors]}.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_error_json(const soma_error* err, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* One reference more. A borrowed further problem keeps the whole error alive.
 * @since 1.0  @own none  @threads any  @blocks no  @null err */
SOMA_API void SOMA_CALL soma_error_retain(const soma_error* err) SOMA_NOEXCEPT;

/* One reference less.
 * @since 1.0  @own none  @threads any  @blocks no  @null err */
SOMA_API void SOMA_CALL soma_error_release(const soma_error* err) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
