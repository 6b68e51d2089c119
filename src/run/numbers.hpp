// Sums of numbers, as ops and gradients make them.
#pragma once

#include "value/value.hpp"

namespace soma {

inline bool is_number(const Value& value) {
  return value.is(ValueKind::Integer) || value.is(ValueKind::Number);
}

// Integers stay exact as long as they fit into 64 bits.
inline Value sum_of(const Value& a, const Value& b) {
  i64 whole = 0;
  if (a.is(ValueKind::Integer) && b.is(ValueKind::Integer) &&
      !__builtin_add_overflow(a.integer(), b.integer(), &whole)) {
    return Value::integer(whole);
  }
  const auto as_double = [](const Value& value) {
    return value.is(ValueKind::Integer) ? static_cast<double>(value.integer()) : value.number();
  };
  return Value::number(as_double(a) + as_double(b));
}

}  // namespace soma
