// Sizes, maps and addresses the KV state.
#include "backend/cpu/kv.hpp"

#include <cstring>

namespace soma::cpu {

namespace {

// a × b, or nothing; neither may be negative.
std::optional<u64> product(std::optional<u64> a, i64 b) {
  if (!a || b < 0) return std::nullopt;
  return checked_mul(*a, static_cast<u64>(b));
}

}  // namespace

Result<std::unique_ptr<CpuKv>> CpuKv::create(const KvGeometry& geometry) {
  const bool is_f32 = geometry.format == Format::F32;
  if (!is_f32 && geometry.format != Format::F16) {
    return fail(Reason::argument_range, "the KV state is kept as f16 or f32, not {}",
                format_info(geometry.format).name);
  }
  const std::optional<u64> head = product(u64{is_f32 ? 4U : 2U} * kKvPositions, geometry.head_dim);
  const std::optional<u64> plane = product(head, geometry.kv_heads);
  const std::optional<u64> block = product(product(plane, 2), geometry.layers);
  const std::optional<u64> all = product(block, geometry.blocks);
  if (!all || *all > (u64{1} << 62)) {
    return fail(Reason::out_of_memory, "{} blocks of {} layers with {} KV heads of {} don't fit",
                geometry.blocks, geometry.layers, geometry.kv_heads, geometry.head_dim);
  }
  std::unique_ptr<CpuKv> kv(new CpuKv());
  kv->geometry_ = geometry;
  kv->head_bytes_ = *head;
  kv->plane_bytes_ = *plane;
  kv->block_bytes_ = *block;
  SOMA_ASSIGN(kv->memory_, Mapping::create(*all, "KV blocks"));
  return kv;
}

void CpuKv::copy_block(u32 from, u32 to) {
  std::memcpy(memory_.data() + to * block_bytes_, memory_.data() + from * block_bytes_,
              block_bytes_);
}

KvLayer CpuKv::layer(i32 index) const {
  u8* k = memory_.data() + static_cast<u64>(index) * 2 * plane_bytes_;
  return {.k = k,
          .v = k + plane_bytes_,
          .block_bytes = static_cast<i64>(block_bytes_),
          .head_bytes = static_cast<i64>(head_bytes_),
          .head_dim = static_cast<i32>(geometry_.head_dim),
          .is_f32 = geometry_.format == Format::F32};
}

}  // namespace soma::cpu
