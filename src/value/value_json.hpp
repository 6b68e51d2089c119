// Values from JSON and as JSON.
#pragma once

#include "base/json.hpp"
#include "base/json_writer.hpp"
#include "value/value.hpp"

namespace soma {

// null, bool, text, arrays as lists, objects as maps in their order; a number without a fraction,
// within ±2^53, is an integer (but for -0, which no integer is).
Value value_of(JsonView json);

// Writes a value, however deep. Bytes become {"bytes": "base64…"}, and integers beyond ±2^53 text,
// as JSON's readers would round them; numbers that are not finite and opaque values have no JSON
// form: the error names where in the value the first one is (value_no_json).
Result<std::string> value_json(const Value& value);
// After an error the writer holds half a document.
Status write_value(JsonWriter& writer, const Value& value);

}  // namespace soma
