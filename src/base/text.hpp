// Text from outside: is it valid UTF-8, and how is it shown safely in a message?
#pragma once

#include "base/core.hpp"

namespace soma {

// Where the first byte lies that is not part of valid UTF-8, or npos if all of `text` is valid.
// Valid is what the Unicode standard calls well-formed: shortest forms only, no surrogates,
// nothing above U+10FFFF; NUL is a character like others. Linear, allocates nothing.
size_t find_invalid_utf8(std::string_view text);

// Bytes of the character at `at` if it steers who shows the text instead of being shown: a control
// character, or one that sets the direction of writing, by which a text can look like another.
// 0: it does not.
size_t control_length(std::string_view text, size_t at);

// Text of unknown origin for an error message: in single quotes, at most `limit` bytes of it,
// with control characters and bytes that are not UTF-8 written as \x1b, so that a message can't
// steer the terminal that shows it.
std::string quoted(std::string_view text, size_t limit = 64);

}  // namespace soma
