/* libsoma: compile a graph of work into a plan and run it; open a language model, compile it into
 * a program and run that. The manual starts here.
 *
 * This header includes one header for each noun, in reading order; including it is enough. All of
 * them are C99 and C++98 and need <stddef.h> and <stdint.h> only. What holds for every function is
 * written once, on this page; what a function adds stands above it.
 *
 *   SOMA_OK == soma_runtime_create(SOMA_HEADER_ABI, NULL, &runtime, &error)
 *   SOMA_OK == soma_model_open(runtime, "model.gguf", SOMA_NUL, NULL, NULL, &model, &error)
 *   SOMA_OK == soma_session_create(model, NULL, NULL, &session, &error)
 *   SOMA_OK == soma_sequence_create(session, &sequence, &error)
 *   SOMA_OK == soma_model_tokenize(model, "Once upon", SOMA_NUL, 0, &tokens, &error)
 *   SOMA_OK == soma_sequence_generate(sequence, soma_blob_data(tokens), soma_blob_size(tokens) / 4,
 *                                     NULL, on_token, user, NULL, NULL, &result, &error)
 *   then release all of them, in any order
 *
 *   SOMA_OK == soma_graph_parse(runtime, document, SOMA_NUL, &graph, &error)
 *   SOMA_OK == soma_plan_compile(graph, NULL, &plan, &error)
 *   SOMA_OK == soma_ops_create(runtime, &ops, &error)
 *   SOMA_OK == soma_ops_add(ops, "judge", SOMA_NUL, 0, SOMA_THREAD_ANY, 0, judge, NULL, NULL,
 *                           &error)
 *   SOMA_OK == soma_run_create(plan, ops, NULL, &run, &error)
 *   SOMA_OK == soma_run_execute(run, input, NULL, &value, &error)
 *
 * NOUNS
 *   base       codes, versions, blobs           error      what went wrong, as data
 *   options    settings that describe           runtime    threads, memory, log: the root
 *              themselves                       cancel     stop, deadline, progress
 *   tensor     numbers in memory                model      a file, opened and checked
 *   circuit    what the model computes          fusion     what of it runs together, and where its
 *   program    launches, as data                plan       values live (with buffer plan)
 *   session    a model made ready to run        sequence   tokens that run on a session
 *   value      what flows along edges           graph      work as nodes and edges
 *   plan       in which order nodes run         ops        the code behind them, by name
 *   run        a plan made ready to run         cache      what nodes yielded, for later runs
 *   journal    what runs have done              plan_cache plans of graphs compiled before
 *
 * NAMES. Functions are soma_<noun>_<verb>. Inputs come first, then outputs, then the error.
 * `create`, `open`, `fork` and everything with an `out` handle give you a reference that you
 * release; a returned pointer that is no `out` is borrowed and lives as long as its owner.
 * `soma_<noun>_facts` returns what there is to know about an object as a blob of JSON. Units are
 * part of names: _bytes, _ns, _s.
 *
 * OWNERSHIP. Every object is a handle with an atomic reference count: it is made with one
 * reference, soma_<noun>_retain adds one, soma_<noun>_release takes one away. Both take NULL and
 * do nothing then. Objects keep alive what they are made from, so the order of releases does not
 * matter: a tensor outlives its sequence, a sequence its session, a session its model. Releasing
 * may happen on any thread, also in callbacks and finalizers. Arguments are copied, or used during
 * the call only. Values, graphs and ops go into objects of their own runtime only; with one of
 * another the answer is SOMA_INVALID_ARGUMENT. No memory that one side allocated is ever freed by
 * the other.
 *
 * FAILURE. Every function that can fail returns a soma_code: SOMA_OK, which is 0, or what the
 * caller should do about it. The last parameter, `soma_error** error`, may be NULL; else it
 * receives NULL on success and on failure an error that you release (error.h). An `out` handle is
 * NULL after a failure, other outputs are untouched, and the objects passed in are as they were
 * unless the function says otherwise. A NULL or wrong handle is SOMA_INVALID_ARGUMENT, not a
 * crash; functions that return no code answer it with 0, -1 or empty text. No C++ exception leaves
 * the library. It never ends the process, writes to no file descriptor it did not open, reads no
 * environment, and changes no locale and no signal handler.
 *
 * TEXT is UTF-8 as a pointer and a length in bytes; SOMA_NUL as the length says that it ends with
 * a NUL. Text that is not valid UTF-8 is SOMA_INVALID_ARGUMENT. An empty text may be NULL with
 * length 0. Returned text is borrowed, or a blob, and has a NUL after its last byte.
 *
 * THREADS. A `const soma_x*` parameter may be used by any number of threads at once; a `soma_x*`
 * by one at a time, and by none through a const pointer meanwhile. What does not keep to that is
 * refused with SOMA_FAILED_PRECONDITION where it can be seen: a sequence or cancel object that is
 * in a call. Objects belong to no thread. After fork() the child's calls are refused with
 * SOMA_FAILED_PRECONDITION; the parent goes on. dlclose() is allowed and unloads nothing; a process
 * may exit without releasing anything.
 *
 * BLOCKING functions are tagged: they may take long, and they take a cancel object (cancel.h) by
 * which another thread, a deadline or a tick stops them.
 *
 * CALLBACKS come as three arguments: the function, a `user` pointer it gets, and `destroy(user)`,
 * which may be NULL and is called exactly once after the last call, also when the registering
 * function fails. No lock of the library is held during a callback except where it says so. In a
 * callback you may use any object but those whose call it is: these answer
 * SOMA_FAILED_PRECONDITION. Callbacks that decide whether work goes on must return SOMA_CONTINUE:
 * zero, or whatever an accident returns, stops. A callback must not throw, longjmp or end its
 * thread through the library.
 *
 * OPTIONS are objects (options.h), not structs: a NULL options argument means all defaults. There
 * are two structs: a table of a host's functions (soma_journal_store), and what a probe is told
 * (soma_event). They begin with their size: so they may grow, and who was compiled with a shorter
 * one goes on working.
 *
 * VERSIONS. The ABI is generation.level. The generation is the soname's number; within one,
 * functions, options and constants are only ever added, which raises the level. A program built
 * with level n runs on each library of its generation that has level n or higher; soma_has says
 * what a library has. Promised is what these headers say; not the wording of messages, log
 * lines, figures of speed, or the members that a blob of JSON has beside the documented ones.
 *
 * TAGS under each function, which the bindings are made from:
 *   @since    the level that brought it
 *   @own      the outputs that the caller releases, or whom a returned pointer belongs to
 *   @threads  any: at once from any threads.  one: one thread at a time for its non-const objects
 *   @blocks   no or yes, and the callbacks that it may call
 *   @null     which pointers may be NULL; `error` always may
 */
#ifndef SOMA_SOMA_H
#define SOMA_SOMA_H

#include "soma/base.h"
#include "soma/error.h"
#include "soma/options.h"
#include "soma/runtime.h"
#include "soma/cancel.h"
#include "soma/tensor.h"
#include "soma/model.h"
#include "soma/circuit.h"
#include "soma/fusion_plan.h"
#include "soma/program.h"
#include "soma/session.h"
#include "soma/sequence.h"
#include "soma/value.h"
#include "soma/graph.h"
#include "soma/plan.h"
#include "soma/plan_cache.h"
#include "soma/ops.h"
#include "soma/step.h"
#include "soma/cache.h"
#include "soma/run.h"
#include "soma/journal.h"

#endif
