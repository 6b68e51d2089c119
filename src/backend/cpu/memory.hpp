// Memory of the CPU backend that is too large or too hot for the heap: packed weights, KV blocks,
// arenas, scratch.
#pragma once

#include "base/memory.hpp"

namespace soma::cpu {

// An anonymous private mapping, zeroed, given back whole. From 2 MiB on it starts at a huge page
// and asks for them: a decode step streams all weights, and with small pages every 4 KiB would
// cost a translation of its own.
class Mapping {
 public:
  Mapping() = default;
  static Result<Mapping> create(u64 bytes, std::string_view what);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  u8* data() const { return data_; }
  u64 bytes() const { return bytes_; }

 private:
  void release();
  u8* data_ = nullptr;
  u64 bytes_ = 0;
  MappedBytes counted_;
};

constexpr u64 line_bytes = 64;  // what packed matrices, scratch and rows are aligned to
constexpr u64 to_lines(u64 bytes) { return (bytes + line_bytes - 1) / line_bytes * line_bytes; }

}  // namespace soma::cpu
