// Tells texts that need no closer look.
#pragma once

#include <algorithm>

#include "base/core.hpp"

namespace soma {

// ASCII without the character NUL, as nearly all ids are: valid UTF-8 then, and one text in JSON.
inline bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char letter) { return static_cast<signed char>(letter) > 0; });
}

}  // namespace soma
