// Chooses a token from a row of logits.
#pragma once

#include "base/core.hpp"
#include "circuit/program/step_batch.hpp"

namespace soma::cpu {

// A token that may still be chosen.
struct Candidate {
  float weight;  // first its logit, then e^((logit − the largest) / temperature)
  u32 token;
};

// The lowest of the tokens with the largest logit.
i32 largest_logit(const float* logits, i64 vocabulary);

// Without a temperature the largest logit, and `candidates` is not used.
// `history`: the tokens up to this row; the penalty looks at the last penalty_window of them.
// `position`: of the row, the random number's key. `candidates`: room for `vocabulary` of them.
// In all cases logits that are NaN are never chosen, unless all are; then it is token 0.
i32 sample_token(const float* logits, i64 vocabulary, const Sampling& sampling,
                 std::span<const i32> history, i64 position, Candidate* candidates);

}  // namespace soma::cpu
