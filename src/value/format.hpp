// The registry of element formats: how numbers lie in a row of a tensor, an edge or a KV block.
// One table (format.cpp) is the only home of block sizes; everything that sizes bytes asks it.
#pragma once

#include "base/core.hpp"

namespace soma {

// File formats keep GGML's names. `Q8A` and `Q8A2` are libsoma's own activation formats, never in a
// file.
enum class Format : u8 {
  F32, F16, BF16, I32,
  Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1,
  Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, Q8_K,
  MXFP4,
  Q8A,    // int8 activations in blocks of 32, by planes within a row of width k:
          //   k × i8 q, then k/32 × f32 d (scale), then k/32 × f32 s (d × Σq of the block)
  Q8A2,   // two such rows one after the other: a row, and what its rounding left over
  Other,  // recognised in files, no arithmetic here (IQ*, TQ*, …): refused by name
};

struct FormatInfo {
  std::string_view name;  // "q4_1"
  u32 block_elements;     // row widths are multiples of this
  u32 block_bytes;
  bool on_weight;         // kernels exist that read weights of this format
  bool on_edge;
  bool on_kv;
};
const FormatInfo& format_info(Format format);
std::optional<Format> format_by_name(std::string_view name);

// How many int8 rows stand for one row of activations; 0: it is not int8.
constexpr i32 int8_terms(Format format) {
  return format == Format::Q8A ? 1 : format == Format::Q8A2 ? 2 : 0;
}

// Bytes of one row of `width` elements; nothing if width is not a multiple of the block or the
// product does not fit 63 bits.
std::optional<u64> row_bytes(Format format, u64 width);

}  // namespace soma
