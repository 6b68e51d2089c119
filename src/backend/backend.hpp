// What a backend is: it says what it can do, packs weights, holds memory, and runs programs.
#pragma once

#include "base/cancel.hpp"
#include "base/file.hpp"
#include "base/core.hpp"
#include "circuit/program/launch.hpp"
#include "circuit/program/step_batch.hpp"

namespace soma {

// Where a weight's bytes are, by the name the circuit uses.
struct WeightSource {
  WeightRef ref;
  std::span<const u8> bytes;  // the file's rows
};

// Weights in the backend's own layout; shared by all programs and sessions of a model that ask for
// the same tensors. Immutable after pack().
class Weights {
 public:
  virtual ~Weights() = default;
  virtual u64 bytes() const = 0;
};

// The KV state: blocks of 16 positions, every layer. Its inside is the backend's.
struct KvGeometry {
  i64 layers = 0, kv_heads = 0, head_dim = 0;
  i64 blocks = 0;
  Format format = Format::F16;
};
class KvMemory {
 public:
  virtual ~KvMemory() = default;
  virtual u64 bytes() const = 0;
  // Copies whole blocks, for forks.
  virtual void copy_block(u32 from, u32 to) = 0;
};

// A program bound to weights: run() executes one step. One step at a time.
class Executable {
 public:
  virtual ~Executable() = default;
  // Runs the step on the team. `logits` receives logit_rows × vocabulary floats; `tokens` one token
  // a logit row. Looks at `cancel` between launches. On failure nothing but the KV positions of
  // this step's rows has changed.
  virtual Status run(const StepBatch& batch, KvMemory& kv, float* logits, i32* tokens,
                     const Cancel* cancel) = 0;
  virtual u64 memory_bytes() const = 0;  // arena and scratch
  virtual const Program& program() const = 0;
};

struct BackendCaps {
  std::string name;               // "cpu"
  std::string kernel_set;         // "avx2"
  KernelCatalogue catalogue;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const BackendCaps& caps() const = 0;
  // Checks every source against its ref (bytes, shape, format), then packs with the whole team.
  // `progress` (may be null) is called on the calling thread with done and total bytes; returning
  // false cancels.
  struct Progress {
    bool (*call)(void* user, u64 done, u64 total) = nullptr;
    void* user = nullptr;
  };
  // If the sources lie in `file` (may be null), its pages are discarded as they are packed: file
  // and packed form are then never in memory whole at the same time.
  virtual Result<std::unique_ptr<Weights>> pack(std::span<const WeightSource> sources,
                                                const FileBytes* file, Progress progress,
                                                const Cancel* cancel) = 0;
  virtual Result<std::unique_ptr<KvMemory>> allocate_kv(const KvGeometry& geometry) = 0;
  // The program and weights outlive the executable.
  virtual Result<std::unique_ptr<Executable>> bind(const Program& program,
                                                   const Weights& weights) = 0;
};

}  // namespace soma
