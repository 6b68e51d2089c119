// Where things lie in a packed matrix and in a row of activations: kernels.hpp's words as numbers.
#pragma once

#include <string.h>

#include "backend/cpu/kernels/kernels.hpp"

namespace soma::cpu {

enum { kLine = 64 };  // bytes: 16 columns × 4 codes

// A pair of blocks of an integer kind: the codes of block 0 and 1, then their scales, then
// minimums.
struct PairShape {
  int64_t block_bytes;  // codes of one block
  int64_t scales_at;    // block h's 16 scales: pair + scales_at + 32 h
  int64_t minimums_at;  // 0: the kind has none
  int64_t pair_bytes;
};

static constexpr PairShape pair_shape(PackKind kind) {
  return kind == kQ4    ? PairShape{256, 512, 0, 576}
         : kind == kQ4M ? PairShape{256, 512, 576, 640}
         : kind == kQ8  ? PairShape{512, 1024, 0, 1088}
                        : PairShape{512, 1024, 1088, 1152};
}

static constexpr bool is_integer(PackKind kind) { return kind <= kQ8M; }
static constexpr bool is_nibbles(PackKind kind) { return kind == kQ4 || kind == kQ4M; }
static constexpr bool has_minimum(PackKind kind) { return kind == kQ4M || kind == kQ8M; }

// What is subtracted from a code: Q4 stores q in 0..15 and means q − 8.
static constexpr int32_t code_offset(PackKind kind) { return kind == kQ4 ? 8 : 0; }

static constexpr int64_t element_bytes(PackKind kind) { return kind == kF32 ? 4 : 2; }

// A group's bytes: whole pairs, or lines of 16 elements rounded up to a cache line.
static constexpr int64_t packed_group_bytes(PackKind kind, int64_t columns) {
  return is_integer(kind)
             ? (columns + 2 * kBlock - 1) / (2 * kBlock) * pair_shape(kind).pair_bytes
             : (columns * kGroup * element_bytes(kind) + kLine - 1) / kLine * kLine;
}

// Rows of activations (Format::Q8A) of width k: codes, then scales d, then sums s.
static constexpr int64_t scales_offset(int64_t k) { return k; }
static constexpr int64_t sums_offset(int64_t k) { return k + k / kBlock * 4; }

// each<n>(body) calls body with the constants 0 … n − 1. An array that is only indexed by
// constants lives in registers; after an ordinary loop, even an unrolled one, GCC 12 may keep it in
// memory.
template <unsigned value>
struct Constant {
  constexpr operator unsigned() const { return value; }
};
template <unsigned n, unsigned from = 0, typename Body>
static inline __attribute__((always_inline)) void each(const Body& body) {
  if constexpr (from < n) {
    body(Constant<from>{});
    each<n, from + 1>(body);
  }
}
#define SOMA_BODY(name) [&](auto name) __attribute__((always_inline))

// Unaligned access without aliasing trouble.
static inline float load_float(const void* at) {
  float value;
  memcpy(&value, at, sizeof value);
  return value;
}
static inline int32_t load_int(const void* at) {
  int32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}
static inline uint16_t load_half(const void* at) {
  uint16_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace soma::cpu
