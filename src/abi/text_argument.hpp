// Texts and arrays as the host passes them, checked.
#pragma once

#include "base/core.hpp"

namespace soma::wall {

// `length` SOMA_NUL: up to the NUL. NULL is the empty text if its length is 0. argument_null,
// argument_utf8, argument_range for a length that no memory has.
Result<std::string_view> text_argument(std::string_view name, const char* text, size_t length);

// The same for an array: a count that no memory has is refused before it is multiplied.
Status check_array(std::string_view name, const void* first, size_t count, size_t element_bytes);

}  // namespace soma::wall
