// Checks texts and arrays from the host.
#include "abi/text_argument.hpp"

#include <cstring>

#include "abi/guard.hpp"
#include "base/text.hpp"

namespace soma::wall {

namespace {
constexpr size_t memory_limit = SIZE_MAX / 2;  // no object is larger
}

Result<std::string_view> text_argument(std::string_view name, const char* text, size_t length) {
  if (!text) {
    if (length == 0) return std::string_view();
    return null_argument(name);
  }
  if (length == SOMA_NUL) length = std::strlen(text);
  SOMA_TRY(check_array(name, text, length, 1));
  const std::string_view view(text, length);
  const size_t bad = find_invalid_utf8(view);
  if (bad == std::string_view::npos) return view;
  return fail(Reason::argument_utf8, "the argument {} is not valid UTF-8 at byte {}: {}", name,
              bad, quoted(view.substr(bad, 8)))
      .with("argument", name)
      .with("offset", static_cast<i64>(bad));
}

Status check_array(std::string_view name, const void* first, size_t count, size_t element_bytes) {
  if (!first && count != 0) return null_argument(name);
  if (count <= memory_limit / element_bytes) return {};
  return fail(Reason::argument_range, "the argument {} has {} elements, more than memory can hold",
              name, count)
      .with("argument", name);
}

}  // namespace soma::wall
