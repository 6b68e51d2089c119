// Fuzzes the GGUF reader: any bytes parse into views that lie within them, or give one error.
#include "model/gguf/gguf.hpp"

#include "../unit/model/gguf_walk.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  using namespace soma;
  const std::span<const u8> bytes(data, size);
  const Result<gguf::File> file = gguf::File::parse(bytes);
  const bool good = file.ok() ? test::walk(*file, bytes).empty()
                              : !file.error().message().empty() && file.error().others().empty();
  if (!good) __builtin_trap();
  return 0;
}
