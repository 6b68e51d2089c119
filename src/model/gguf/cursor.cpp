// Bounded reading of a GGUF file, and the one shape that all its errors have.
#include "model/gguf/cursor.hpp"

#include <bit>

namespace soma::gguf {

static_assert(std::endian::native == std::endian::little, "GGUF files are read in place");

namespace {

std::string described(const Place& place) {
  if (place.kind.empty()) return std::string(place.part);
  if (place.name.empty()) return text("{} of {} {}", place.part, place.kind, place.index);
  return text("{} of {} {}", place.part, place.kind, quoted(place.name));
}

}  // namespace

Error broken(Reason reason, u64 offset, const Place& place, std::string_view expected,
             std::string_view got, std::string_view what_now) {
  Error error = fail(reason, "byte {}: {}: expected {}, got {}; {}", offset, described(place),
                     expected, got, what_now);
  error.with("offset", std::string_view(text("{}", offset)));
  error.with("expected", expected);
  error.with("got", got);
  if (!place.kind.empty()) {
    error.with(place.kind, place.name.empty() ? text("{}", place.index) : std::string(place.name));
  }
  return error;
}

Status Cursor::need(u64 count, const Place& place) const {
  if (count <= remaining()) return {};
  return broken(Reason::gguf_truncated, at_, place, text("{} bytes", count),
                text("the file's end after {}", remaining()),
                "the file is cut off or damaged: get it again from where it came");
}

Result<std::string_view> Cursor::utf8(u64 limit, const Place& place) {
  const u64 start = at_;
  SOMA_ASSIGN(const u64 length, number<u64>(place));
  if (length > limit) {
    return broken(Reason::gguf_limit, start, place, text("at most {} bytes", limit),
                  text("{}", length));
  }
  SOMA_ASSIGN(std::span<const u8> bytes, raw(length, place));
  const std::string_view out(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t bad = find_invalid_utf8(out);
  if (bad != std::string_view::npos) {
    return broken(Reason::gguf_text, start + sizeof length + bad, place, "valid UTF-8",
                  text("byte 0x{:02x}", bytes[bad]));
  }
  return out;
}

Result<std::span<const u8>> Cursor::raw(u64 count, const Place& place) {
  SOMA_TRY(need(count, place));
  const std::span<const u8> out = bytes_.subspan(at_, count);
  at_ += count;
  return out;
}

}  // namespace soma::gguf
