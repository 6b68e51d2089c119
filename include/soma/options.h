/* Options: settings by key, which describe themselves.
 *
 * An options object is of a kind, which says which keys it has:
 *
 *   "runtime"   threads, isa, amx; and the allocator and the log
 *   "model"     load
 *   "session"   context, sequences, prefill_rows, policy
 *   "generate"  tokens, temperature, top_k, top_p, min_p, repetition_penalty, penalty_window,
 *               seed, stream, ignore_end
 *   "plan"      mode, rows, policy, rules (of fusion plans)
 *   "compile"   mode, chunk, parallelize_dag
 *   "run"       threads, launch, remote
 *   "cache"     memory_bytes, disk_bytes
 *   "plan_cache"  plans, memory_bytes
 *
 * soma_options_describe gives each key's type, default, range and meaning; ABI.md lists them. A
 * key that does not exist is SOMA_NOT_FOUND, a value of the wrong type SOMA_INVALID_ARGUMENT, one
 * out of range SOMA_OUT_OF_RANGE; the message says what is allowed. Functions read an options
 * object during the call and keep nothing of it, so one object serves any number of calls. Options
 * use malloc: they exist before the runtime does.
 */
#ifndef SOMA_OPTIONS_H
#define SOMA_OPTIONS_H

#include "soma/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soma_options soma_options;

/* All keys of `kind` at their defaults. SOMA_NOT_FOUND if there is no such kind.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_options_create(const char* kind, size_t kind_length, soma_options** out,
                    soma_error** error) SOMA_NOEXCEPT;

/* Sets a key of type "int", or of type "bool" (0 or 1).
 * @since 1.0  @own none  @threads one  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_options_set_int(soma_options* options, const char* key, size_t key_length, int64_t value,
                     soma_error** error) SOMA_NOEXCEPT;

/* Sets a key of type "double". NaN is out of range.
 * @since 1.0  @own none  @threads one  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_options_set_double(soma_options* options, const char* key, size_t key_length, double value,
                        soma_error** error) SOMA_NOEXCEPT;

/* Sets a key of type "text"; the text is copied.
 * @since 1.0  @own none  @threads one  @blocks no  @null value error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_options_set_text(soma_options* options, const char* key, size_t key_length,
                      const char* value, size_t value_length, soma_error** error) SOMA_NOEXCEPT;

/* Sets a key from text, whatever its type: "4096", "0.8", "true", "fast". For command lines and
 * configuration files; numbers are read the same way in every locale.
 * @since 1.0  @own none  @threads one  @blocks no  @null value error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_options_parse(soma_options* options, const char* key, size_t key_length, const char* value,
                   size_t value_length, soma_error** error) SOMA_NOEXCEPT;

/* The value of a key of type "int" or "bool": as set, else its default.
 * @since 1.0  @own none  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_options_get_int(const soma_options* options, const char* key, size_t key_length, int64_t* out,
                     soma_error** error) SOMA_NOEXCEPT;

/* The value of a key of type "double".
 * @since 1.0  @own none  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_options_get_double(const soma_options* options, const char* key, size_t key_length,
                        double* out, soma_error** error) SOMA_NOEXCEPT;

/* The value of a key of type "text".
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_options_get_text(const soma_options* options, const char* key, size_t key_length,
                      soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* How many keys this kind has. 0 of a NULL or wrong handle.
 * @since 1.0  @own none  @threads any  @blocks no  @null options */
SOMA_API size_t SOMA_CALL soma_options_count(const soma_options* options) SOMA_NOEXCEPT;

/* Key `index`, 0 to count - 1, as JSON: "name", "type" ("int", "bool", "double", "text"),
 * "default", "value", "since" ("1.0"), "text" (one sentence), and for numbers "minimum" and
 * "maximum", for texts of a closed set "choices".
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_options_describe(const soma_options* options, size_t index, soma_blob** out,
                      soma_error** error) SOMA_NOEXCEPT;

/* `size` bytes, at least 1, aligned to `alignment`, a power of two; NULL if there are none. Called
 * on any thread, several at once; it must not call libsoma. */
typedef void* (SOMA_CALL* soma_alloc_fn)(void* user, size_t size, size_t alignment);

/* Takes back what soma_alloc_fn gave, with the same size and alignment. */
typedef void (SOMA_CALL* soma_free_fn)(void* user, void* memory, size_t size, size_t alignment);

/* Kind "runtime" only: where all memory of the runtimes made with these options comes from, but for
 * mappings (files, weights, KV memory), thread stacks, options, errors, and what SQLite holds while
 * a journal is open. When it returns NULL, the call that needed memory fails with
 * SOMA_RESOURCE_EXHAUSTED. `destroy` is called when the options and the last runtime made with them
 * are gone. Two NULL functions: malloc.
 * @since 1.0  @own none  @threads one  @blocks no  @null alloc dealloc user destroy error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_options_set_allocator(soma_options* options, soma_alloc_fn alloc, soma_free_fn dealloc,
                           void* user, soma_destroy_fn destroy, soma_error** error) SOMA_NOEXCEPT;

/* What a log record is about; a mask holds any of them. */
enum {
  SOMA_LOG_WARNING = 1,  /* something works less well than it could: tiles refused */
  SOMA_LOG_INFO = 2,     /* a model opened, a session made, the kernel set chosen */
  SOMA_LOG_DEBUG = 4
};

/* One record: one line of UTF-8 without a newline; `text` is valid during the call only. It must
 * not call libsoma but for retain and release. */
typedef void (SOMA_CALL* soma_log_fn)(void* user, int32_t level, const char* text, size_t length);

/* Kind "runtime" only: who gets log records of the levels in `mask` (a sum of SOMA_LOG_*), on which
 * thread (SOMA_THREAD_CALLER or SOMA_THREAD_ANY). Without it they are dropped. A NULL `log`: none.
 * @since 1.0  @own none  @threads one  @blocks no  @null log user destroy error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_options_set_log(soma_options* options, uint64_t mask, int32_t thread, soma_log_fn log,
                     void* user, soma_destroy_fn destroy, soma_error** error) SOMA_NOEXCEPT;

/* A piece of work for a host's thread; it does not throw. */
typedef void (SOMA_CALL* soma_task_fn)(void* argument);

/* Has a thread of the host's call task(argument), once and soon: another thread than this one,
 * which may be any. It must not call libsoma. */
typedef void (SOMA_CALL* soma_submit_fn)(void* user, soma_task_fn task, void* argument);

/* Kind "runtime" only: whose threads lend a hand to runs of graphs (models keep their own team),
 * `parallelism` of them at the same time, 0 to 1023; the thread that waits for a run is one more.
 * No branch gets a thread beyond that, so "run.threads" refuses plans with more branches that may
 * wait for each other. The runtime's last release waits for tasks that were submitted, so it must
 * not come from one. `destroy` as for soma_options_set_allocator. A NULL `submit`: threads of the
 * library's own, as many as the option "threads" says.
 * @since 1.0  @own none  @threads one  @blocks no  @null submit user destroy error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_options_set_pool(soma_options* options, soma_submit_fn submit, int32_t parallelism, void* user,
                      soma_destroy_fn destroy, soma_error** error) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null options */
SOMA_API void SOMA_CALL soma_options_retain(const soma_options* options) SOMA_NOEXCEPT;

/* One reference less.
 * @since 1.0  @own none  @threads any  @blocks no  @null options */
SOMA_API void SOMA_CALL soma_options_release(const soma_options* options) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
