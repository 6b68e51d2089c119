// Packs weights: dwords of 16 file rows are dealt out to the lanes of 64-byte lines.
//
// A line of an integer kind holds, for each of 16 columns, the dword with 4 consecutive codes. The
// 4-bit file formats keep elements i and i + 16 of a block in one byte, and so does the packed
// layout: packing them copies dwords. 5-bit codes become bytes. Scales and minimums stay the file's
// half floats, so a packed weight is worth exactly what the file's is. Rows past the last are
// zeros.
#include "backend/cpu/pack.hpp"

#include <cstring>

#include "backend/cpu/kernels/packed.hpp"

namespace soma::cpu {

namespace {

std::optional<PackKind> kind_of(Format format) {
  switch (format) {
    case Format::F32: return kF32;
    case Format::F16: return kF16;
    case Format::BF16: return kBF16;
    case Format::Q4_0: return kQ4;
    case Format::Q4_1: return kQ4M;
    case Format::Q5_0: return kQ8;
    case Format::Q5_1: return kQ8M;
    case Format::Q8_0: return kQ8;
    default: return std::nullopt;
  }
}

// One block of a file: its half-float scale and minimum, and its codes as they are packed.
struct FileBlock {
  const u8* scale;
  const u8* minimum;  // nullptr: none
  u8 codes[kBlock];   // 4-bit kinds use the first 16 bytes
};

// 5-bit codes: the fifth bits of all 32 come first, then 16 bytes of two nibbles.
void join_fifth_bits(const u8* fifth, const u8* nibbles, int offset, u8* codes) {
  u32 high = 0;
  std::memcpy(&high, fifth, sizeof high);
  for (u32 i = 0; i < kBlock; ++i) {
    const int low = i < 16 ? nibbles[i] & 15 : nibbles[i - 16] >> 4;
    codes[i] = static_cast<u8>((low | static_cast<int>(high >> i & 1) << 4) - offset);
  }
}

FileBlock read_block(Format format, const u8* at) {
  FileBlock block = {at, nullptr, {}};
  switch (format) {
    case Format::Q4_0: std::memcpy(block.codes, at + 2, 16); break;
    case Format::Q4_1:
      block.minimum = at + 2;
      std::memcpy(block.codes, at + 4, 16);
      break;
    case Format::Q5_0: join_fifth_bits(at + 2, at + 6, 16, block.codes); break;
    case Format::Q5_1:
      block.minimum = at + 2;
      join_fifth_bits(at + 4, at + 8, 0, block.codes);
      break;
    default: std::memcpy(block.codes, at + 2, kBlock); break;  // q8_0
  }
  return block;
}

void put_block(const FileBlock& block, PackKind kind, i64 index, i64 c, u8* group) {
  const PairShape shape = pair_shape(kind);
  u8* pair = group + index / 2 * shape.pair_bytes;
  const i64 h = index % 2;
  const i64 lines = shape.block_bytes / kLine;
  for (i64 j = 0; j < lines; ++j) {
    std::memcpy(pair + h * shape.block_bytes + j * kLine + 4 * c, block.codes + 4 * j, 4);
  }
  std::memcpy(pair + shape.scales_at + 32 * h + 2 * c, block.scale, 2);
  if (block.minimum) std::memcpy(pair + shape.minimums_at + 32 * h + 2 * c, block.minimum, 2);
}

void pack_blocks(const PackPlan& plan, const u8* source, i64 rows, u64 source_row, u8* group) {
  const u32 block_bytes = format_info(plan.format).block_bytes;
  for (i64 index = 0; index < plan.columns / kBlock; ++index) {
    for (i64 c = 0; c < rows; ++c) {
      const u8* at = source + static_cast<u64>(c) * source_row +
                     static_cast<u64>(index) * block_bytes;
      put_block(read_block(plan.format, at), plan.kind, index, c, group);
    }
  }
}

template <typename Element>
void pack_elements(const PackPlan& plan, const u8* source, i64 rows, u64 source_row, u8* group) {
  for (i64 k = 0; k < plan.columns; ++k) {
    for (i64 c = 0; c < rows; ++c) {
      std::memcpy(group + static_cast<u64>(k * kGroup + c) * sizeof(Element),
                  source + static_cast<u64>(c) * source_row + static_cast<u64>(k) * sizeof(Element),
                  sizeof(Element));
    }
  }
}

}  // namespace

std::optional<PackPlan> plan_pack(Format format, i64 rows, i64 columns) {
  const std::optional<PackKind> kind = kind_of(format);
  constexpr i64 limit = i64{1} << 40;  // of either side: no product below overflows unchecked
  if (!kind || rows < 1 || columns < 1 || rows > limit || columns > limit) return std::nullopt;
  if (!row_bytes(format, static_cast<u64>(columns))) return std::nullopt;
  PackPlan plan = {format, *kind, rows, columns, (rows + kGroup - 1) / kGroup,
                   packed_group_bytes(*kind, columns), 0};
  const std::optional<u64> bytes =
      checked_mul(static_cast<u64>(plan.groups), static_cast<u64>(plan.group_bytes));
  if (!bytes || *bytes > (u64{1} << 62)) return std::nullopt;
  plan.bytes = *bytes;
  return plan;
}

void pack_groups(const PackPlan& plan, const u8* source, i64 begin, i64 end, u8* out) {
  const u64 source_row = *row_bytes(plan.format, static_cast<u64>(plan.columns));
  for (i64 g = begin; g < end; ++g) {
    u8* group = out + g * plan.group_bytes;
    std::memset(group, 0, static_cast<size_t>(plan.group_bytes));
    const i64 left = plan.rows - g * kGroup;
    const i64 rows = left < kGroup ? left : i64{kGroup};
    const u8* first = source + static_cast<u64>(g * kGroup) * source_row;
    if (plan.kind == kF32) {
      pack_elements<u32>(plan, first, rows, source_row, group);
    } else if (is_integer(plan.kind)) {
      pack_blocks(plan, first, rows, source_row, group);
    } else {
      pack_elements<u16>(plan, first, rows, source_row, group);
    }
  }
}

}  // namespace soma::cpu
