/* Tensors: numbers in the processor's memory, row-major and without gaps. Immutable.
 *
 * A tensor owns its memory or keeps its owner alive. What the library hands out it never writes to
 * again: a buffer that somebody still holds is replaced, not overwritten.
 */
#ifndef SOMA_TENSOR_H
#define SOMA_TENSOR_H

#include "soma/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soma_tensor soma_tensor;

/* Types of elements. */
enum {
  SOMA_DTYPE_F32 = 1,
  SOMA_DTYPE_I32 = 2
};

/* One of SOMA_DTYPE_*; 0 of a NULL or wrong handle.
 * @since 1.0  @own none  @threads any  @blocks no  @null tensor */
SOMA_API int32_t SOMA_CALL soma_tensor_dtype(const soma_tensor* tensor) SOMA_NOEXCEPT;

/* The number of dimensions; 0 of a NULL or wrong handle.
 * @since 1.0  @own none  @threads any  @blocks no  @null tensor */
SOMA_API size_t SOMA_CALL soma_tensor_rank(const soma_tensor* tensor) SOMA_NOEXCEPT;

/* The dimensions, `rank` of them, outermost first; NULL of a NULL or wrong handle.
 * @since 1.0  @own borrowed from tensor  @threads any  @blocks no  @null tensor */
SOMA_API const int64_t* SOMA_CALL soma_tensor_shape(const soma_tensor* tensor) SOMA_NOEXCEPT;

/* The elements, 16-byte aligned; NULL of a NULL or wrong handle.
 * @since 1.0  @own borrowed from tensor  @threads any  @blocks no  @null tensor */
SOMA_API const void* SOMA_CALL soma_tensor_data(const soma_tensor* tensor) SOMA_NOEXCEPT;

/* DLPack's exchange struct, version 1 (github.com/dmlc/dlpack). */
struct DLManagedTensorVersioned;

/* The tensor for other libraries, without a copy: flagged read-only, on the CPU. It keeps a
 * reference; its deleter, to be called once and from any thread, gives that back.
 * @since 1.0  @own out  @threads any  @blocks no  @null error */
SOMA_API SOMA_NODISCARD soma_code SOMA_CALL
soma_tensor_export(const soma_tensor* tensor, struct DLManagedTensorVersioned** out,
                   soma_error** error) SOMA_NOEXCEPT;

/* One reference more.
 * @since 1.0  @own none  @threads any  @blocks no  @null tensor */
SOMA_API void SOMA_CALL soma_tensor_retain(const soma_tensor* tensor) SOMA_NOEXCEPT;

/* One reference less.
 * @since 1.0  @own none  @threads any  @blocks no  @null tensor */
SOMA_API void SOMA_CALL soma_tensor_release(const soma_tensor* tensor) SOMA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
