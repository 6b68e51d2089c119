// The table of tensor types, as the GGML project numbers them; it never reuses a number.
#include "model/gguf/tensor_type.hpp"

#include <array>

#include "model/gguf/gguf.hpp"

namespace soma::gguf {

namespace {

// A type that the registry has: its name and block are written there and nowhere else.
constexpr TensorType known(Format format) { return {{}, format, 0, 0}; }

// A type without arithmetic here: sized, so that its files are checked as well as any.
constexpr TensorType other(std::string_view name, u32 block_elements, u32 block_bytes) {
  return {name, Format::Other, block_elements, block_bytes};
}

constexpr TensorType removed(std::string_view name) { return {name, Format::Other, 0, 0}; }

constexpr std::array<TensorType, 42> tensor_types = {{
    known(Format::F32),       // 0
    known(Format::F16),
    known(Format::Q4_0),
    known(Format::Q4_1),
    removed("q4_2"),          // 4
    removed("q4_3"),
    known(Format::Q5_0),
    known(Format::Q5_1),
    known(Format::Q8_0),      // 8
    known(Format::Q8_1),
    known(Format::Q2_K),
    known(Format::Q3_K),
    known(Format::Q4_K),      // 12
    known(Format::Q5_K),
    known(Format::Q6_K),
    known(Format::Q8_K),
    other("iq2_xxs", 256, 66),  // 16
    other("iq2_xs", 256, 74),
    other("iq3_xxs", 256, 98),
    other("iq1_s", 256, 50),
    other("iq4_nl", 32, 18),  // 20
    other("iq3_s", 256, 110),
    other("iq2_s", 256, 82),
    other("iq4_xs", 256, 136),
    other("i8", 1, 1),        // 24
    other("i16", 1, 2),
    known(Format::I32),
    other("i64", 1, 8),
    other("f64", 1, 8),       // 28
    other("iq1_m", 256, 56),
    known(Format::BF16),
    removed("q4_0_4_4"),
    removed("q4_0_4_8"),      // 32
    removed("q4_0_8_8"),
    other("tq1_0", 256, 54),
    other("tq2_0", 256, 66),
    removed("iq4_nl_4_4"),    // 36
    removed("iq4_nl_4_8"),
    removed("iq4_nl_8_8"),
    known(Format::MXFP4),
    other("nvfp4", 64, 36),   // 40
    other("q1_0", 128, 18),
}};

}  // namespace

u32 tensor_type_count() { return static_cast<u32>(tensor_types.size()); }

std::optional<TensorType> tensor_type(u32 file_type) {
  if (file_type >= tensor_types.size()) return std::nullopt;
  TensorType type = tensor_types[file_type];
  if (type.format != Format::Other) {
    const FormatInfo& info = format_info(type.format);
    type = {info.name, type.format, info.block_elements, info.block_bytes};
  }
  return type;
}

std::string_view tensor_type_name(u32 file_type) {
  const std::optional<TensorType> type = tensor_type(file_type);
  return type ? type->name : std::string_view();
}

std::optional<u64> tensor_bytes(const TensorType& type, u64 elements) {
  const std::optional<u64> bytes = checked_mul(elements / type.block_elements, type.block_bytes);
  if (!bytes || *bytes > max_data_bytes) return std::nullopt;
  return bytes;
}

}  // namespace soma::gguf
