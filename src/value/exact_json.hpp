// Values as JSON that gives back the same value, to the bit: for what is recorded and read again.
#pragma once

#include "value/value.hpp"

namespace soma {

// Deeper values have no exact form: no reader would take it.
inline constexpr u32 exact_json_depth_max = 240;

// value_no_json for opaque values, and for what is too deep.
Result<std::string> exact_json(const Value& value);
// Of what exact_json wrote, and of nothing else: document_syntax, document_type.
Result<Value> value_of_exact_json(std::string_view json);

}  // namespace soma
