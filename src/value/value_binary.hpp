// Values as bytes: one form for each content, which loses nothing. Its layout is in binary.md.
#pragma once

#include "base/hash.hpp"
#include "value/value.hpp"

namespace soma {

// Nothing, if an opaque value lies in it: that has no content.
std::optional<std::string> value_binary(const Value& value);
// What value_binary made, and nothing else: document_corrupt names the byte at which it is not.
// Takes memory for what is there, and not for what is claimed.
Result<Value> value_from_binary(std::string_view bytes);

// BLAKE2b-256 of the binary form, which is not put together for it. Nothing, as above.
std::optional<DigestBytes> value_digest(const Value& value);

bool has_opaque(const Value& value);
// About how much memory a value takes: parts that lie in it twice count twice.
u64 value_memory_bytes(const Value& value);

}  // namespace soma
