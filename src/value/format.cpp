// The table of element formats. Block layouts: reference is the GGML project's published
// description of its file types; each line below is checked against vectors in tests/unit/value.
#include "value/format.hpp"

#include <array>

namespace soma {

namespace {

//                                       elements bytes weight edge  kv
constexpr std::array<FormatInfo, 20> formats = {{
    {"f32", 1, 4, true, true, true},
    {"f16", 1, 2, true, false, true},
    {"bf16", 1, 2, true, false, false},
    {"i32", 1, 4, false, true, false},
    {"q4_0", 32, 18, true, false, false},
    {"q4_1", 32, 20, true, false, false},
    {"q5_0", 32, 22, true, false, false},
    {"q5_1", 32, 24, true, false, false},
    {"q8_0", 32, 34, true, false, false},
    {"q8_1", 32, 36, false, false, false},
    {"q2_k", 256, 84, false, false, false},
    {"q3_k", 256, 110, false, false, false},
    {"q4_k", 256, 144, false, false, false},
    {"q5_k", 256, 176, false, false, false},
    {"q6_k", 256, 210, false, false, false},
    {"q8_k", 256, 292, false, false, false},
    {"mxfp4", 32, 17, false, false, false},
    {"q8a", 32, 40, false, true, false},
    {"q8a2", 32, 80, false, true, false},
    {"other", 1, 1, false, false, false},
}};

}  // namespace

const FormatInfo& format_info(Format format) { return formats[static_cast<size_t>(format)]; }

std::optional<Format> format_by_name(std::string_view name) {
  for (size_t i = 0; i < formats.size(); ++i) {
    if (formats[i].name == name) return static_cast<Format>(i);
  }
  return std::nullopt;
}

std::optional<u64> row_bytes(Format format, u64 width) {
  const FormatInfo& info = format_info(format);
  if (format == Format::Other || width % info.block_elements != 0) return std::nullopt;
  std::optional<u64> bytes = checked_mul(width / info.block_elements, info.block_bytes);
  if (!bytes || *bytes > (u64{1} << 62)) return std::nullopt;
  return bytes;
}

}  // namespace soma
