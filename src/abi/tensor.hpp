// The tensor object: numbers in memory that it owns.
#pragma once

#include "abi/runtime.hpp"

struct soma_tensor final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Tensor;
  // Row-major f32, rows × columns.
  soma_tensor(const soma_runtime* owner, std::unique_ptr<float[]> numbers, std::int64_t rows,
              std::int64_t columns)
      : Object(kind, owner),
        data(std::move(numbers)),
        shape{rows, columns},
        strides{columns, 1} {}

  const std::unique_ptr<float[]> data;
  std::int32_t dtype = SOMA_DTYPE_F32;
  std::int64_t shape[2];
  std::int64_t strides[2];
};
