// The value object: a handle around what flows along edges.
#pragma once

#include "abi/runtime.hpp"
#include "value/value.hpp"

struct soma_value final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Value;
  soma_value(const soma_runtime* owner, soma::Value content)
      : Object(kind, owner), value(std::move(content)) {}

  const soma::Value value;
};

namespace soma::wall {

// An optional input: NULL is null.
inline Result<Value> value_argument(const soma_runtime* runtime, const soma_value* value) {
  if (!value) return Value();
  SOMA_TRY(check_within(runtime, value));
  return value->value;
}

}  // namespace soma::wall
