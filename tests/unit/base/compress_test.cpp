// Proves that what is compressed comes back, that anything else is refused, and that memory is
// taken for what is in a frame and not for what it claims.
#include "base/compress.hpp"

#include <doctest/doctest.h>

#include <random>

#include "base/memory.hpp"

namespace soma {

namespace {

std::string noise(size_t size) {
  std::mt19937 random(1);
  std::string out;
  for (size_t i = 0; i < size; ++i) out += static_cast<char>(random());
  return out;
}

std::string reason_of(const Result<std::string>& result) {
  return result.ok() ? "" : std::string(result.error().id());
}

}  // namespace

TEST_CASE("content comes back") {
  constexpr size_t sizes[] = {0, 1, 65535, 65536, 65537, 1'000'000};
  for (const size_t size : sizes) {
    for (const std::string& content : {std::string(size, 'x'), noise(size)}) {
      const Result<std::string> frame = compress(content);
      REQUIRE(frame.ok());
      const Result<std::string> back = decompress(*frame, size);
      REQUIRE(back.ok());
      REQUIRE(*back == content);
      REQUIRE(compress(content).value() == *frame);
      CHECK(reason_of(decompress(*frame, size + 1)) == "document.corrupt");
      if (size > 0) CHECK(reason_of(decompress(*frame, size - 1)) == "document.corrupt");
      CHECK(reason_of(decompress(*frame + "x", size)) == "document.corrupt");
    }
  }
}

TEST_CASE("every part of a frame is needed") {
  const std::string content = noise(300) + std::string(300, 'x');
  const std::string frame = compress(content).value();
  for (size_t size = 0; size < frame.size(); ++size) {
    const Result<std::string> cut = decompress(frame.substr(0, size), content.size());
    REQUIRE(reason_of(cut) == "document.corrupt");
  }
}

TEST_CASE("a frame that expands without end costs what may come out of it") {
  const std::string frame = compress(std::string(size_t{200'000'000}, 'x')).value();
  CHECK(frame.size() < 50'000);
  Memory memory{Allocator()};
  const MemoryScope scope(&memory);
  CHECK(reason_of(decompress(frame, 100'000)) == "document.corrupt");
  CHECK(memory.allocated.peak_bytes < 20'000'000);
}

TEST_CASE("a small frame that claims to be large costs a piece") {
  // Single segment, 8 bytes of content size: 2^28; then one raw block of one byte.
  const std::string claims("\x28\xb5\x2f\xfd\xe0\0\0\0\x10\0\0\0\0\x09\0\0x", 17);
  Memory memory{Allocator()};
  const MemoryScope scope(&memory);
  CHECK(reason_of(decompress(claims, size_t{1} << 28)) == "document.limit");  // its window
  CHECK(memory.allocated.peak_bytes < 1'000'000);
}

TEST_CASE("frames of a dictionary, skippable frames and other bytes are refused") {
  const std::string skippable("\x50\x2a\x4d\x18\x04\0\0\0abcd", 12);
  CHECK(reason_of(decompress(skippable, 4)) == "document.corrupt");
  const std::string dictionary("\x28\xb5\x2f\xfd\x21\x07\x01\x09\0\0x", 11);
  CHECK(reason_of(decompress(dictionary, 1)) == "document.corrupt");
  const std::string plain("\x28\xb5\x2f\xfd\x20\x01\x09\0\0x", 10);
  CHECK(decompress(plain, 1).value() == "x");
  CHECK(reason_of(decompress("no frame at all", 4)) == "document.corrupt");
}

}  // namespace soma
