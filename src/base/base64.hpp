// Bytes as text in JSON: base64 with the standard alphabet and padding, one text for each content.
#pragma once

#include "base/core.hpp"

namespace soma {

std::string base64(std::span<const u8> bytes);
// Nothing unless `text` is what base64() writes: no blanks, no missing padding, no stray bits.
std::optional<std::vector<u8>> bytes_of_base64(std::string_view text);

}  // namespace soma
