// The tensor types of GGUF files by number: their names, sizes, and the formats we compute in.
#pragma once

#include "base/core.hpp"
#include "value/format.hpp"

namespace soma::gguf {

struct TensorType {
  std::string_view name;
  Format format;
  u32 block_elements;  // 0: the type was taken out of the format; its files must be made again
  u32 block_bytes;
};

// One past the highest number that is known.
u32 tensor_type_count();
// Nothing for a number that never was a type, as far as we know.
std::optional<TensorType> tensor_type(u32 file_type);

// Bytes of so many elements, which must be whole blocks of a type that was not removed; nothing if
// that is beyond max_data_bytes.
std::optional<u64> tensor_bytes(const TensorType& type, u64 elements);

}  // namespace soma::gguf
