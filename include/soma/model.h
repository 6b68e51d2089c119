/* Models: a file opened, understood and checked. Immutable.
 *
 * Opening makes every check that can be made before weights are packed: the file's structure, its
 * architecture, hyper-parameters, tensors and tokenizer. What opens can run, if memory suffices.
 */
#ifndef SOMA_MODEL_H
#define SOMA_MODEL_H

#include "soma/base.h"
#include "soma/cancel.h"
#include "soma/options.h"
#include "soma/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soma_model soma_model;

/* Opens the GGUF file at `path`; `options` is of kind "model". The file is not trusted: each
 * problem has its reason id and byte offset, and problems of one kind are all reported. With the
 * option load = map (the default) it must not be truncated while the model lives; load = read
 * takes a private copy. Cost: linear in the metadata and the vocabulary; tensors are not read
 * unless load = read. Errors: "file.*", "gguf.*", "model.*", "tokenizer.*".
 * @since 1.0  @own out  @threads any  @blocks yes tick log  @null options cancel error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_model_open(const soma_runtime* runtime, const char* path, size_t path_length,
                const soma_options* options, soma_cancel* cancel, soma_model** out,
                soma_error** error) SOMA_NOEXCEPT;

/* JSON: "architecture", "name", "parameters" (layers, hidden, feed_forward, heads, kv_heads,
 * head_dim, vocabulary, context, norm_epsilon, rope_base, rope_dims, rope_adjacent, tied_head),
 * "file" (version, bytes), "tensors" (count, bytes, and by format), "tokenizer" (vocabulary,
 * begin_token or null, adds_begin, end_tokens, chat: whether soma_model_chat works), "metadata" (an
 * array of {"key", "type", "value"}; of arrays "count" in place of the value, long texts are cut).
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_model_facts(const soma_model* model, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* JSON, an array in the file's order: "name", "format", "shape" (innermost first, as in the file),
 * "offset", "bytes".
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_model_tensors(const soma_model* model, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* Flags of the functions that turn text into tokens and back. */
enum {
  SOMA_TEXT_SPECIAL = 1, /* the text of control tokens ("<|im_start|>") stands for them; without,
                          * it is ordinary text, and of control tokens there is no text */
  SOMA_TEXT_BEGIN = 2    /* tokenize: first the begin token, if the file asks for one */
};

/* Text to token ids: a blob of int32_t, size / 4 of them. Cost: linear in the text. With
 * SOMA_TEXT_SPECIAL whoever wrote the text can open and close turns: for text from outside leave it
 * out, or use soma_model_chat_tokens. SOMA_RESOURCE_EXHAUSTED ("tokenizer.limit") when
 * splitting a text takes too many steps.
 * @since 1.0  @own out  @threads any  @blocks no  @null text error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_model_tokenize(const soma_model* model, const char* text, size_t text_length, uint64_t flags,
                    soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* `count` token ids to text. What is not valid UTF-8 in them comes out as U+FFFD. SOMA_OUT_OF_RANGE
 * for an id outside the vocabulary.
 * @since 1.0  @own out  @threads any  @blocks no  @null tokens error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_model_detokenize(const soma_model* model, const int32_t* tokens, size_t count, uint64_t flags,
                      soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* The bytes of one token, which need not be whole characters.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_model_piece(const soma_model* model, int32_t token, uint64_t flags, soma_blob** out,
                 soma_error** error) SOMA_NOEXCEPT;

/* 1 if generation ends with this token, else 0, also for a NULL or wrong handle.
 * @since 1.0  @own none  @threads any  @blocks no  @null model */
SOMA_API int32_t SOMA_CALL soma_model_ends(const soma_model* model, int32_t token) SOMA_NOEXCEPT;

/* A conversation as token ids in the model's own template: all of a prompt, as
 * soma_sequence_generate takes it. Message i has the role roles[i] ("system", "user", "assistant")
 * and the content contents[i]; `role_lengths` and `content_lengths` may be NULL when all texts end
 * with a NUL. The family's default system turn comes before messages that have none; the last line
 * opens the assistant's turn. What a content says is ordinary text, even if it spells a control
 * token, so it can't open a turn of its own. SOMA_INVALID_ARGUMENT ("chat.role") for another role;
 * SOMA_UNIMPLEMENTED ("template.unsupported") if the file's template is of no known family.
 * @since 1.0  @own out  @threads any  @blocks no
 * @null roles role_lengths contents content_lengths error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_model_chat_tokens(const soma_model* model, const char* const* roles,
                       const size_t* role_lengths, const char* const* contents,
                       const size_t* content_lengths, size_t count, soma_blob** out,
                       soma_error** error) SOMA_NOEXCEPT;

/* The same as text, for looking at it. As tokens (soma_model_tokenize with SOMA_TEXT_SPECIAL) it is
 * the same prompt only if no content spells a control token.
 * @since 1.0  @own out  @threads any  @blocks no
 * @null roles role_lengths contents content_lengths error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_model_chat(const soma_model* model, const char* const* roles, const size_t* role_lengths,
                const char* const* contents, const size_t* content_lengths, size_t count,
                soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null model */
SOMA_API void SOMA_CALL soma_model_retain(const soma_model* model) SOMA_NOEXCEPT;

/* One reference less.
 * @since 1.0  @own none  @threads any  @blocks no  @null model */
SOMA_API void SOMA_CALL soma_model_release(const soma_model* model) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
