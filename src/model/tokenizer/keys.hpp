// Reads the tokenizer's keys of a GGUF file with the types that they must have.
#pragma once

#include "model/gguf/gguf.hpp"
#include "base/problems.hpp"

namespace soma {

enum class Presence { Required, Optional };

// Each gives the key's value, or nothing: because it is absent (a problem only if it is required)
// or because it has another type (a problem).
std::optional<std::string_view> read_text(const gguf::File& file, std::string_view key,
                                          Presence presence, Problems& problems);
std::optional<bool> read_bool(const gguf::File& file, std::string_view key, Problems& problems);
// A required array whose elements are of one of two types.
const gguf::Value* read_array(const gguf::File& file, std::string_view key, gguf::Type element,
                              gguf::Type or_element, Problems& problems);
// The id of a token below `vocabulary`; out of range is a problem. -1: absent.
i32 read_token(const gguf::File& file, std::string_view key, i64 vocabulary, Problems& problems);

}  // namespace soma
