/* Values: what flows along the edges of a graph.
 *
 * A value is null, a bool, an integer, a number, a text, bytes, a list, a map or an opaque pointer
 * of the host's. Values are immutable and shared: whoever keeps one keeps the same content that all
 * others see, and lists and maps share their members. Integers have 64 bits and equal numbers of
 * the same worth; maps keep the order of their members.
 */
#ifndef SOMA_VALUE_H
#define SOMA_VALUE_H

#include "soma/base.h"
#include "soma/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soma_value soma_value;

enum {
  SOMA_VALUE_NULL = 0,
  SOMA_VALUE_BOOL = 1,
  SOMA_VALUE_INTEGER = 2,
  SOMA_VALUE_NUMBER = 3,
  SOMA_VALUE_TEXT = 4,
  SOMA_VALUE_BYTES = 5,
  SOMA_VALUE_LIST = 6,
  SOMA_VALUE_MAP = 7,
  SOMA_VALUE_OPAQUE = 8
};

/* From JSON ("null" for null), strictly: no key twice in an object. A number without a fraction,
 * within 2^53, is an integer. "document.syntax", "document.duplicate_key", "document.limit".
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_value_parse(const soma_runtime* runtime, const char* json, size_t json_length,
                 soma_value** out, soma_error** error) SOMA_NOEXCEPT;

/* As JSON, in one line. Bytes become {"bytes":"base64"}, integers beyond 2^53 text. "value.no_json"
 * for an opaque value, a number that is not finite, or a text with the character NUL (which nothing
 * that reads JSON here takes), anywhere in it.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_value_json(const soma_value* value, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* Null.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_value_of_null(const soma_runtime* runtime, soma_value** out, soma_error** error) SOMA_NOEXCEPT;

/* A bool: 0 is false, anything else true.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_value_of_bool(const soma_runtime* runtime, int32_t truth, soma_value** out,
                   soma_error** error) SOMA_NOEXCEPT;

/* An integer.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_value_of_int(const soma_runtime* runtime, int64_t integer, soma_value** out,
                  soma_error** error) SOMA_NOEXCEPT;

/* A number, NaN and infinities too.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_value_of_double(const soma_runtime* runtime, double number, soma_value** out,
                     soma_error** error) SOMA_NOEXCEPT;

/* A text, copied.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_value_of_text(const soma_runtime* runtime, const char* text, size_t text_length,
                   soma_value** out, soma_error** error) SOMA_NOEXCEPT;

/* Bytes, copied.
 * @since 1.0  @own out  @threads any  @blocks no  @null bytes error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_value_of_bytes(const soma_runtime* runtime, const void* bytes, size_t size, soma_value** out,
                    soma_error** error) SOMA_NOEXCEPT;

/* A list of `count` values, which stay yours.
 * @since 1.0  @own out  @threads any  @blocks no  @null values error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_value_of_list(const soma_runtime* runtime, const soma_value* const* values, size_t count,
                   soma_value** out, soma_error** error) SOMA_NOEXCEPT;

/* A map of `count` members in this order: keys[i], each of which ends with a NUL, with values[i],
 * which stay yours. "document.duplicate_key" for a key that comes twice.
 * @since 1.0  @own out  @threads any  @blocks no  @null keys values error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_value_of_map(const soma_runtime* runtime, const char* const* keys,
                  const soma_value* const* values, size_t count, soma_value** out,
                  soma_error** error) SOMA_NOEXCEPT;

/* Something of yours, which goes through a graph as it is: nothing else looks into it, and it has
 * no form in documents or caches. `destroy` is called once, when the last reference to it goes, on
 * whatever thread that is.
 * @since 1.0  @own out  @threads any  @blocks no  @null object destroy error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_value_of_opaque(const soma_runtime* runtime, void* object, soma_destroy_fn destroy,
                     soma_value** out, soma_error** error) SOMA_NOEXCEPT;

/* A SOMA_VALUE_* number; -1 of a NULL or wrong handle.
 * @since 1.0  @own none  @threads any  @blocks no  @null value */
SOMA_API int32_t SOMA_CALL soma_value_kind(const soma_value* value) SOMA_NOEXCEPT;

/* The worth of a bool (0 or 1) or an integer. "value.kind" for others.
 * @since 1.0  @own none  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_value_int(const soma_value* value, int64_t* out, soma_error** error) SOMA_NOEXCEPT;

/* The worth of a number or an integer, the latter rounded beyond 2^53. "value.kind" for others.
 * @since 1.0  @own none  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_value_double(const soma_value* value, double* out, soma_error** error) SOMA_NOEXCEPT;

/* What a text says, or the bytes: as long as the value lives, a NUL after the last byte of a text.
 * Empty, never NULL, of other kinds and of NULL or wrong handles.
 * @since 1.0  @own borrowed from value  @threads any  @blocks no  @null value */
SOMA_API const void* SOMA_CALL soma_value_data(const soma_value* value) SOMA_NOEXCEPT;

/* Bytes of a text (without the NUL) or of bytes; members of a list or a map; otherwise 0.
 * @since 1.0  @own none  @threads any  @blocks no  @null value */
SOMA_API size_t SOMA_CALL soma_value_size(const soma_value* value) SOMA_NOEXCEPT;

/* Member `index` of a list or a map, 0 to size - 1.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_value_at(const soma_value* value, size_t index, soma_value** out,
              soma_error** error) SOMA_NOEXCEPT;

/* The key of member `index` of a map; NULL if there is none.
 * @since 1.0  @own borrowed from value  @threads any  @blocks no  @null value */
SOMA_API const char* SOMA_CALL soma_value_key(const soma_value* value, size_t index) SOMA_NOEXCEPT;

/* The member of a map with a key. SOMA_NOT_FOUND ("value.member") if there is none.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_value_get(const soma_value* value, const char* key, size_t key_length, soma_value** out,
               soma_error** error) SOMA_NOEXCEPT;

/* The pointer in an opaque value; NULL of others.
 * @since 1.0  @own borrowed from value  @threads any  @blocks no  @null value */
SOMA_API void* SOMA_CALL soma_value_opaque(const soma_value* value) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null value */
SOMA_API void SOMA_CALL soma_value_retain(const soma_value* value) SOMA_NOEXCEPT;

/* One reference less.
 * @since 1.0  @own none  @threads any  @blocks no  @null value */
SOMA_API void SOMA_CALL soma_value_release(const soma_value* value) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
