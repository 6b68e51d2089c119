// The KV state on the CPU.
#pragma once

#include "backend/backend.hpp"
#include "backend/cpu/kernels/kernels.hpp"
#include "backend/cpu/memory.hpp"

namespace soma::cpu {

// A block's bytes for all layers lie together (layer, then K before V, then head), so the pages
// that are touched follow the positions that are filled, and a fork copies one stretch.
class CpuKv final : public KvMemory {
 public:
  static Result<std::unique_ptr<CpuKv>> create(const KvGeometry& geometry);

  u64 bytes() const override { return memory_.bytes(); }
  void copy_block(u32 from, u32 to) override;
  const KvGeometry& geometry() const { return geometry_; }
  KvLayer layer(i32 index) const;

 private:
  CpuKv() = default;
  KvGeometry geometry_;
  u64 head_bytes_ = 0, plane_bytes_ = 0, block_bytes_ = 0;  // plane: K or V of a layer
  Mapping memory_;
};

}  // namespace soma::cpu
