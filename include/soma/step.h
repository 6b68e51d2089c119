/* Steps: nodes whose work has effects, and who performs these.
 *
 * A node of kind "step" works in turns. In each its function says what comes next: it is done; it
 * waits for effects, such as a request to another system; it begins other steps; it waits for an
 * answer from outside; or it hands over to one of its hand-offs. A turn is short, no thread waits
 * for an effect, and thousands may be under way at once. The function must say the same whenever it
 * is told the same: with a journal (soma/journal.h) a run that was broken off goes through the
 * turns again, and what came of their effects is read and not done again.
 */
#ifndef SOMA_STEP_H
#define SOMA_STEP_H

#include "soma/base.h"
#include "soma/ops.h"
#include "soma/value.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soma_step soma_step;
typedef struct soma_effect soma_effect;

/* What becomes of an effect that was begun before a crash, so that it may have taken place. */
enum {
  SOMA_IN_DOUBT_FAIL = 1,   /* the run fails, "journal.in_doubt"; it can be answered all the same */
  SOMA_IN_DOUBT_RETRY = 2,  /* it is performed again, with the same key */
  SOMA_IN_DOUBT_ASK = 3     /* the run is suspended until somebody answers with its result */
};

/* ---- Steps ---------------------------------------------------------------------------------- */

/* One turn of a node of kind "step". Says what comes next, with the functions below; if it says
 * nothing, the step is done and yields null. Returns SOMA_CONTINUE; anything else fails the node,
 * and soma_step_fail says why. The step object is good until the function returns. */
typedef int32_t (SOMA_CALL* soma_step_fn)(void* user, soma_step* step);

/* Names a step's function; otherwise like soma_ops_add. A name and version belongs to a function or
 * to a step, never to both.
 * @since 1.0  @own none  @threads one  @blocks no  @null user destroy error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_ops_add_step(soma_ops* ops, const char* name, size_t name_length, uint32_t version,
                  soma_step_fn function, void* user, soma_destroy_fn destroy,
                  soma_error** error) SOMA_NOEXCEPT;

/* What the step reads, the same in all turns; NULL if there is no memory for it, or the turn is
 * over.
 * @since 1.0  @own borrowed from step  @threads one  @blocks no  @null step */
SOMA_API const soma_value* SOMA_CALL soma_step_input(soma_step* step) SOMA_NOEXCEPT;

/* Which turn this is, counted from 0. A node has so many turns as "max_turns" says, or 24.
 * @since 1.0  @own none  @threads one  @blocks no  @null step */
SOMA_API uint32_t SOMA_CALL soma_step_turn(soma_step* step) SOMA_NOEXCEPT;

/* What came of all turns before: a list with a list for each, whose elements are the results of its
 * effects or children in the order in which they were asked for, or the answer. NULL as above.
 * @since 1.0  @own borrowed from step  @threads one  @blocks no  @null step */
SOMA_API const soma_value* SOMA_CALL soma_step_history(soma_step* step) SOMA_NOEXCEPT;

/* The step at hand, as JSON: "id", "path" ("refine[3]/ask": with the passes of loops around it; of a
 * child "refine[3]/ask/label"), "op", "config", "turn".
 * @since 1.0  @own out  @threads one  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_step_facts(soma_step* step, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* Whether to go on, like soma_call_goes_on.
 * @since 1.0  @own none  @threads one  @blocks no  @null step */
SOMA_API int32_t SOMA_CALL soma_step_goes_on(soma_step* step) SOMA_NOEXCEPT;

/* It is done, and yields the value. Of what a turn says comes next, the last kind counts.
 * @since 1.0  @own none  @threads one  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_step_done(soma_step* step, const soma_value* value, soma_error** error) SOMA_NOEXCEPT;

/* It waits for one effect more: all of a turn's are performed at the same time, then comes another
 * turn. `effect` is the name of a handler. A NULL payload is null. `in_doubt` is one of
 * SOMA_IN_DOUBT_*, or 0 for what the handler says.
 * @since 1.0  @own none  @threads one  @blocks no  @null payload error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_step_await(soma_step* step, const char* effect, size_t effect_length,
                const soma_value* payload, int32_t in_doubt, soma_error** error) SOMA_NOEXCEPT;

/* It begins one step more, and waits for those of this turn; then comes another turn. `label` names
 * the child among them: UTF-8, not empty, without '/', '[' and ']'. NULL settings and inputs are
 * null. Children hand over to nobody, and nest at most 8 deep: "step.child".
 * @since 1.0  @own none  @threads one  @blocks no  @null config input error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_step_spawn(soma_step* step, const char* label, size_t label_length, const char* op,
                size_t op_length, uint32_t version, const soma_value* config,
                const soma_value* input, soma_error** error) SOMA_NOEXCEPT;

/* Of the children of this turn, only the first that yields is needed: the turn's one result is a map
 * of "child", its label, and "value". Otherwise all are, and the first declared that fails fails the
 * step.
 * @since 1.0  @own none  @threads one  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_step_want_first(soma_step* step, soma_error** error) SOMA_NOEXCEPT;

/* It waits for an answer from outside, which the next turn finds as its result; `reason` says for
 * what. Other branches go as far as they can, then the run ends with "run.suspended"; needs a
 * journal. A NULL reason is null.
 * @since 1.0  @own none  @threads one  @blocks no  @null reason error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_step_suspend(soma_step* step, const soma_value* reason, soma_error** error) SOMA_NOEXCEPT;

/* It is done, and the hand-off `target` goes on with the value: one of those that the graph declares
 * for the node. A NULL value is null.
 * @since 1.0  @own none  @threads one  @blocks no  @null value error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_step_hand_over(soma_step* step, const char* target, size_t target_length,
                    const soma_value* value, soma_error** error) SOMA_NOEXCEPT;

/* Why the step fails, for the run's error; the function then returns SOMA_STOP.
 * @since 1.0  @own none  @threads one  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_step_fail(soma_step* step, const char* message, size_t message_length,
               soma_error** error) SOMA_NOEXCEPT;

/* ---- Effects -------------------------------------------------------------------------------- */

/* Begins an effect and returns; it is completed now or later, on any thread. Who completes it later
 * retains it until then. May be called from several threads at once. */
typedef void (SOMA_CALL* soma_effect_fn)(void* user, soma_effect* effect);

/* Names who performs all effects of one name; `in_doubt` is one of SOMA_IN_DOUBT_*.
 * "ops.duplicate". Refused with SOMA_FAILED_PRECONDITION once a run has been made with these ops.
 * @since 1.0  @own none  @threads one  @blocks no  @null user destroy error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_ops_add_handler(soma_ops* ops, const char* effect, size_t effect_length, int32_t in_doubt,
                     soma_effect_fn perform, void* user, soma_destroy_fn destroy,
                     soma_error** error) SOMA_NOEXCEPT;

/* The name. Ends with a NUL; its length goes to `length`. Empty text of a NULL or wrong handle.
 * @since 1.0  @own borrowed from effect  @threads any  @blocks no  @null effect length */
SOMA_API const char* SOMA_CALL
soma_effect_name(const soma_effect* effect, size_t* length) SOMA_NOEXCEPT;

/* A text that is the same for every attempt at this effect and for no other: for systems that take
 * such a key to do a thing once only. Otherwise like the name.
 * @since 1.0  @own borrowed from effect  @threads any  @blocks no  @null effect length */
SOMA_API const char* SOMA_CALL
soma_effect_key(const soma_effect* effect, size_t* length) SOMA_NOEXCEPT;

/* What is asked for.
 * @since 1.0  @own borrowed from effect  @threads any  @blocks no  @null effect */
SOMA_API const soma_value* SOMA_CALL soma_effect_payload(const soma_effect* effect) SOMA_NOEXCEPT;

/* 1 if it was begun before, and may have taken place.
 * @since 1.0  @own none  @threads any  @blocks no  @null effect */
SOMA_API int32_t SOMA_CALL soma_effect_is_retry(const soma_effect* effect) SOMA_NOEXCEPT;

/* 0 if nobody waits for it any more: the run is over, or wants to stop.
 * @since 1.0  @own none  @threads any  @blocks no  @null effect */
SOMA_API int32_t SOMA_CALL soma_effect_is_wanted(const soma_effect* effect) SOMA_NOEXCEPT;

/* It has taken place, and this came of it. Of this and soma_effect_fail the first call counts. A
 * NULL result is null.
 * @since 1.0  @own none  @threads any  @blocks no  @null result error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_effect_complete(soma_effect* effect, const soma_value* result,
                     soma_error** error) SOMA_NOEXCEPT;

/* It did not take place: the step fails, and says why. With a journal, a run that is resumed asks
 * for it again.
 * @since 1.0  @own none  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_effect_fail(soma_effect* effect, const char* message, size_t message_length,
                 soma_error** error) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null effect */
SOMA_API void SOMA_CALL soma_effect_retain(const soma_effect* effect) SOMA_NOEXCEPT;

/* One reference less. An effect of which nothing ever comes keeps its step waiting.
 * @since 1.0  @own none  @threads any  @blocks no  @null effect */
SOMA_API void SOMA_CALL soma_effect_release(const soma_effect* effect) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
