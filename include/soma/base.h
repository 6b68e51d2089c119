/* Codes, versions, blobs, and the macros every declaration uses.
 *
 * The conventions of all functions are in soma.h.
 */
#ifndef SOMA_BASE_H
#define SOMA_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SOMA_API __attribute__((visibility("default")))
#define SOMA_NODISCARD __attribute__((warn_unused_result))
#else
#define SOMA_API
#define SOMA_NODISCARD
#endif
#define SOMA_CALL
#if defined(__cplusplus) && __cplusplus >= 201103L
#define SOMA_NOEXCEPT noexcept
#else
#define SOMA_NOEXCEPT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* As the length of a text: it ends with a NUL. */
#define SOMA_NUL SIZE_MAX

/* The ABI these headers describe, for soma_runtime_create: generation << 16 | level. */
#define SOMA_HEADER_ABI UINT32_C(0x00010000)

/* Success, or what a caller should do about a failure. The numbers are those of gRPC and absl.
 * A number that you don't know is to be treated like SOMA_UNKNOWN. */
typedef int32_t soma_code;
enum {
  SOMA_OK = 0,
  SOMA_CANCELLED = 1,            /* you asked for it, by a cancel object */
  SOMA_UNKNOWN = 2,
  SOMA_INVALID_ARGUMENT = 3,     /* wrong whatever the state of things: fix the call or the file */
  SOMA_DEADLINE_EXCEEDED = 4,
  SOMA_NOT_FOUND = 5,
  SOMA_ALREADY_EXISTS = 6,
  SOMA_PERMISSION_DENIED = 7,
  SOMA_RESOURCE_EXHAUSTED = 8,   /* memory, the context, the KV pool: make room and retry */
  SOMA_FAILED_PRECONDITION = 9,  /* not in this state: the object is busy, or lacks what is asked */
  SOMA_ABORTED = 10,             /* a callback of yours failed */
  SOMA_OUT_OF_RANGE = 11,
  SOMA_UNIMPLEMENTED = 12,       /* this library can't, others might */
  SOMA_INTERNAL = 13,            /* a bug in libsoma */
  SOMA_UNAVAILABLE = 14,
  SOMA_DATA_LOSS = 15,           /* bytes are missing or damaged */
  SOMA_UNAUTHENTICATED = 16,
  SOMA_INCOMPATIBLE = 18         /* header and library are of different ABI generations */
};

/* Returned by callbacks that decide whether work goes on. Anything else stops it; so a binding in
 * which an exception turns into 0 stops as well. */
enum {
  SOMA_CONTINUE = 0x534F4D41,
  SOMA_STOP = 0x53544F50
};

/* On which thread a callback is called. */
enum {
  SOMA_THREAD_CALLER = 1,  /* on the thread whose call into libsoma causes it, during that call */
  SOMA_THREAD_ANY = 2      /* also on the library's own threads, several at once */
};

/* The last call to a callback's `user`; see CALLBACKS in soma.h. */
typedef void (SOMA_CALL* soma_destroy_fn)(void* user);

typedef struct soma_error soma_error;

/* Bytes that the library made: text, JSON, token ids. Immutable. */
typedef struct soma_blob soma_blob;

/* The bytes; aligned for any number; the byte after the last is a NUL, whatever the content.
 * Never NULL: of a NULL or wrong handle, the empty text.
 * @since 1.0  @own borrowed from blob  @threads any  @blocks no  @null blob */
SOMA_API const void* SOMA_CALL soma_blob_data(const soma_blob* blob) SOMA_NOEXCEPT;

/* Their number, without the NUL. 0 of a NULL or wrong handle.
 * @since 1.0  @own none  @threads any  @blocks no  @null blob */
SOMA_API size_t SOMA_CALL soma_blob_size(const soma_blob* blob) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null blob */
SOMA_API void SOMA_CALL soma_blob_retain(const soma_blob* blob) SOMA_NOEXCEPT;

/* One reference less; with the last one the bytes go.
 * @since 1.0  @own none  @threads any  @blocks no  @null blob */
SOMA_API void SOMA_CALL soma_blob_release(const soma_blob* blob) SOMA_NOEXCEPT;

/* The ABI of the library at hand: generation << 16 | level. Compare it with >= within a
 * generation, never with ==.
 * @since 1.0  @own none  @threads any  @blocks no  @null none */
SOMA_API uint32_t SOMA_CALL soma_abi_version(void) SOMA_NOEXCEPT;

/* The product's version, "0.1.0"; says nothing about the ABI.
 * @since 1.0  @own borrowed from the library  @threads any  @blocks no  @null none */
SOMA_API const char* SOMA_CALL soma_version_string(void) SOMA_NOEXCEPT;

/* How this library was made and what it can do, as JSON: "version", "abi" ("1.0"), "compiler",
 * "kernel_sets" (an array of {"name", "available"}: available says whether this machine can run
 * it), "formats" (an array of {"name", "weight", "edge", "kv"}), "libraries" (name to version).
 * Probes the processor; allocates with malloc.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_build_info(soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* 1 if this library has what is named, else 0; absence is a normal answer. Names are those of
 * functions ("soma_model_open"), options ("option.session.context"), kernel sets it was built with
 * ("kernels.avx2") and weight formats that it computes with ("format.q4_1").
 * @since 1.0  @own none  @threads any  @blocks no  @null name */
SOMA_API int32_t SOMA_CALL soma_has(const char* name, size_t name_length) SOMA_NOEXCEPT;

/* The name of a code, "INVALID_ARGUMENT"; "UNKNOWN" for a number that is none.
 * @since 1.0  @own borrowed from the library  @threads any  @blocks no  @null none */
SOMA_API const char* SOMA_CALL soma_code_name(soma_code code) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
