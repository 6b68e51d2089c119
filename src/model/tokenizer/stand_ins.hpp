// Replaces characters that PCRE2 takes for something else than the models' tokenizers did.
#pragma once

#include "base/core.hpp"

namespace soma {

// What a tokenizer's patterns see instead of `text` (valid UTF-8), or nothing if that is the text
// itself, as it nearly always is. Every character keeps its place and its number of bytes.
// `newer_digits`: numbers that only the newest Unicode has are numbers too.
// Linear; the usual text is only looked through.
std::optional<std::string> with_stand_ins(std::string_view text, bool newer_digits);

}  // namespace soma
