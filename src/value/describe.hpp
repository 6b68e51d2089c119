// Says in a few words what a value is and where it lies, for messages.
#pragma once

#include "value/value.hpp"

namespace soma {

// "the text 'abc'", "a list of 3", "a map of 'x', 'y'": short however large the value is.
std::string describe(const Value& value);

// Steps of a path as predicates spell them: `.name`, `["any name"]`, `[-1]`.
void append_member(std::string& path, std::string_view name);
void append_index(std::string& path, i64 index);
bool is_path_name(std::string_view text);  // a letter or _, then letters, digits and _

// A text between double quotes, with JSON's escapes.
std::string json_quoted(std::string_view text);

}  // namespace soma
