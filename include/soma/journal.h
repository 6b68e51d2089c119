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
 * another one is at it; one that had ended yields its value and calls nothing. Inputs, results of
 * effects and outputs that are recorded must not be opaque: "journal.opaque". What a step asks for
 * must not change: "journal.divergence". If the journal can't be written, the run fails:
 * "journal.full", "journal.store".
 * @since 1.0  @own none  @threads one  @blocks no  @null journal id error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_run_set_journal(soma_run* run, const soma_journal* journal, const char* id, size_t id_length,
                     soma_error** error) SOMA_NOEXCEPT;

/* All runs, in the order of their ids, as JSON: [{"run", "state": "in_use", "broken" (off: it can
 * be resumed), "waiting", "ended" or "unreadable", "problem" (unreadable), "plan", "input"
 * (digests), "records", "last" (RFC 3339), "waiting": [{"place" ("ask#0.1": the path, then turn and
 * index), "path", "turn", "index", "reason"}]}].
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_journal_list(const soma_journal* journal, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* One run, as JSON lines: first {"run", "plan", "input"}, then each record in order, {"number",
 * "kind": "intent", "result", "failure", "suspension", "answer", "output" or "end", "path", "turn",
 * "index", "effect", "digest", "content", "at" (RFC 3339)}. "journal.not_found", "journal.locked",
 * "journal.corrupt".
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_journal_show(const soma_journal* journal, const char* run, size_t run_length, soma_blob** out,
                  soma_error** error) SOMA_NOEXCEPT;

/* Answers what a run waits for at `path`, or at a place of that path; NULL: at the one place where
 * it waits. The next execution finds the answer, which stays. "journal.not_waiting", also if it
 * waits at several places and none is named;
 * "journal.locked" while an execution is under way.
 * @since 1.0  @own none  @threads any  @blocks no  @null path value error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_journal_answer(const soma_journal* journal, const char* run, size_t run_length,
                    const char* path, size_t path_length, const soma_value* value,
                    soma_error** error) SOMA_NOEXCEPT;

/* The same for the journal and id that soma_run_set_journal gave the run, between two executions.
 * @since 1.0  @own none  @threads one  @blocks no  @null path value error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_run_answer(soma_run* run, const char* path, size_t path_length, const soma_value* value,
                soma_error** error) SOMA_NOEXCEPT;

/* Forgets a run, for good. "journal.not_found", "journal.locked".
 * @since 1.0  @own none  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_journal_remove(const soma_journal* journal, const char* run, size_t run_length,
                    soma_error** error) SOMA_NOEXCEPT;

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
