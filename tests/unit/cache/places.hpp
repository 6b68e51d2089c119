// Where the caches of tests lie, and what is put into them.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "cache/cache.hpp"
#include "unit/folder.hpp"
#include "value/value_binary.hpp"

namespace soma {

inline std::string reason_of(const Status& status) {
  return status.ok() ? "none" : std::string(status.error().id());
}
template <typename Value>
std::string reason_of(const Result<Value>& result) {
  return result.ok() ? "none" : std::string(result.error().id());
}

inline CacheKey key_of(std::string_view name) {
  ContentDigest digest;
  digest.feed(name);
  return {digest.bytes()};
}
inline std::string file_of(const TestFolder& folder, const CacheKey& key) {
  return folder / (key.hex().substr(0, 2) + "/" + key.hex());
}
inline CacheEntry entry_of(Value value) {
  CacheEntry entry;
  entry.value = std::move(value);
  entry.op = "test";
  entry.took_ns = 1'000'000;
  return entry;
}
inline CacheEntry alias_of(const CacheKey& key) {
  CacheEntry entry;
  entry.alias = key;
  return entry;
}
// Bytes that can't be compressed, another for each seed.
inline Value noise(size_t size, u64 seed) {
  std::vector<u8> bytes(size);
  u64 state = seed * 2 + 1;
  for (u8& byte : bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<u8>(state >> 56);
  }
  return Value::bytes(std::move(bytes));
}

inline std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}
// As if it had been used so long ago.
inline void age(const std::string& path, i64 seconds) {
  struct stat info = {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  const timespec times[2] = {info.st_atim, {info.st_mtim.tv_sec - seconds, 0}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

}  // namespace soma
