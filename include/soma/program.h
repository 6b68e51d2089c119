/* Programs: a circuit's plan as a flat list of launches. Immutable, and data only: a program can be
 * printed, compared and hashed; sessions run it.
 */
#ifndef SOMA_PROGRAM_H
#define SOMA_PROGRAM_H

#include "soma/base.h"
#include "soma/fusion_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soma_program soma_program;

/* Emits the launches of a placed plan, exactly as many as the plan says.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_program_create(const soma_buffer_plan* plan, soma_program** out,
                    soma_error** error) SOMA_NOEXCEPT;

/* JSON: "digest" (two programs with one digest do the same), "plan_digest", "mode", "rows",
 * "policy", "launches", "barriers", "weights" (counts), "kernels" (launches by kernel),
 * "arena_bytes", "hidden_bytes", "logits_row_bytes", "kv_format".
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_program_facts(const soma_program* program, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* Text, one line a launch.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_program_dump(const soma_program* program, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null program */
SOMA_API void SOMA_CALL soma_program_retain(const soma_program* program) SOMA_NOEXCEPT;

/* One reference less.
 * @since 1.0  @own none  @threads any  @blocks no  @null program */
SOMA_API void SOMA_CALL soma_program_release(const soma_program* program) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
