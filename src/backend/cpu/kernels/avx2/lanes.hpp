// Sixteen float lanes for AVX2: the vocabulary that ../lanes/*.inc are written in.
#pragma once

#include <immintrin.h>

#include "backend/cpu/kernels/constants.hpp"
#include "backend/cpu/kernels/packed.hpp"

#define SOMA_INLINE static inline __attribute__((always_inline))

namespace soma::cpu::avx2 {

struct Lanes {
  __m256 low, high;  // lanes 0..7 and 8..15
};

// ---- Memory

SOMA_INLINE Lanes all(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }
SOMA_INLINE Lanes load(const float* from) {
  return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)};
}
SOMA_INLINE void store(float* to, Lanes a) {
  _mm256_storeu_ps(to, a.low);
  _mm256_storeu_ps(to + 8, a.high);
}
SOMA_INLINE Lanes load_halves(const void* from) {
  const __m128i* half = static_cast<const __m128i*>(from);
  return {_mm256_cvtph_ps(_mm_loadu_si128(half)), _mm256_cvtph_ps(_mm_loadu_si128(half + 1))};
}
SOMA_INLINE void store_halves(void* to, Lanes a) {
  __m128i* half = static_cast<__m128i*>(to);
  _mm_storeu_si128(half, _mm256_cvtps_ph(a.low, _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128(half + 1, _mm256_cvtps_ph(a.high, _MM_FROUND_TO_NEAREST_INT));
}
SOMA_INLINE Lanes load_brains(const void* from) {
  const __m128i* half = static_cast<const __m128i*>(from);
  const __m256i low = _mm256_cvtepu16_epi32(_mm_loadu_si128(half));
  const __m256i high = _mm256_cvtepu16_epi32(_mm_loadu_si128(half + 1));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(low, 16)),
          _mm256_castsi256_ps(_mm256_slli_epi32(high, 16))};
}

// The first `n` lanes; loading leaves zeros in the others, storing leaves the others alone.
SOMA_INLINE __m256i first_mask(int64_t n) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(n)), lane);
}
SOMA_INLINE Lanes load_first(const float* from, int64_t n) {
  return {_mm256_maskload_ps(from, first_mask(n)), _mm256_maskload_ps(from + 8, first_mask(n - 8))};
}
SOMA_INLINE void store_first(float* to, int64_t n, Lanes a) {
  _mm256_maskstore_ps(to, first_mask(n), a.low);
  _mm256_maskstore_ps(to + 8, first_mask(n - 8), a.high);
}
// The first `n` lanes of a, the others of b.
SOMA_INLINE Lanes first_lanes(int64_t n, Lanes a, Lanes b) {
  return {_mm256_blendv_ps(b.low, a.low, _mm256_castsi256_ps(first_mask(n))),
          _mm256_blendv_ps(b.high, a.high, _mm256_castsi256_ps(first_mask(n - 8)))};
}

// ---- Arithmetic, a lane for itself

SOMA_INLINE Lanes plus(Lanes a, Lanes b) {
  return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}
SOMA_INLINE Lanes minus(Lanes a, Lanes b) {
  return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
}
SOMA_INLINE Lanes times(Lanes a, Lanes b) {
  return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}
SOMA_INLINE Lanes over(Lanes a, Lanes b) {
  return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
}
// a b + c with one rounding.
SOMA_INLINE Lanes fused(Lanes a, Lanes b, Lanes c) {
  return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
// a where a > b, else b: so b where either is not a number.
SOMA_INLINE Lanes larger(Lanes a, Lanes b) {
  return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
}
SOMA_INLINE Lanes smaller(Lanes a, Lanes b) {
  return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
}
SOMA_INLINE Lanes negated(Lanes a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_xor_ps(a.low, sign), _mm256_xor_ps(a.high, sign)};
}
SOMA_INLINE Lanes magnitude(Lanes a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(sign, a.low), _mm256_andnot_ps(sign, a.high)};
}
// 0 where a is not a number.
SOMA_INLINE Lanes numbers(Lanes a) {
  return {_mm256_and_ps(a.low, _mm256_cmp_ps(a.low, a.low, _CMP_ORD_Q)),
          _mm256_and_ps(a.high, _mm256_cmp_ps(a.high, a.high, _CMP_ORD_Q))};
}
// 0 where a < bound, else b.
SOMA_INLINE Lanes zero_below(Lanes a, Lanes bound, Lanes b) {
  return {_mm256_andnot_ps(_mm256_cmp_ps(a.low, bound.low, _CMP_LT_OQ), b.low),
          _mm256_andnot_ps(_mm256_cmp_ps(a.high, bound.high, _CMP_LT_OQ), b.high)};
}
// b where a <= bound, else c: so c where a is not a number.
SOMA_INLINE Lanes up_to(Lanes a, Lanes bound, Lanes b, Lanes c) {
  return {_mm256_blendv_ps(c.low, b.low, _mm256_cmp_ps(a.low, bound.low, _CMP_LE_OQ)),
          _mm256_blendv_ps(c.high, b.high, _mm256_cmp_ps(a.high, bound.high, _CMP_LE_OQ))};
}
// a × 2^n where n is the whole number that stands in the low bits of `rounded`.
SOMA_INLINE Lanes scaled(Lanes a, Lanes rounded) {
  const __m256i low = _mm256_slli_epi32(_mm256_castps_si256(rounded.low), 23);
  const __m256i high = _mm256_slli_epi32(_mm256_castps_si256(rounded.high), 23);
  return {_mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a.low), low)),
          _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a.high), high))};
}

// ---- Across lanes: 8 with 8, 4 with 4, 2 with 2, 1 with 1

SOMA_INLINE float sum(Lanes a) {
  const __m256 eight = _mm256_add_ps(a.low, a.high);
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}
SOMA_INLINE float largest(Lanes a) {
  const __m256 eight = _mm256_max_ps(a.low, a.high);
  __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}

// ---- Neighbours: lanes by pairs (2i, 2i + 1)

// a0 b0 a1 b1 … of 8 numbers each.
SOMA_INLINE Lanes interleaved(const float* a, const float* b) {
  const __m256 low = _mm256_unpacklo_ps(_mm256_loadu_ps(a), _mm256_loadu_ps(b));
  const __m256 high = _mm256_unpackhi_ps(_mm256_loadu_ps(a), _mm256_loadu_ps(b));
  return {_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31)};
}
SOMA_INLINE Lanes swapped(Lanes a) {
  return {_mm256_permute_ps(a.low, 0xb1), _mm256_permute_ps(a.high, 0xb1)};
}
// Both lanes of a pair take its first, or its second.
SOMA_INLINE Lanes firsts(Lanes a) {
  return {_mm256_moveldup_ps(a.low), _mm256_moveldup_ps(a.high)};
}
SOMA_INLINE Lanes seconds(Lanes a) {
  return {_mm256_movehdup_ps(a.low), _mm256_movehdup_ps(a.high)};
}
SOMA_INLINE Lanes first_negated(Lanes a) {
  const __m256 sign = _mm256_castsi256_ps(_mm256_set1_epi64x(0x80000000));
  return {_mm256_xor_ps(a.low, sign), _mm256_xor_ps(a.high, sign)};
}

// ---- Bytes

// 16 signed bytes as numbers.
SOMA_INLINE Lanes load_codes(const int8_t* from) {
  const void* at = from;
  const __m128i bytes = _mm_loadu_si128(static_cast<const __m128i*>(at));
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
          _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
}

// A line of 16 dwords, each of four codes of one column.
struct Line {
  __m256i low, high;
};
SOMA_INLINE Line load_line(const uint8_t* from) {
  const __m256i* half = static_cast<const __m256i*>(static_cast<const void*>(from));
  return {_mm256_loadu_si256(half), _mm256_loadu_si256(half + 1)};
}
// Signed byte i of each dword as a number.
SOMA_INLINE Lanes line_bytes(Line a, int i) {
  const int up = 24 - 8 * i;
  return {_mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(a.low, up), 24)),
          _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(a.high, up), 24))};
}
// The four bits from `shift` of each dword, less `offset`, as a number.
SOMA_INLINE Lanes line_nibbles(Line a, int shift, int offset) {
  const __m256i mask = _mm256_set1_epi32(15);
  const __m256i less = _mm256_set1_epi32(offset);
  const __m256i low = _mm256_and_si256(_mm256_srli_epi32(a.low, shift), mask);
  const __m256i high = _mm256_and_si256(_mm256_srli_epi32(a.high, shift), mask);
  return {_mm256_cvtepi32_ps(_mm256_sub_epi32(low, less)),
          _mm256_cvtepi32_ps(_mm256_sub_epi32(high, less))};
}

// Stores 16 whole numbers of -128..127 as bytes and returns their sum.
SOMA_INLINE int32_t store_codes(uint8_t* to, Lanes a) {
  const __m256i low = _mm256_cvtps_epi32(a.low);
  const __m256i high = _mm256_cvtps_epi32(a.high);
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words),
                                        _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(static_cast<__m128i*>(static_cast<void*>(to)), bytes);
  const __m256i eight = _mm256_add_epi32(low, high);
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}

}  // namespace soma::cpu::avx2
