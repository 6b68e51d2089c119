// Reads arbitrary bytes as a value: what is read has exactly these bytes as its form.
#include "value/value_binary.hpp"

namespace soma {

namespace {

void check(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace

}  // namespace soma

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  using namespace soma;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Result<Value> value = value_from_binary(bytes);
  if (!value.ok()) {
    check(value.error().reason() == Reason::document_corrupt && !value.error().message().empty());
    return 0;
  }
  check(value_binary(*value) == bytes);
  check(!has_opaque(*value));
  check(value_memory_bytes(*value) >= sizeof(Value));
  return 0;
}
