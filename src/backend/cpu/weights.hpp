// Weights on the CPU: matrices in groups of 16 columns (kernels/kernels.hpp), vectors as f32.
#pragma once

#include <map>

#include "backend/backend.hpp"
#include "backend/cpu/kernels/kernels.hpp"
#include "backend/cpu/memory.hpp"
#include "base/team.hpp"

namespace soma::cpu {

struct PackedWeight {
  WeightRef ref;
  PackedMatrix matrix = {};       // data is null for vectors
  const float* vector = nullptr;  // of ref.columns; null for matrices
};

class CpuWeights final : public Weights {
 public:
  // Checks all sources first; every problem is reported. Then the whole team packs.
  static Result<std::unique_ptr<CpuWeights>> pack(Team& team, std::span<const WeightSource> sources,
                                                  const FileBytes* file,
                                                  Backend::Progress progress,
                                                  const Cancel* cancel);
  u64 bytes() const override { return memory_.bytes(); }
  const PackedWeight* find(std::string_view tensor) const;

 private:
  CpuWeights() = default;
  std::map<std::string, PackedWeight, std::less<>> weights_;
  Mapping memory_;
};

}  // namespace soma::cpu
