// One step's inputs, as tables: the only thing about a step that programs read. The same shape
// drives decode (1 row), several sequences, verify and prefill (many rows of one sequence).
#pragma once

#include "base/core.hpp"

namespace soma {

// How a row's next token is chosen. Zero-initialised: greedy.
struct Sampling {
  float temperature = 0;       // 0: greedy, whatever else is set
  i32 top_k = 0;               // 0: all
  float top_p = 1;             // 1: all
  float min_p = 0;             // 0: all; else keep p >= min_p × p_max
  float repetition_penalty = 1;  // 1: none; divides positive, multiplies negative logits
  i32 penalty_window = 64;     // how many last tokens the penalty looks at
  u64 seed = 0;
  u64 stream = 0;              // the random numbers are keyed by (seed, stream, position)
};

// Views; the owner keeps them alive for the step. Row r belongs to sequence sequence[r], sits at
// positions[r], and attends to positions 0..positions[r] of its own sequence.
struct StepBatch {
  u32 rows = 0;
  const i32* tokens = nullptr;         // [rows]
  const i32* positions = nullptr;      // [rows]
  const u32* block_row = nullptr;      // [rows] row -> row of block_tables
  const u32* block_tables = nullptr;   // [sequences × block_stride] KV block numbers
  u32 block_stride = 0;
  u32 logit_rows = 0;                  // how many rows want logits …
  const u32* logit_row = nullptr;      // … and which: [logit_rows], ascending
  const Sampling* sampling = nullptr;  // [logit_rows], or nullptr: greedy
  const i32* const* history = nullptr; // [logit_rows] tokens up to this row's, for penalties
  const u32* history_count = nullptr;  // [logit_rows]
};

}  // namespace soma
