/* Circuits: what a model computes in one step, as a list of ops over edges. Immutable.
 *
 * A circuit names weights, formats and shapes; it holds no weights, threads or devices, and does
 * not need the model it came from. From here a plan is made (fusion_plan.h), and from that a
 * program (program.h). Sessions do all of this by themselves: these nouns are for looking,
 * comparing and explaining.
 */
#ifndef SOMA_CIRCUIT_H
#define SOMA_CIRCUIT_H

#include "soma/base.h"
#include "soma/model.h"
#include "soma/options.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soma_circuit soma_circuit;

/* The circuit of a model's architecture, bound to its tensors' names and formats.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_circuit_create(const soma_model* model, soma_circuit** out, soma_error** error) SOMA_NOEXCEPT;

/* JSON: "architecture", "layers", "kv_heads", "head_dim", "nodes" and "edges" (counts), "ops" (a
 * count for each op).
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_circuit_facts(const soma_circuit* circuit, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* Text, one line a node.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_circuit_dump(const soma_circuit* circuit, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* Text: for each rule that could cover the node with id `node` ("l3.attn.q"), whether it won or why
 * it lost. `options` is of kind "plan". SOMA_NOT_FOUND ("circuit.node") if there is no
 * such node.
 * @since 1.0  @own out  @threads any  @blocks no  @null options error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_circuit_explain(const soma_circuit* circuit, const soma_options* options, const char* node,
                     size_t node_length, soma_blob** out, soma_error** error) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null circuit */
SOMA_API void SOMA_CALL soma_circuit_retain(const soma_circuit* circuit) SOMA_NOEXCEPT;

/* One reference less.
 * @since 1.0  @own none  @threads any  @blocks no  @null circuit */
SOMA_API void SOMA_CALL soma_circuit_release(const soma_circuit* circuit) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
