/* Fusion and buffer plans: which nodes of a circuit run together as one launch, and where the
 * values between launches live. Immutable; each outlives what it was made from.
 */
#ifndef SOMA_FUSION_PLAN_H
#define SOMA_FUSION_PLAN_H

#include "soma/base.h"
#include "soma/circuit.h"
#include "soma/options.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soma_fusion_plan soma_fusion_plan;
typedef struct soma_buffer_plan soma_buffer_plan;

/* Plans a circuit for the kernel set of its runtime. `options` is of kind "plan": mode and rows say
 * which steps the plan serves, policy how exact they are, rules replaces the built-in rule file.
 * Equal inputs give equal plans. Errors: "fusion.rules", "fusion.uncovered".
 * @since 1.0  @own out  @threads any  @blocks no  @null options error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_fusion_plan_create(const soma_circuit* circuit, const soma_options* options,
                        soma_fusion_plan** out, soma_error** error) SOMA_NOEXCEPT;

/* JSON: "digest" (two plans with one digest run the same), "mode", "rows", "policy", "groups",
 * "launches", "copies" (counts of one step), "edges" (absent, fused, materialized).
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_fusion_plan_facts(const soma_fusion_plan* plan, soma_blob** out,
                       soma_error** error) SOMA_NOEXCEPT;

/* Text, one line a group.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_fusion_plan_dump(const soma_fusion_plan* plan, soma_blob** out,
                      soma_error** error) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null plan */
SOMA_API void SOMA_CALL soma_fusion_plan_retain(const soma_fusion_plan* plan) SOMA_NOEXCEPT;

/* One reference less.
 * @since 1.0  @own none  @threads any  @blocks no  @null plan */
SOMA_API void SOMA_CALL soma_fusion_plan_release(const soma_fusion_plan* plan) SOMA_NOEXCEPT;

/* Gives every value a place, and proves that no two live ones overlap.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_buffer_plan_create(const soma_fusion_plan* plan, soma_buffer_plan** out,
                        soma_error** error) SOMA_NOEXCEPT;

/* JSON: "plan_digest", "slots" (count), "arena_bytes", "lower_bound_bytes" (no placement can need
 * less), "materialized_bytes" (if nothing were shared), "hidden_bytes", "logits_row_bytes".
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_buffer_plan_facts(const soma_buffer_plan* plan, soma_blob** out,
                       soma_error** error) SOMA_NOEXCEPT;

/* Text, one line a slot.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_buffer_plan_dump(const soma_buffer_plan* plan, soma_blob** out,
                      soma_error** error) SOMA_NOEXCEPT;

/* Text: a picture of the arena, bytes over groups.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_buffer_plan_picture(const soma_buffer_plan* plan, soma_blob** out,
                         soma_error** error) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null plan */
SOMA_API void SOMA_CALL soma_buffer_plan_retain(const soma_buffer_plan* plan) SOMA_NOEXCEPT;

/* One reference less.
 * @since 1.0  @own none  @threads any  @blocks no  @null plan */
SOMA_API void SOMA_CALL soma_buffer_plan_release(const soma_buffer_plan* plan) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
