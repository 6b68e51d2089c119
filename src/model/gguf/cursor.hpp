// Reads the fields of a GGUF file one after another, never past its end, and makes the errors that
// say where, what was expected and what is there.
#pragma once

#include <cstring>
#include <type_traits>

#include "base/core.hpp"
#include "base/text.hpp"

namespace soma::gguf {

// What a message calls the field that is being read. Costs nothing until something is wrong.
struct Place {
  std::string_view part;       // "length", "value type"
  std::string_view kind = {};  // "key" or "tensor"; empty in the file's header
  u64 index = 0;               // the key's or tensor's number in the file, from 0
  std::string_view name = {};  // empty until it has been read
  Place of(std::string_view other_part) const { return {other_part, kind, index, name}; }
};

inline constexpr std::string_view get_again =
    "the file is damaged: get it again from where it came";

// "byte 24: length of key 0: expected …, got …; <what now>", with the same as details.
Error broken(Reason reason, u64 offset, const Place& place, std::string_view expected,
             std::string_view got, std::string_view what_now = get_again);

class Cursor {
 public:
  explicit Cursor(std::span<const u8> bytes) : bytes_(bytes) {}

  u64 at() const { return at_; }
  u64 remaining() const { return bytes_.size() - at_; }

  // gguf_truncated unless `count` more bytes are there.
  Status need(u64 count, const Place& place) const;

  // A little-endian number of the file, as every processor we build for has it.
  template <typename T>
  Result<T> number(const Place& place) {
    static_assert(std::is_arithmetic_v<T>);
    SOMA_TRY(need(sizeof(T), place));
    T out = {};
    std::memcpy(&out, bytes_.data() + at_, sizeof out);
    at_ += sizeof out;
    return out;
  }

  // u64 length and that many bytes of UTF-8. gguf_limit, gguf_truncated, gguf_text.
  Result<std::string_view> utf8(u64 limit, const Place& place);

  Result<std::span<const u8>> raw(u64 count, const Place& place);
  std::span<const u8> since(u64 start) const { return bytes_.subspan(start, at_ - start); }

 private:
  std::span<const u8> bytes_;
  u64 at_ = 0;
};

}  // namespace soma::gguf
