// A program bound to weights and given memory: the step loop of the CPU backend.
#pragma once

#include "backend/cpu/bind.hpp"
#include "backend/cpu/claims.hpp"
#include "base/team.hpp"

namespace soma::cpu {

class CpuExecutable final : public Executable {
 public:
  static Result<std::unique_ptr<CpuExecutable>> create(const Program& program,
                                                       const CpuWeights& weights, Team& team,
                                                       const KernelSet& kernels);

  Status run(const StepBatch& batch, KvMemory& kv, float* logits, i32* tokens,
             const Cancel* cancel) override;
  u64 memory_bytes() const override { return memory_.bytes(); }
  const Program& program() const override { return program_; }

 private:
  CpuExecutable(const Program& program, BoundProgram bound, Team& team, const KernelSet& kernels);
  Status allocate();
  Status check_batch(const StepBatch& batch, const CpuKv& kv) const;
  Status check_row(const StepBatch& batch, const CpuKv& kv, u32 row) const;
  void prepare_step(const StepBatch& batch);
  void find_spans(const StepBatch& batch);
  void cut_launches(i64 rows, i64 logit_rows);
  i64 units(const BoundLaunch& launch, i64 rows) const;
  i64 chunk_units(const BoundLaunch& launch, i64 rows, i64 units) const;
  void walk(i32 member);
  void work(i64 launch, Claims::Cursor& cursor);

  const Program& program_;
  BoundProgram bound_;
  Team& team_;
  const KernelSet& kernels_;
  Mapping memory_;              // arena, hidden stream, rope tables, members' scratch
  std::vector<Member> members_;
  std::vector<float*> ropes_;   // [rope]
  std::vector<RowSpan> spans_;  // [rows_max]
  Claims claims_;
  // How the launches are cut for cut_rows_ and cut_logit_rows_, the numbers of the last step.
  struct Cut {
    i64 units = 0, chunk = 1;
  };
  std::vector<Cut> cuts_;
  i64 cut_rows_ = -1, cut_logit_rows_ = -1;
  // The step that is running.
  Step step_;
  const Cancel* cancel_ = nullptr;
};

}  // namespace soma::cpu
