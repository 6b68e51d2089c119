// What is done to one row of floats at a time: norm, quantisation, rotation, gate, sum, argmax.
#include "backend/cpu/kernels/scalar/numbers.hpp"
#include "backend/cpu/kernels/scalar/set.hpp"

namespace soma::cpu::scalar {

void rms_norm(const float* x, const float* weight, int64_t n, float epsilon, float* out) {
  float lanes[kGroup] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i % kGroup] = fused(x[i], x[i], lanes[i % kGroup]);
  const float mean = tree_sum(lanes) / static_cast<float>(n);
  const float scale = 1.0f / __builtin_sqrtf(mean + epsilon);
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * scale * weight[i];
}

// Writes a block of a row of n and puts what rounding left over in the place of its values.
static void quantize_block(float* v, int64_t block, int64_t n, uint8_t* out) {
  float lanes[kGroup];
  for (int i = 0; i < kGroup; ++i) {
    lanes[i] = larger(__builtin_fabsf(v[i]), __builtin_fabsf(v[i + kGroup]));
  }
  const float peak = tree_largest(lanes);
  const float inverse = peak > 0.0f ? kCodeLimit / peak : 0.0f;
  const float d = peak / kCodeLimit;
  int32_t sum = 0;
  for (int i = 0; i < kBlock; ++i) {
    float q = v[i] * inverse;
    q = q > kCodeLimit ? kCodeLimit : q < -kCodeLimit ? -kCodeLimit : q == q ? q : 0.0f;
    q = (q + kRound) - kRound;  // to the nearest whole number, ties to even
    v[i] = fused(q, -d, v[i]);
    const int8_t code = static_cast<int8_t>(q);
    sum += code;
    out[block * kBlock + i] = static_cast<uint8_t>(code);
  }
  const float s = d * static_cast<float>(sum);
  memcpy(out + scales_offset(n) + 4 * block, &d, sizeof d);
  memcpy(out + sums_offset(n) + 4 * block, &s, sizeof s);
}

void quantize(const float* x, int64_t n, uint8_t* out, uint8_t* left) {
  for (int64_t block = 0; block < n / kBlock; ++block) {
    float v[kBlock];
    memcpy(v, x + block * kBlock, sizeof v);
    quantize_block(v, block, n, out);
    if (left) quantize_block(v, block, n, left);
  }
}

void rope(float* head, int64_t dims, int32_t adjacent, const float* table) {
  const int64_t half = dims / 2;
  for (int64_t i = 0; i < half; ++i) {
    float* a = adjacent ? head + 2 * i : head + i;
    float* b = adjacent ? head + 2 * i + 1 : head + i + half;
    const float c = table[i];
    const float s = table[half + i];
    const float turned_a = fused(*a, c, -(*b * s));
    const float turned_b = fused(*a, s, *b * c);
    *a = turned_a;
    *b = turned_b;
  }
}

void silu_mul(const float* gate, const float* up, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) {
    out[i] = gate[i] / (1.0f + exponential(-gate[i])) * up[i];
  }
}

void add(const float* a, const float* b, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

int64_t argmax(const float* x, int64_t n) {
  int64_t best = -1;
  for (int64_t i = 0; i < n; ++i) {
    if (x[i] == x[i] && (best < 0 || x[i] > x[best])) best = i;
  }
  return best < 0 ? 0 : best;
}

}  // namespace soma::cpu::scalar
