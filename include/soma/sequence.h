/* Sequences: tokens that run on a session, with what attention remembers of them.
 *
 * A sequence starts empty and grows by prefill (many tokens), decode (one) or generate (a loop).
 * Each leaves the logits of its last step, from which sample chooses a token and which logits
 * hands out. One call at a time: a sequence that is in a call refuses others with
 * SOMA_FAILED_PRECONDITION ("object.busy"), also from that call's own callbacks. Different
 * sequences of a session may be used by different threads; their steps take turns.
 */
#ifndef SOMA_SEQUENCE_H
#define SOMA_SEQUENCE_H

#include "soma/base.h"
#include "soma/cancel.h"
#include "soma/options.h"
#include "soma/session.h"
#include "soma/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soma_sequence soma_sequence;

/* An empty sequence. KV memory is taken from the session's pool as the sequence grows.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_sequence_create(const soma_session* session, soma_sequence** out,
                     soma_error** error) SOMA_NOEXCEPT;

/* How many tokens it holds, 0 to the session's context; -1 of a NULL or wrong handle. During a
 * call, the number from before it.
 * @since 1.0  @own none  @threads any  @blocks no  @null sequence */
SOMA_API int64_t SOMA_CALL soma_sequence_length(const soma_sequence* sequence) SOMA_NOEXCEPT;

/* The tokens: a blob of int32_t.
 * @since 1.0  @own out  @threads one  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_sequence_tokens(soma_sequence* sequence, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* Which positions of a prefill get logits. */
enum {
  SOMA_LOGITS_LAST = 1,
  SOMA_LOGITS_ALL = 2
};

/* Appends `count` tokens, at least 1, in steps of at most the session's prefill_rows, and computes
 * the logits that `logits` names. "session.context.full", "session.kv.full" and "tokenizer.token"
 * come before anything is changed; after a cancel the steps that were done stay: ask for the
 * length. The tick's phase is "prefill", in tokens.
 * @since 1.0  @own none  @threads one  @blocks yes tick  @null cancel error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_sequence_prefill(soma_sequence* sequence, const int32_t* tokens, size_t count, int32_t logits,
                      soma_cancel* cancel, soma_error** error) SOMA_NOEXCEPT;

/* Appends tokens[i] to sequences[i], for `count` different sequences of one session, and computes
 * each one's logits. After a failure no sequence is longer than before; those whose token had been
 * appended and was taken back have lost their logits.
 * @since 1.0  @own none  @threads one  @blocks yes tick  @null cancel error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_sequence_decode(soma_sequence* const* sequences, const int32_t* tokens, size_t count,
                     soma_cancel* cancel, soma_error** error) SOMA_NOEXCEPT;

/* Chooses a token from the last row of logits, by `options` of kind "generate"; does not append it.
 * The same logits, options and length give the same token. "session.logits.absent" if there are
 * none.
 * @since 1.0  @own none  @threads one  @blocks no  @null options error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_sequence_sample(soma_sequence* sequence, const soma_options* options, int32_t* out,
                     soma_error** error) SOMA_NOEXCEPT;

/* The logits of the last prefill or decode: f32, [rows, vocabulary], rows 1 or, after
 * SOMA_LOGITS_ALL, the number of tokens. No copy is made; later steps write elsewhere.
 * @since 1.0  @own out  @threads one  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_sequence_logits(soma_sequence* sequence, soma_tensor** out, soma_error** error) SOMA_NOEXCEPT;

/* Drops tokens from the end until `length` are left; its logits are gone then. SOMA_OUT_OF_RANGE if
 * it holds fewer.
 * @since 1.0  @own none  @threads one  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_sequence_truncate(soma_sequence* sequence, int64_t length, soma_error** error) SOMA_NOEXCEPT;

/* Another sequence with the same tokens and its last row of logits. They share the tokens' memory
 * until one of them appends.
 * @since 1.0  @own out  @threads one  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_sequence_fork(soma_sequence* sequence, soma_sequence** out, soma_error** error) SOMA_NOEXCEPT;

/* One generated token, called on the thread that called generate, as soon as the token's text is
 * whole characters; `text` may be empty and is valid during the call only. Returns SOMA_CONTINUE to
 * go on, SOMA_STOP to end with what there is; anything else fails the generation with SOMA_ABORTED
 * ("callback.failed"). */
typedef int32_t (SOMA_CALL* soma_token_fn)(void* user, int32_t token, const char* text,
                                           size_t length);

/* Prefills `count` tokens, at least 1, then samples and decodes until an end token, the option
 * tokens, or a full context. `options` is of kind "generate". The result is JSON: "tokens" (ids, an
 * ending one included), "text", "finish" ("end", "length", "stopped", "context_full"),
 * "prompt_length", "prefill_s", "decode_s", "first_token_s" (seconds from the call to the first
 * token). The sequence afterwards holds the prompt and all generated tokens but the last. The
 * tick's phases are "prefill" and "decode". After a failure what was appended stays.
 * @since 1.0  @own out  @threads one  @blocks yes tick token
 * @null options on_token user destroy cancel error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_sequence_generate(soma_sequence* sequence, const int32_t* tokens, size_t count,
                       const soma_options* options, soma_token_fn on_token, void* user,
                       soma_destroy_fn destroy, soma_cancel* cancel, soma_blob** out,
                       soma_error** error) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null sequence */
SOMA_API void SOMA_CALL soma_sequence_retain(const soma_sequence* sequence) SOMA_NOEXCEPT;

/* One reference less; the last one gives its KV memory back to the session.
 * @since 1.0  @own none  @threads any  @blocks no  @null sequence */
SOMA_API void SOMA_CALL soma_sequence_release(const soma_sequence* sequence) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
