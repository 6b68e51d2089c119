/* Runs: a plan with the code of its nodes, made ready to be executed any number of times.
 *
 * A run serves one execution at a time; the plan and the ops may serve many runs at once. All that
 * a run needs is made when it is created.
 */
#ifndef SOMA_RUN_H
#define SOMA_RUN_H

#include "soma/base.h"
#include "soma/cache.h"
#include "soma/cancel.h"
#include "soma/ops.h"
#include "soma/options.h"
#include "soma/plan.h"
#include "soma/value.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soma_run soma_run;

/* Binds the plan's ops. `options` is of kind "run". "run.unbound_op" names all ops that have no
 * function and all models that have no session, "run.program" what a session can't do for its
 * nodes, "run.unsupported" and "run.no_transport" what this library can't run.
 * @since 1.0  @own out  @threads any  @blocks no  @null options error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_run_create(const soma_plan* plan, const soma_ops* ops, const soma_options* options,
                soma_run** out, soma_error** error) SOMA_NOEXCEPT;

/* Runs the plan from its beginning to its end, and yields its value. A NULL input is null. The
 * error of a failed node has its id and path as details "node" and "path", and does not depend on
 * timing: "run.node_failed", "run.exception", "run.no_arm", "run.signal", "run.predicate",
 * "run.input"; "cancelled", "deadline"; "run.suspended", if a step waits for an answer and nothing
 * else is left to do (soma/journal.h). The tick's phase is "run", in nodes.
 * @since 1.0  @own out  @threads one  @blocks yes tick node step effect event probe journal
 * @null input cancel error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_run_execute(soma_run* run, const soma_value* input, soma_cancel* cancel, soma_value** out,
                 soma_error** error) SOMA_NOEXCEPT;

/* Begins an execution that soma_run_step drives: for hosts with a loop of their own. Nothing is
 * called yet. A NULL input is null. The execution uses `cancel`, which it keeps alive, until it
 * ends; the tick comes during steps.
 * @since 1.0  @own none  @threads one  @blocks no event probe journal
 * @null input cancel error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_run_start(soma_run* run, const soma_value* input, soma_cancel* cancel,
               soma_error** error) SOMA_NOEXCEPT;

/* Goes on for about `budget_ns` nanoseconds, always up to the end of a node, on this thread alone
 * but for branches that wait for each other, which take as long as they do. `out` is NULL as long
 * as there is more to do, and the plan's value once it is done; after a failure the execution is
 * over too.
 * @since 1.0  @own out  @threads one  @blocks no tick node step effect event probe journal
 * @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_run_step(soma_run* run, int64_t budget_ns, soma_value** out, soma_error** error) SOMA_NOEXCEPT;

/* The gradient of the input of the last execution, from that of what it yielded: of several leaves
 * a map by their ids. Null is zero, in and out. For plans of mode "differentiable", of which a run
 * keeps what nodes with a vjp read and yielded, by reference, until the next execution begins, the
 * run is abandoned or goes; so it may be asked any number of times. Gradients of a value with
 * several readers add up. Nodes that are not declared as differentiable, and steps, let none
 * through (the compiler warns of them: "gradient.cut").
 *
 * "run.no_gradient" if there is nothing to go back along, and of all nodes at once that a gradient
 * reaches and whose op has no vjp; "run.gradient" if two gradients can't be added, or one has no
 * place; of a vjp that fails, what soma_run_execute says of nodes. The tick's phase is "backward",
 * in runs of nodes that have a vjp. Linear in what ran.
 * @since 1.0  @own out  @threads one  @blocks yes tick node  @null gradient cancel error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_run_backward(soma_run* run, const soma_value* gradient, soma_cancel* cancel, soma_value** out,
                  soma_error** error) SOMA_NOEXCEPT;

/* Ends an execution that soma_run_start began, in the middle and for good: its values and its
 * cancel object are let go of, and what came of the effects that it waits for is not asked. Waits
 * only for functions that are running on other threads, which are told to stop. Fine if nothing has
 * been started; also lets go of what the last execution keeps for soma_run_backward.
 * @since 1.0  @own none  @threads one  @blocks no event probe  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_run_abandon(soma_run* run, soma_error** error) SOMA_NOEXCEPT;

/* One thing that happened, as one line of JSON: "event" ("run_started", "node_started",
 * "node_finished", "node_failed", "node_suspended", "effect_started", "effect_finished",
 * "effect_failed", "chunk_started", "chunk_finished", "pass_finished", "arm_chosen",
 * "run_finished", "run_failed", "run_suspended"; between a node's start and its end "cache_hit" and
 * "cache_miss", with the "key" to pin it by, "node_skipped", "cache_failed" (its value could not be
 * written); or "lost" and nothing else, if there was no memory to say what happened), "at_ns"
 * (monotonic), and as they apply "node", "path" ("refine[3]/judge": with the passes of loops around
 * it), "pass", "ended" ("no", "by_signal", "by_bound"), "chunk" and "chunks" (of a stream, counted
 * from 0, and how many), "arm" (in the plan's order), "effect", "turn", "key", "thread" (0: the one
 * that waits for the run; who helps has a number that no other has meanwhile), "done" and "total"
 * (nodes), "eta_ns", "code", "message".
 *
 * "eta_ns" says in about how many nanoseconds the run will have ended. It is there only if
 * something is known of all that is left: what nodes declare as "cost_us", or how long the same
 * node, or its op, took before in this run. A loop that a signal ends makes it unknown, and so does
 * a node that takes more than twice as long as it should.
 *
 * Called where it happens, one call at a time; it must not call libsoma but for retain and
 * release. An event takes up to two microseconds: who wants less of them, sooner, uses a probe. */
typedef void (SOMA_CALL* soma_event_fn)(void* user, const char* event, size_t event_length);

/* Who is told what happens, from the next execution on; NULL: nobody.
 * @since 1.0  @own none  @threads one  @blocks no  @null observe user destroy error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_run_set_observer(soma_run* run, soma_event_fn observe, void* user, soma_destroy_fn destroy,
                      soma_error** error) SOMA_NOEXCEPT;

/* The kinds of events, for probes. Ignore those that you don't know. */
enum {
  SOMA_EVENT_RUN_STARTED = 1,
  SOMA_EVENT_RUN_FINISHED = 2,
  SOMA_EVENT_RUN_FAILED = 3,       /* reason, message */
  SOMA_EVENT_RUN_SUSPENDED = 4,    /* reason, message: what it waits for */
  SOMA_EVENT_NODE_STARTED = 5,
  SOMA_EVENT_NODE_FINISHED = 6,
  SOMA_EVENT_NODE_FAILED = 7,      /* reason, message */
  SOMA_EVENT_NODE_SUSPENDED = 8,   /* reason, message */
  SOMA_EVENT_EFFECT_STARTED = 9,   /* name, number: the turn */
  SOMA_EVENT_EFFECT_FINISHED = 10, /* name, number: the turn */
  SOMA_EVENT_EFFECT_FAILED = 11,   /* name, number: the turn; reason, message */
  SOMA_EVENT_CHUNK_STARTED = 12,   /* number: the chunk, from 0; count: how many there are */
  SOMA_EVENT_CHUNK_FINISHED = 13,  /* number: the chunk, from 0; count: how many there are */
  SOMA_EVENT_PASS_FINISHED = 14,   /* number: the pass, from 1; count: 0 if there is another, 1 if
                                    * the signal has ended the loop, 2 if its bound has */
  SOMA_EVENT_ARM_CHOSEN = 15,      /* number: the arm, in the plan's order */
  SOMA_EVENT_CACHE_HIT = 16,       /* name: the key */
  SOMA_EVENT_CACHE_MISS = 17,      /* name: the key */
  SOMA_EVENT_NODE_SKIPPED = 18,
  SOMA_EVENT_CACHE_FAILED = 19     /* name: the key; reason, message */
};

/* One thing that happened, as numbers and texts. What a kind does not use is 0 or empty, not NULL;
 * texts have a length and no NUL behind them, and live until the probe returns. A library of a
 * newer level may have further members behind these, and says so by the size; what is there stays
 * where it is. */
typedef struct soma_event {
  uint32_t struct_size;            /* as the library has it */
  int32_t kind;                    /* one of the above */
  int64_t at_ns;                   /* monotonic; two threads' times agree to about 100 ns */
  uint32_t node;                   /* in the plan's order; UINT32_MAX: the run itself */
  uint32_t thread;                 /* as in events of observers */
  const char* id;                  /* of the node */
  size_t id_length;
  const char* path;                /* "refine[3]/judge": with the passes of loops around it */
  size_t path_length;
  uint64_t number, count;
  const char* name;
  size_t name_length;
  const char* reason;              /* of a failure: the id, as in soma_error_reason */
  size_t reason_length;
  const char* message;
  size_t message_length;
} soma_event;

/* Is told one event, on the thread on which it happens, of several threads at once. For profilers
 * and traces: it costs a run what the function itself takes, and some 30 ns a node. So it has none
 * of what an observer's event says of the whole run ("done", "total", "eta_ns"). When a node begins
 * right after another on its thread, both events have one time. The function should be quick, and
 * must not call libsoma but for retain, release and soma_cancel_request. */
typedef void (SOMA_CALL* soma_probe_fn)(void* user, const soma_event* event);

/* Who is told all events as they happen, from the next execution on, beside the observer or
 * without one; NULL: nobody.
 * @since 1.0  @own none  @threads one  @blocks no  @null probe user destroy error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_run_set_probe(soma_run* run, soma_probe_fn probe, void* user, soma_destroy_fn destroy,
                   soma_error** error) SOMA_NOEXCEPT;

/* What values come from and go to, from the next execution on; NULL: nothing, as at first. The run
 * keeps the cache. Beginning an execution then looks through it, and so may read files. If
 * something cacheable depends on nodes of kind "program", their models' files are read here, each
 * once.
 * @since 1.0  @own none  @threads one  @blocks no  @null cache error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_run_set_cache(soma_run* run, const soma_cache* cache, soma_error** error) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null run */
SOMA_API void SOMA_CALL soma_run_retain(const soma_run* run) SOMA_NOEXCEPT;

/* One reference less.
 * @since 1.0  @own none  @threads any  @blocks no  @null run */
SOMA_API void SOMA_CALL soma_run_release(const soma_run* run) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
