/* Journals: what a run has done, kept so that it need not be done again.
 *
 * A run with a journal announces each effect there before it begins and records what came of it, as
 * it does with the output of nodes that are not deterministic. A run that was broken off, by a
 * crash or on purpose, and is executed again under the same id finds all that there: no completed
 * effect is performed twice, and none is lost. One that was announced and of which nothing is known
 * is in doubt: its policy decides (SOMA_IN_DOUBT_*). A run id belongs to one plan and one input.
 *
 * What goes wrong within a node, "journal.in_doubt", "journal.divergence", "journal.opaque", is its
 * failure: the error's reason is "run.node_failed", and its detail "cause" is that reason.
 */
#ifndef SOMA_JOURNAL_H
#define SOMA_JOURNAL_H

#include "soma/base.h"
#include "soma/run.h"
#include "soma/value.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soma_journal soma_journal;

/* The journals in a folder, one file for each run; the folder is made if it is missing. The format
 * stands in src/journal/format.md; records are durable when they count. After a crash a file with
 * "-wal" at its end belongs to a journal: who copies or moves one takes both, and damage that cuts
 * off its last records is not noticed. "journal.store".
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_journal_open(const soma_runtime* runtime, const char* folder, size_t folder_length,
                  soma_journal** out, soma_error** error) SOMA_NOEXCEPT;

/* Journals in memory, which go with the object: for tests, and for runs that wait for answers but
 * need not outlive their process.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_journal_create(const soma_runtime* runtime, soma_journal** out,
                    soma_error** error) SOMA_NOEXCEPT;

/* From the next execution on, the run is the one called `id` in the journal: 1 to 200 bytes of
 * UTF-8 without control characters. NULL: none; its id may be NULL then. An execution takes up what
 * is there, "journal.other_plan" if that is of another plan or input, "journal.locked" while
 * another one is at it (after half a second: so long what a killed process was just starting may
 * hold the lock); one that had ended yields its value and calls nothing. Inputs, results of
 * effects and outputs that are recorded must not be opaque: "journal.opaque". What a step asks for
 * must not change: "journal.divergence". If the journal can't be written, the run fails, for
 * "journal.full", "journal.store" or "journal.locked": where that happens in a node, as
 * "run.node_failed" with that reason as the detail "cause".
 * @since 1.0  @own none  @threads one  @blocks no  @null journal id error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_run_set_journal(soma_run* run, const soma_journal* journal, const char* id, size_t id_length,
                     soma_error** error) SOMA_NOEXCEPT;

/* All runs, in the order of their ids, as JSON: [{"run", "state": "in_use", "broken" (off: it can
 * be resumed), "waiting", "ended" or "unreadable", "problem" (unreadable), "plan", "input"
 * (digests), "records", "last" (RFC 3339), "waiting": [{"place" ("ask#0.1": the path, then turn and
 * index), "path", "turn", "index", "reason"}]}].
 * @since 1.0  @own out  @threads any  @blocks no journal  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_journal_list(const soma_journal* journal, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* One run, as JSON lines: first {"run", "plan", "input"}, then each record in order, {"number",
 * "kind": "intent", "result", "failure", "suspension", "answer", "output" or "end", "path", "turn",
 * "index", "effect", "digest", "content", "at" (RFC 3339)}. "journal.not_found", "journal.locked",
 * "journal.corrupt".
 * @since 1.0  @own out  @threads any  @blocks no journal  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_journal_show(const soma_journal* journal, const char* run, size_t run_length, soma_blob** out,
                  soma_error** error) SOMA_NOEXCEPT;

/* Answers what a run waits for at `path`, or at a place of that path; NULL: at the one place where
 * it waits. The next execution finds the answer, which stays. "journal.not_waiting", also if it
 * waits at several places and none is named;
 * "journal.locked" while an execution is under way.
 * @since 1.0  @own none  @threads any  @blocks no journal  @null path value error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_journal_answer(const soma_journal* journal, const char* run, size_t run_length,
                    const char* path, size_t path_length, const soma_value* value,
                    soma_error** error) SOMA_NOEXCEPT;

/* The same for the journal and id that soma_run_set_journal gave the run, between two executions.
 * @since 1.0  @own none  @threads one  @blocks no journal  @null path value error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_run_answer(soma_run* run, const char* path, size_t path_length, const soma_value* value,
                soma_error** error) SOMA_NOEXCEPT;

/* Forgets a run, for good. "journal.not_found", "journal.locked".
 * @since 1.0  @own none  @threads any  @blocks no journal  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_journal_remove(const soma_journal* journal, const char* run, size_t run_length,
                    soma_error** error) SOMA_NOEXCEPT;

/* ---- Journals that the host keeps ----------------------------------------------------------- *
 *
 * A host with a database of its own keeps journals there. For each run it keeps a row of entries,
 * numbered from 0: bytes that it neither reads nor changes (their form is in src/journal/format.md,
 * for who wants to look). An entry holds what has to become durable together, so a host that stores
 * a piece of bytes whole or not at all stores all of it right. What it gives back is not believed:
 * entries that are changed, missing in the middle, doubled, in another order or another run's are
 * "journal.corrupt", or "journal.version" if what was changed says how to read the rest. Entries
 * that are lost at the end, though, are not missed.
 *
 * The host's functions are called on threads that execute, answer or look at runs, and on one of
 * the library's own, which writes for effects; for one run one call at a time, for several at once.
 * They return SOMA_CONTINUE; anything else is a failure, and soma_journal_reply_fail says which. An
 * append that failed ends the execution, and nothing is appended after it: the next one loads what
 * is there. They must not call the journal or the run; no lock of the library is held.
 */

/* Where a function of a host's journal says what it has. Good until the function returns. */
typedef struct soma_journal_reply soma_journal_reply;

/* Gives a run's entries in their order, each by soma_journal_reply_add; of a run that it does not
 * have, none. Asked for two or three times where a run is used: once for the first entry alone. */
typedef int32_t (SOMA_CALL* soma_journal_load_fn)(void* user, const char* run, size_t run_length,
                                                  soma_journal_reply* reply);

/* Keeps one entry more; durable when it returns, whole or not at all. If the run has an entry of
 * that number already, or lacks the one before it, another process writes to the same run: it must
 * refuse with SOMA_ALREADY_EXISTS. That keeps the journal whole, and ends one of the two; but it
 * comes too late for an effect that both have begun: see soma_journal_lock_fn. */
typedef int32_t (SOMA_CALL* soma_journal_append_fn)(void* user, const char* run, size_t run_length,
                                                    uint64_t number, const void* entry,
                                                    size_t entry_size, soma_journal_reply* reply);

/* Gives the ids of all runs in any order, each by soma_journal_reply_add. */
typedef int32_t (SOMA_CALL* soma_journal_list_fn)(void* user, soma_journal_reply* reply);

/* Forgets all entries of a run, for good. */
typedef int32_t (SOMA_CALL* soma_journal_remove_fn)(void* user, const char* run, size_t run_length,
                                                    soma_journal_reply* reply);

/* Lets this journal object alone use a run, until soma_journal_unlock_fn. It is called before all
 * others of a run, when that is executed, answered, shown, summed up in a list or removed. If
 * another process or journal object is at it, it refuses with SOMA_ALREADY_EXISTS, at once:
 * "journal.locked". A lock must not outlive its process, or nobody could go on with the run: a
 * database's lock that goes with the connection, a lease that is renewed. */
typedef int32_t (SOMA_CALL* soma_journal_lock_fn)(void* user, const char* run, size_t run_length,
                                                  soma_journal_reply* reply);

/* Ends that, once for each lock that was granted; it can't fail. */
typedef void (SOMA_CALL* soma_journal_unlock_fn)(void* user, const char* run, size_t run_length);

/* A host's functions. Later levels may add members at the end; those that a host does not know are
 * missing by its struct_size, and that is fine. */
typedef struct soma_journal_store {
  uint32_t struct_size;           /* sizeof(soma_journal_store) */
  uint32_t reserved;              /* 0 */
  soma_journal_load_fn load;
  soma_journal_append_fn append;
  soma_journal_list_fn list;      /* NULL: soma_journal_list fails, "journal.store" */
  soma_journal_remove_fn remove;  /* NULL: soma_journal_remove fails, "journal.store" */
  soma_journal_lock_fn lock;      /* NULL, with unlock: that two processes or two journal objects
                                   * don't start the same run is the host's business */
  soma_journal_unlock_fn unlock;
} soma_journal_store;

/* Journals that the host keeps; the table is copied. `destroy` is called after the last call of any
 * of its functions, when the journal goes. "argument.struct_size" for a table that is smaller than
 * that of the first level, or has members that this library does not know.
 * @since 1.0  @own out  @threads any  @blocks no  @null user destroy error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_journal_create_hosted(const soma_runtime* runtime, const soma_journal_store* store, void* user,
                           soma_destroy_fn destroy, soma_journal** out,
                           soma_error** error) SOMA_NOEXCEPT;

/* In soma_journal_load_fn, one entry more; in soma_journal_list_fn, one run's id more. The bytes
 * are read before it returns. 1, or 0 if no more is wanted: then the function returns, with
 * SOMA_CONTINUE. In another function 0, and nothing happens.
 * @since 1.0  @own none  @threads one  @blocks no  @null bytes */
SOMA_API int32_t SOMA_CALL
soma_journal_reply_add(soma_journal_reply* reply, const void* bytes, size_t size) SOMA_NOEXCEPT;

/* Why the function fails, whatever it returns. `code` decides the reason: SOMA_RESOURCE_EXHAUSTED
 * is "journal.full", SOMA_ALREADY_EXISTS "journal.locked", all else "journal.store".
 * @since 1.0  @own none  @threads one  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_journal_reply_fail(soma_journal_reply* reply, soma_code code, const char* message,
                        size_t message_length, soma_error** error) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null journal */
SOMA_API void SOMA_CALL soma_journal_retain(const soma_journal* journal) SOMA_NOEXCEPT;

/* One reference less.
 * @since 1.0  @own none  @threads any  @blocks no  @null journal */
SOMA_API void SOMA_CALL soma_journal_release(const soma_journal* journal) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
