// A program bound to weights: names resolved, contracts checked, sizes known. Nothing of it is
// computed again in a step.
#pragma once

#include "backend/cpu/launch/launch.hpp"
#include "backend/cpu/rope_table.hpp"
#include "backend/cpu/weights.hpp"

namespace soma::cpu {

struct BoundLaunch {
  const LaunchKind* kind = nullptr;
  Operands operands;
  Grid grid;
  bool barrier_before = true;
};

struct BoundProgram {
  std::vector<BoundLaunch> launches;
  std::vector<RopeTable> ropes;
  i64 rows_max = 0;
  i64 vocabulary = 0;       // tokens lie below
  i64 span_rows = span_rows_max;  // rows that attention takes together
  i64 queries_max = 0;
  i64 input_width_max = 0;  // of matrix products
  i64 width_max = 0;        // of anything that passes through a member's row
  i64 prepared_bytes = 0;
  i64 sampled_width = 0;    // candidates of a row of logits
};

// Every launch against its kind, every argument against its place: all problems, collected.
Result<BoundProgram> bind_program(const Program& program, const CpuWeights& weights);

}  // namespace soma::cpu
