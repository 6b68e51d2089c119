// Bytes handed to the host.
#pragma once

#include "abi/handle.hpp"

struct soma_blob final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Blob;
  soma_blob(const soma_runtime* owner, std::string content)
      : Object(kind, owner), bytes(std::move(content)) {}

  const std::string bytes;  // a string, for the NUL after its end
};

namespace soma::wall {

inline Ref<soma_blob> make_blob(const soma_runtime* owner, std::string content) {
  return make<soma_blob>(owner, std::move(content));
}

inline Ref<soma_blob> make_blob(const soma_runtime* owner, std::span<const i32> numbers) {
  std::string bytes(numbers.size_bytes(), '\0');
  if (!numbers.empty()) __builtin_memcpy(bytes.data(), numbers.data(), bytes.size());
  return make_blob(owner, std::move(bytes));
}

}  // namespace soma::wall
