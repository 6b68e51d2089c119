// Single numbers as NUMERICS.md defines them: half floats, exp, and the trees over 16 lanes.
#pragma once

#include "backend/cpu/kernels/constants.hpp"
#include "backend/cpu/kernels/packed.hpp"

namespace soma::cpu::scalar {

static inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// a unless b is at least as large or either is not a number: the rule of the x86 instruction.
static inline float larger(float a, float b) { return a > b ? a : b; }

static inline float float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline uint32_t bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float half_to_float(uint16_t half) {
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 31u;
  const uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: a multiple of 2^-24, exact
    return float_of_bits(sign | bits_of_float(static_cast<float>(mantissa) * 0x1p-24f));
  }
  if (exponent == 31) {  // infinity, or a number that is none and becomes quiet
    const uint32_t quiet = mantissa ? 0x400000u : 0u;
    return float_of_bits(sign | 0x7f800000u | mantissa << 13 | quiet);
  }
  return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

// To the nearest half float, ties to even; beyond 65504 and its half step: infinity.
static inline uint16_t float_to_half(float value) {
  const uint32_t bits = bits_of_float(value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t size = bits & 0x7fffffffu;
  uint32_t half;
  if (size > 0x7f800000u) {  // not a number: stays so, quietly
    half = 0x7e00u | (size >> 13 & 0x3ffu);
  } else if (size >= 0x477ff000u) {
    half = 0x7c00u;
  } else if (size < 0x38800000u) {  // below 2^-14: a multiple of 2^-24, rounded by adding 2^23
    half = bits_of_float(float_of_bits(size) * 0x1p24f + 0x1p23f) - bits_of_float(0x1p23f);
  } else {
    half = (size - (112u << 23) + 0xfffu + (size >> 13 & 1u)) >> 13;
  }
  return static_cast<uint16_t>(sign | half);
}

static inline float brain_to_float(uint16_t brain) {
  return float_of_bits(static_cast<uint32_t>(brain) << 16);
}

static inline float exponential(float x) {
  if (x != x) return x;
  if (x < kExpLowest) return 0.0f;
  if (x > kExpHighest) return kInfinity;
  const float rounded = fused(x, kLog2E, kRound);
  const float n = rounded - kRound;
  const float r = fused(n, -kLn2Low, fused(n, -kLn2High, x));
  float p = fused(kExp6, r, kExp5);
  p = fused(p, r, kExp4);
  p = fused(p, r, kExp3);
  p = fused(p, r, kExp2);
  p = fused(p, r, 1.0f);
  p = fused(p, r, 1.0f);
  return float_of_bits(bits_of_float(p) + (bits_of_float(rounded) << 23));
}

// 16 lanes to one: 8 + 8, 4 + 4, 2 + 2, 1 + 1.
static inline float tree_sum(const float* lanes) {
  float part[kGroup];
  memcpy(part, lanes, sizeof part);
  for (int width = kGroup / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) part[i] = part[i] + part[i + width];
  }
  return part[0];
}
static inline float tree_largest(const float* lanes) {
  float part[kGroup];
  memcpy(part, lanes, sizeof part);
  for (int width = kGroup / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) part[i] = larger(part[i], part[i + width]);
  }
  return part[0];
}

}  // namespace soma::cpu::scalar
