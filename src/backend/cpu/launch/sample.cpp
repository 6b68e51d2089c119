// Sampling, from logits to one token.
//
// Order: repetition penalty, temperature, top-k, top-p, min-p, draw; without a temperature it is
// the largest logit, whatever else is set. The survivors are always the
// first few in descending order of weight (lower token first among equals), so one descent does
// all: build a heap in linear time, take candidates from its top, and stop at the first limit that
// is met: k of them, or the mass p, or one below min_p of the largest. Typically a few hundred are
// taken of fifty thousand, which costs far less than sorting. Without limits nothing is ordered
// at all.
//
// Everything is computed with the library's own exp and summed in doubles, one token after the
// other in a fixed order, so a seed gives the same text on every machine.
#include "backend/cpu/launch/sample.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "backend/cpu/launch/families.hpp"
#include "backend/cpu/launch/philox.hpp"
#include "base/float_environment.hpp"

namespace soma::cpu {

namespace {

constexpr float lowest = -std::numeric_limits<float>::infinity();
constexpr u32 penalised = u32{1} << 31;  // a mark on Candidate::token

// Heap order: the heaviest on top, and of equals the lowest token.
bool below(const Candidate& a, const Candidate& b) {
  return a.weight != b.weight ? a.weight < b.weight : a.token > b.token;
}

void penalise(Candidate* candidates, i64 vocabulary, const Sampling& sampling,
              std::span<const i32> history) {
  const auto window = static_cast<size_t>(std::max(0, sampling.penalty_window));
  const auto recent = history.last(std::min(window, history.size()));
  for (const i32 token : recent) {
    if (token < 0 || token >= vocabulary) continue;
    Candidate& candidate = candidates[token];
    if ((candidate.token & penalised) != 0) continue;  // once a token, however often it occurs
    candidate.token |= penalised;
    candidate.weight = candidate.weight > 0 ? candidate.weight / sampling.repetition_penalty
                                            : candidate.weight * sampling.repetition_penalty;
  }
  for (const i32 token : recent) {
    if (token >= 0 && token < vocabulary) candidates[token].token &= ~penalised;
  }
}

// 1/k!
constexpr int exp_terms = 15;
constexpr std::array<double, exp_terms> inverse_factorials = [] {
  std::array<double, exp_terms> table{};
  double factorial = 1;
  for (int k = 0; k < exp_terms; ++k) {
    table[static_cast<size_t>(k)] = 1 / factorial;
    factorial *= k + 1;
  }
  return table;
}();

// e^x for x <= 0 by Taylor's series after taking out powers of two: correct to 2e-16, and the same
// on every machine, as libm's is not. 0 below -700.
double exp_of(double x) {
  constexpr double ln2_high = 0x1.62e42feep-1;  // 32 bits, so that n × ln2_high is exact
  constexpr double ln2_low = 0x1.a39ef35793c76p-33;
  constexpr double log2_e = 0x1.71547652b82fep+0;
  if (!(x >= -700)) return 0;
  const auto n = static_cast<i64>(x * log2_e - 0.5);
  const auto whole = static_cast<double>(n);
  const double r = (x - whole * ln2_high) - whole * ln2_low;
  double sum = 0;
  for (size_t k = exp_terms; k-- > 0;) sum = inverse_factorials[k] + r * sum;
  return sum * std::bit_cast<double>(static_cast<u64>(n + 1023) << 52);
}

// Turns logits into e^((logit − largest) / temperature); the sum.
double exponentiate(Candidate* candidates, i64 count, double largest, double temperature) {
  double sum = 0;
  for (i64 i = 0; i < count; ++i) {
    float& weight = candidates[i].weight;
    weight = static_cast<float>(exp_of((weight - largest) / temperature));
    sum += weight;
  }
  return sum;
}

// Orders the survivors of the limits at the end of `candidates`, heaviest last, and returns how
// many there are. `mass` is the sum of all weights and becomes that of the survivors.
i64 survivors(Candidate* candidates, i64 count, const Sampling& sampling, double* mass) {
  std::make_heap(candidates, candidates + count, below);
  // The i-th heaviest: the heap is left with those after it.
  auto order = [&](i64 i) {
    std::pop_heap(candidates, candidates + (count - i), below);
    return candidates[count - 1 - i].weight;
  };
  const bool few = sampling.top_k > 0 && sampling.top_k < count;
  const i64 most = few ? i64{sampling.top_k} : count;
  if (few) {  // and then p is a part of the mass of these alone
    *mass = 0;
    for (i64 i = 0; i < most; ++i) *mass += order(i);
  }
  double kept = 0;
  double floor = 0;
  i64 taken = 0;
  while (taken < most) {
    const double weight = few ? candidates[count - 1 - taken].weight : order(taken);
    if (taken == 0) floor = sampling.min_p * weight;
    if (weight < floor) break;
    kept += weight;
    ++taken;
    if (kept >= sampling.top_p * *mass) break;
  }
  *mass = kept;
  return taken;
}

// The candidate in whose part of the mass the point `unit` falls, walking down from `last`; `best`
// if roundings left a sliver beyond the sum.
u32 draw(const Candidate* last, i64 count, double mass, double unit, u32 best) {
  double left = unit * mass;
  for (i64 i = 0; i < count; ++i) {
    left -= last[-i].weight;
    if (left < 0) return last[-i].token;
  }
  return best;
}

}  // namespace

i32 largest_logit(const float* logits, i64 vocabulary) {
  i64 best = -1;
  for (i64 i = 0; i < vocabulary; ++i) {
    if (!std::isnan(logits[i]) && (best < 0 || logits[i] > logits[best])) best = i;
  }
  return static_cast<i32>(std::max<i64>(best, 0));
}

i32 sample_token(const float* logits, i64 vocabulary, const Sampling& sampling,
                 std::span<const i32> history, i64 position, Candidate* candidates) {
  if (!(sampling.temperature > 0)) return largest_logit(logits, vocabulary);
  const DefaultFloats floats;
  for (i64 i = 0; i < vocabulary; ++i) {
    const float logit = logits[i];
    candidates[i] = {std::isnan(logit) ? lowest : logit, static_cast<u32>(i)};
  }
  if (sampling.repetition_penalty != 1) penalise(candidates, vocabulary, sampling, history);
  const Candidate best = *std::max_element(candidates, candidates + vocabulary, below);
  if (std::isinf(best.weight)) return static_cast<i32>(best.token);

  double mass = exponentiate(candidates, vocabulary, best.weight, sampling.temperature);
  const double unit = random_unit(sampling.seed, sampling.stream, static_cast<u64>(position));
  const bool limited = (sampling.top_k > 0 && sampling.top_k < vocabulary) ||
                       sampling.top_p < 1 || sampling.min_p > 0;
  const Candidate* end = candidates + vocabulary;
  const i64 taken = limited ? survivors(candidates, vocabulary, sampling, &mass) : vocabulary;
  return static_cast<i32>(draw(end - 1, taken, mass, unit, best.token));
}

void check_sample(const Operands& o, Checker& check) { check.equal("tokens", o.out.width, 1); }

void run_sample(const Operands& o, const Step& step, const Member& member, i64 begin, i64 end) {
  const StepBatch& batch = *step.batch;
  for (i64 r = begin; r < end; ++r) {
    const float* logits = step.floats(o.x, r);
    i32 token = 0;
    if (batch.sampling == nullptr || !(batch.sampling[r].temperature > 0)) {
      token = static_cast<i32>(member.kernels->argmax(logits, o.x.width));
    } else {
      std::span<const i32> history;
      if (batch.history != nullptr) history = {batch.history[r], batch.history_count[r]};
      token = sample_token(logits, o.x.width, batch.sampling[r], history,
                           batch.positions[batch.logit_row[r]],
                           reinterpret_cast<Candidate*>(member.tile));
    }
    *reinterpret_cast<i32*>(step.row(o.out, r)) = token;
  }
}

}  // namespace soma::cpu
