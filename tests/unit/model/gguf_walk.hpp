// Touches everything that a parsed GGUF file gives out, so that a view outside the file is found:
// by the checks here, or by the address sanitizer. Used by unit tests and fuzz targets.
#pragma once

#include "base/core.hpp"
#include "base/text.hpp"
#include "model/gguf/gguf.hpp"

namespace soma::test {

inline bool lies_within(std::span<const u8> bytes, const void* data, size_t size) {
  const auto* begin = static_cast<const u8*>(data);
  return size == 0 || (begin >= bytes.data() && size <= bytes.size() &&
                       begin + size <= bytes.data() + bytes.size());
}

// Empty if all is well, else what is not.
inline std::string walk(const gguf::File& file, std::span<const u8> bytes) {
  const auto inside = [&](std::string_view text) {
    return lies_within(bytes, text.data(), text.size()) &&
           find_invalid_utf8(text) == std::string_view::npos;
  };
  for (const gguf::Entry& entry : file.entries()) {
    const gguf::Value& value = entry.value;
    if (entry.key.empty() || !inside(entry.key)) return "key outside the file";
    if (file.find(entry.key) != &value) return "key not found";
    if (!inside(value.text)) return "text outside the file";
    if (!lies_within(bytes, value.packed.data(), value.packed.size())) return "array outside";
    if (value.type != gguf::Type::Array || value.element != gguf::Type::Text) continue;
    u64 visited = 0;
    bool good = true;
    gguf::for_each_text(value, [&](u64 index, std::string_view text) {
      good = good && index == visited++ && inside(text);
    });
    if (!good || visited != value.count) return "array of texts is not walked right";
  }
  const u8* last_end = bytes.data();
  for (const gguf::Tensor& tensor : file.tensors()) {
    if (!inside(tensor.name) || tensor.name.empty()) return "tensor name outside the file";
    if (file.find_tensor(tensor.name) != &tensor) return "tensor not found";
    if (!lies_within(bytes, tensor.bytes.data(), tensor.bytes.size())) return "data outside";
    if (tensor.bytes.empty()) return "tensor without bytes";
    if (tensor.bytes.data() != bytes.data() + tensor.offset) return "data not at its offset";
    if (tensor.bytes.data() < last_end) return "tensors overlap";
    last_end = tensor.bytes.data() + tensor.bytes.size();
    if (gguf::tensor_type_name(tensor.file_type).empty()) return "type without a name";
    if (tensor.rank < 1 || tensor.rank > gguf::max_rank) return "rank out of range";
  }
  return "";
}

}  // namespace soma::test
