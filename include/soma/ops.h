/* Ops: the code behind a plan's nodes, by name.
 *
 * An ops object holds the built-in ops ("std.identity", "std.const", "std.add", "std.sum",
 * "std.concat", "std.get", "std.test", "std.format", "std.sleep", "std.fail") and what you add. A
 * node's function gets a call object, which is valid until the function returns: it reads the
 * node's input, sets its output, or says why there is none. An op may have more functions: one that
 * prepares its state, and its vjp, for gradients.
 */
#ifndef SOMA_OPS_H
#define SOMA_OPS_H

#include "soma/base.h"
#include "soma/session.h"
#include "soma/value.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soma_ops soma_ops;
typedef struct soma_call soma_call;

/* With the built-in ops.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_ops_create(const soma_runtime* runtime, soma_ops** out, soma_error** error) SOMA_NOEXCEPT;

/* Computes a node. Returns SOMA_CONTINUE; anything else fails the node, and so does soma_call_fail,
 * which says why. A node that sets no output yields null. The call is over when the function
 * returns: whoever keeps the handle is refused, whatever is called later. The handle is no address,
 * and is for the functions of calls only. */
typedef int32_t (SOMA_CALL* soma_node_fn)(void* user, soma_call* call);

/* Names a function: for nodes whose op is `name` with this version, or with any version that has no
 * function of its own, if `version` is 0. `thread` is SOMA_THREAD_ANY, or SOMA_THREAD_CALLER for a
 * function that must run on the thread that waits for the run. `waits` (0 or 1) says that it may
 * wait for another branch of a wave, so that these really run at the same time, on more threads
 * than the run's option "threads" says, if it takes them. A branch whose partner has failed is not
 * told, if it was declared first: so each wait has an end of its own, or the run a deadline.
 * Functions may be called from several threads at once. "ops.duplicate". Refused with
 * SOMA_FAILED_PRECONDITION once a run has been made with these ops.
 * @since 1.0  @own none  @threads one  @blocks no  @null user destroy error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_ops_add(soma_ops* ops, const char* name, size_t name_length, uint32_t version, int32_t thread,
             int32_t waits, soma_node_fn function, void* user, soma_destroy_fn destroy,
             soma_error** error) SOMA_NOEXCEPT;

/* Gives an op that is there, under this very version, a function that prepares the state of its
 * nodes: it is called right before the node's own, on the same thread, reads the node's input and
 * settings (soma_call_facts) and the state that the node declares, and sets the state by
 * soma_call_set_output; the node's own function then sees it by soma_call_state, and so does its
 * vjp. A run with a cache keeps the states of nodes that are cacheable and deterministic, by their
 * op, version, settings and input, and finds them again: in the modes "inference", which first
 * looks for the node's value, and "differentiable", where the node itself runs again each time. Of
 * a stateful node it is what the first chunk begins with. Errors as of soma_ops_add_vjp.
 * @since 1.0  @own none  @threads one  @blocks no  @null user destroy error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_ops_add_prepare(soma_ops* ops, const char* name, size_t name_length, uint32_t version,
                     soma_node_fn function, void* user, soma_destroy_fn destroy,
                     soma_error** error) SOMA_NOEXCEPT;

/* Gives an op that is there, under this very version, its vector-Jacobian product: what makes of
 * the gradient of what a node yielded that of what it read, for soma_run_backward. Its call shows
 * what the node read (soma_call_input) and yielded (soma_call_yielded), and the gradient of that
 * (soma_call_gradient); soma_call_set_output sets the gradient of the input. That has the shape of
 * the input: of several values that a node reads a map by the same keys, in which members that are
 * missing are zero. Null, as if nothing is set, is zero too. Called on the thread that calls
 * soma_run_backward, whatever the op's own is.
 *
 * Of the built-in ops "std.identity", "std.add", "std.sum" and "std.get" have one; the others are
 * of version 1, and may be given one. "ops.duplicate" if the op has one, "argument.range" if there
 * is no such op. Refused with SOMA_FAILED_PRECONDITION once a run has been made with these ops.
 * @since 1.0  @own none  @threads one  @blocks no  @null user destroy error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_ops_add_vjp(soma_ops* ops, const char* name, size_t name_length, uint32_t version,
                 soma_node_fn function, void* user, soma_destroy_fn destroy,
                 soma_error** error) SOMA_NOEXCEPT;

/* Says how gradients are added that libsoma can't add: it adds numbers, lists of one length by
 * their elements and maps by their keys, and null is zero; the function is called for any two
 * others that meet, also within lists and maps. soma_call_input is a list of both,
 * soma_call_set_output sets their sum; the call is of the node whose value's gradients they are (of
 * gradients of the run's input it is of none, and soma_call_facts is refused). Without it such
 * gradients are "run.gradient". "ops.duplicate" if it has been said already. Refused with
 * SOMA_FAILED_PRECONDITION once a run has been made with these ops.
 * @since 1.0  @own none  @threads one  @blocks no  @null user destroy error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_ops_set_gradient_sum(soma_ops* ops, soma_node_fn function, void* user, soma_destroy_fn destroy,
                          soma_error** error) SOMA_NOEXCEPT;

/* Gives nodes of kind "program" their code: those whose "model" is that text, byte for byte,
 * generate on this session, which the ops keep alive. The text is a name, and no path that would
 * be opened. A plan says in its facts which models it names ("models").
 *
 * Such a node's "task" is "generate", its "device" "cpu", and it has no "deployment". Its "config"
 * has what options of kind "generate" have, by the same names and with the same defaults, but for
 * "tokens", which is "max_tokens" there (a number beyond 2^53, as a seed may be, is a text of its
 * digits); and "system", what the model is told first, by default what its chat template says.
 * Whatever is wrong with that is "run.program", when a run is made.
 * The node reads a text, which is one turn of the user's, or a list of turns, maps of the texts
 * "role" ("system", "user", "assistant") and "content"; it yields the text that the model answers.
 *
 * Each call has a sequence of its own, whose KV memory comes from the session's pool and goes back
 * at the end. Calls at the same time take turns, and yield what they would one after the other.
 * One that has no room left fails its node, with "session.context.full" or "session.kv.full" as
 * the detail "cause". When its run is to stop, a call stops within some tens of milliseconds.
 *
 * A cache tells such nodes apart by the content of the model's file, the session's policy and its
 * context. So the first run with a cache that has use for that reads the whole file, some
 * hundreds of megabytes a second (soma_run_set_cache). A file that is mapped must not be
 * overwritten meanwhile.
 *
 * "ops.duplicate" if that model has a session already; SOMA_INVALID_ARGUMENT for a session of
 * another runtime. Refused with SOMA_FAILED_PRECONDITION once a run has been made with these ops.
 * @since 1.0  @own none  @threads one  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_ops_add_session(soma_ops* ops, const char* model, size_t model_length,
                     const soma_session* session, soma_error** error) SOMA_NOEXCEPT;

/* Lets steps whose op is "std.exec" start programs. Otherwise a plan with such steps is refused
 * ("run.unbound_op"), since who writes a document need not be who runs it. `environment` is a map
 * of texts: all that programs are given, but for what a document adds; PATH is looked up there.
 * NULL: nothing. Programs run in `folder` if their node names no "dir", and a relative one counts
 * from it; empty: where the process runs.
 *
 * No thread waits for a program: the first one starts a thread that serves all. A program leads a
 * process group of its own, and gets none of the process's descriptors and signal settings. If its
 * run ends, fails or is cancelled, or with the last reference to the ops, its group gets SIGTERM,
 * and SIGKILL after 2 seconds; that last release waits for it. SIGCHLD stays the host's: but if it
 * is ignored, or somebody waits for any child (waitpid(-1)), nobody knows how a program ended, and
 * its node fails ("exec.status"). Needs Linux 5.4.
 *
 * "ops.duplicate" if they are allowed already, "value.kind" if the environment is no map of texts.
 * Refused with SOMA_FAILED_PRECONDITION once a run has been made with these ops.
 * @since 1.0  @own none  @threads one  @blocks no  @null environment error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_ops_allow_processes(soma_ops* ops, const soma_value* environment, const char* folder,
                         size_t folder_length, soma_error** error) SOMA_NOEXCEPT;

/* What the node reads; NULL if there is no memory for it, or the call is over.
 * @since 1.0  @own borrowed from call  @threads one  @blocks no  @null call */
SOMA_API const soma_value* SOMA_CALL soma_call_input(soma_call* call) SOMA_NOEXCEPT;

/* In a vjp: what the node yielded. NULL in any other call, if there is no memory for it, or the
 * call is over.
 * @since 1.0  @own borrowed from call  @threads one  @blocks no  @null call */
SOMA_API const soma_value* SOMA_CALL soma_call_yielded(soma_call* call) SOMA_NOEXCEPT;

/* In a vjp: the gradient of what the node yielded, of the same shape, in which members of maps may
 * be missing. NULL as of soma_call_yielded.
 * @since 1.0  @own borrowed from call  @threads one  @blocks no  @null call */
SOMA_API const soma_value* SOMA_CALL soma_call_gradient(soma_call* call) SOMA_NOEXCEPT;

/* What the node yields, in place of what was set before. The value stays yours.
 * @since 1.0  @own none  @threads one  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_call_set_output(soma_call* call, const soma_value* value, soma_error** error) SOMA_NOEXCEPT;

/* The node fails, whatever its function returns, and this is why, for the run's error.
 * @since 1.0  @own none  @threads one  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_call_fail(soma_call* call, const char* message, size_t message_length,
               soma_error** error) SOMA_NOEXCEPT;

/* The node at hand, as JSON: "id", "path" ("refine[3]/judge": with the passes of loops around it),
 * "passes", "op", "config", "device".
 * @since 1.0  @own out  @threads one  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_call_facts(soma_call* call, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* Which chunk of a stream the call is for, counted from 0, and of how many: 0 of 1, unless the plan
 * has the node in a stream ("chunk" of options "compile"). Behind a barrier counting begins again.
 * @since 1.0  @own none  @threads one  @blocks no  @null index count error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_call_chunk(soma_call* call, uint64_t* index, uint64_t* count,
                soma_error** error) SOMA_NOEXCEPT;

/* Of a stateful node of a stream: what the call for the chunk before has left by
 * soma_call_set_state. For the first chunk, and for all other nodes, what the node's op has
 * prepared; without such, what the node declares as its state, as bytes, or null. NULL if there is
 * no memory for it, or the call is over.
 * @since 1.0  @own borrowed from call  @threads one  @blocks no  @null call */
SOMA_API const soma_value* SOMA_CALL soma_call_state(soma_call* call) SOMA_NOEXCEPT;

/* What the call for the next chunk of this execution finds as its state. The value stays yours. In
 * a journaled run the state of a node with "deterministic": false is recorded with its output.
 * "run.input", if the node's stream mode is not "stateful".
 * @since 1.0  @own none  @threads one  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_call_set_state(soma_call* call, const soma_value* value, soma_error** error) SOMA_NOEXCEPT;

/* Whether to go on: 1, or 0 if the run was cancelled, its deadline passed, or a branch that was
 * declared earlier failed. For code that takes long. After a 0 the node returns, whatever it likes:
 * its value counts no more, and the run ends as cancelled or with its deadline.
 * @since 1.0  @own none  @threads one  @blocks no  @null call */
SOMA_API int32_t SOMA_CALL soma_call_goes_on(soma_call* call) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null ops */
SOMA_API void SOMA_CALL soma_ops_retain(const soma_ops* ops) SOMA_NOEXCEPT;

/* One reference less.
 * @since 1.0  @own none  @threads any  @blocks no  @null ops */
SOMA_API void SOMA_CALL soma_ops_release(const soma_ops* ops) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
