// Reads arbitrary bytes as a cache's entry, and as what lies behind sound digests: a frame, or a
// value in a frame. What is read is written and read again as the same.
#include "base/compress.hpp"
#include "cache/blob.hpp"
#include "value/value_binary.hpp"

namespace soma {

namespace {

void check(bool holds) {
  if (!holds) __builtin_trap();
}

constexpr CacheKey key = {{1, 2, 3}};

// Whether it was an entry.
bool read(std::string_view bytes) {
  const Result<CacheRecord> head = read_blob_head(bytes);
  const CacheKey named = head.ok() ? head->key : key;
  const Result<CacheEntry> entry = read_blob(named, bytes);
  if (!entry.ok()) {
    check(!entry.error().message().empty());
    return false;
  }
  check(head.ok());
  check(head->alias == entry->alias);
  check(head->op == entry->op);
  const Result<std::string> again = cache_blob(named, *entry);
  check(again.ok());
  const Result<CacheEntry> reread = read_blob(named, *again);
  check(reread.ok());
  check(value_binary(reread->value) == value_binary(entry->value));
  check(reread->took_ns == entry->took_ns && reread->alias == entry->alias);
  return true;
}

}  // namespace

}  // namespace soma

// The first byte says what the others are: an entry, a frame (after the size of its content), or a
// value.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  using namespace soma;
  if (size < 3) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  CacheEntry entry;
  entry.op = "fuzz";
  if (data[0] % 3 == 0) {
    read(bytes);
  } else if (data[0] % 3 == 1) {
    const u64 claimed = data[1] + 256 * data[2];
    read(cache_blob_around(key, entry, bytes.substr(2), claimed));
  } else {
    const Result<std::string> frame = compress(bytes);
    check(frame.ok());
    const bool is_value = value_from_binary(bytes).ok();
    check(read(cache_blob_around(key, entry, *frame, bytes.size())) == is_value);
  }
  return 0;
}
