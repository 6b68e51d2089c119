// Text of unknown origin in a picture: made harmless, cut, measured and escaped.
#pragma once

#include "base/core.hpp"

namespace soma {

// At most that many characters; of a longer text the beginning and "…". What would steer a reader
// instead of being read (control characters, marks that turn the direction of writing) or is no
// character at all is shown as \u202e.
std::string picture_text(std::string_view raw, u32 characters_max);
// How many columns a text takes in letters of one width. Wide ones take two; those that combine
// with others are counted like any, so it may be less.
u32 picture_columns(std::string_view text);
// With the five characters that mean something to XML as their entities.
std::string xml_escaped(std::string_view text);

}  // namespace soma
