// Proves that a packed weight is worth what the file says, by a dequantiser written from the file
// formats' description alone, and that ranges of groups are packed independently.
#include "backend/cpu/pack.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "kernel_parity.hpp"

namespace soma::cpu {

namespace {

float half(const u8* at) {
  const u32 bits = static_cast<u32>(at[0] | at[1] << 8);
  const i32 exponent = static_cast<i32>(bits >> 10 & 31);
  const float mantissa = static_cast<float>(bits & 1023);
  const float size = exponent == 0 ? std::ldexp(mantissa, -24)
                                   : std::ldexp(1024.0f + mantissa, exponent - 25);
  return bits & 0x8000 ? -size : size;
}

// Element i of a file block, as the format's description has it.
float element(Format format, const u8* block, u32 i) {
  const auto nibble = [&](const u8* at) { return i < 16 ? at[i] & 15 : at[i - 16] >> 4; };
  const auto fifth = [&](const u8* at) { return (at[i / 8] >> i % 8 & 1) << 4; };
  const auto number = [](int code) { return static_cast<float>(code); };
  switch (format) {
    case Format::Q4_0: return half(block) * number(nibble(block + 2) - 8);
    case Format::Q4_1:
      return std::fma(half(block), number(nibble(block + 4)), half(block + 2));
    case Format::Q5_0:
      return half(block) * number((nibble(block + 6) | fifth(block + 2)) - 16);
    case Format::Q5_1:
      return std::fma(half(block), number(nibble(block + 8) | fifth(block + 4)), half(block + 2));
    case Format::Q8_0: return half(block) * number(static_cast<i8>(block[2 + i]));
    default: break;
  }
  if (format == Format::F16) return half(block);
  u32 bits = 0;
  std::memcpy(&bits, block, format == Format::F32 ? 4 : 2);
  if (format == Format::BF16) bits <<= 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Rows of a file: random bytes, with scales and plain elements kept finite.
std::vector<u8> file_rows(TestNumbers* numbers, Format format, i64 rows, i64 columns) {
  const FormatInfo& info = format_info(format);
  std::vector<u8> out(static_cast<size_t>(rows * columns / info.block_elements * info.block_bytes));
  for (u8& byte : out) byte = static_cast<u8>(numbers->next());
  const bool minimum = format == Format::Q4_1 || format == Format::Q5_1;
  for (size_t at = 0; at < out.size(); at += info.block_bytes) {
    out[at + (format == Format::F32 ? 3 : 1)] &= 0xbb;
    if (minimum) out[at + 3] &= 0xbb;
  }
  return out;
}

constexpr Format formats[] = {Format::F32,  Format::F16,  Format::BF16, Format::Q4_0,
                              Format::Q4_1, Format::Q5_0, Format::Q5_1, Format::Q8_0};

struct Packed {
  std::vector<u8> memory;
  u8* data = nullptr;
  explicit Packed(const PackPlan& plan) : memory(plan.bytes + 64, 0xcd), data(memory.data()) {
    while (reinterpret_cast<uintptr_t>(data) % 64 != 0) ++data;
  }
};

}  // namespace

TEST_CASE("a packed weight is worth what the file says") {
  TestNumbers numbers(21);
  for (const Format format : formats) {
    for (const i64 columns : {32, 96, 160}) {
      const i64 rows = 37;
      CAPTURE(format_info(format).name);
      const std::vector<u8> file = file_rows(&numbers, format, rows, columns);
      const PackPlan plan = plan_pack(format, rows, columns).value();
      CHECK(plan.groups == 3);
      Packed packed(plan);
      pack_groups(plan, file.data(), 2, 3, packed.data);  // in any order, in any pieces
      pack_groups(plan, file.data(), 0, 2, packed.data);
      const PackedMatrix w = packed_matrix(plan, packed.data);
      const FormatInfo& info = format_info(format);
      std::vector<float> got(static_cast<size_t>(columns)), want(got.size());
      for (i64 row = 0; row < rows; ++row) {
        scalar_kernels->embed(&w, row, got.data());
        for (i64 k = 0; k < columns; ++k) {
          const i64 block = (row * columns + k) / info.block_elements;
          want[static_cast<size_t>(k)] =
              element(format, file.data() + block * info.block_bytes,
                      static_cast<u32>(k % info.block_elements));
        }
        CHECK(first_difference(got, want) == -1);
      }
      for (i64 row = rows; row < plan.groups * kGroup; ++row) {  // the padding is zeros
        scalar_kernels->embed(&w, row, got.data());
        for (const float value : got) CHECK(value == 0.0f);
      }
    }
  }
}

TEST_CASE("what no kernel reads, and what does not fit, is not packed") {
  CHECK(!plan_pack(Format::Q4_K, 16, 256));
  CHECK(!plan_pack(Format::Other, 16, 256));
  CHECK(!plan_pack(Format::Q4_0, 16, 33));
  CHECK(!plan_pack(Format::Q4_0, 0, 32));
  CHECK(!plan_pack(Format::F32, 16, 0));
  CHECK(!plan_pack(Format::F32, -16, 32));
  CHECK(!plan_pack(Format::F32, i64{1} << 62, 32));
  CHECK(!plan_pack(Format::F32, i64{1} << 40, i64{1} << 40));
  CHECK(plan_pack(Format::F32, 1, 1));
}

}  // namespace soma::cpu
