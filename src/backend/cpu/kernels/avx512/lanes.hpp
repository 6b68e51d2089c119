// Sixteen float lanes for AVX-512: the vocabulary that ../lanes/*.inc are written in.
#pragma once

// GCC 12's own headers pass on "undefined" values that its warnings then complain of.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

#include "backend/cpu/kernels/constants.hpp"
#include "backend/cpu/kernels/packed.hpp"

#define SOMA_INLINE static inline __attribute__((always_inline))

namespace soma::cpu::avx512 {

struct Lanes {
  __m512 v;
};

// ---- Memory

SOMA_INLINE Lanes all(float value) { return {_mm512_set1_ps(value)}; }
SOMA_INLINE Lanes load(const float* from) { return {_mm512_loadu_ps(from)}; }
SOMA_INLINE void store(float* to, Lanes a) { _mm512_storeu_ps(to, a.v); }
SOMA_INLINE __m256i load_16_halves(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
SOMA_INLINE Lanes load_halves(const void* from) {
  return {_mm512_cvtph_ps(load_16_halves(from))};
}
SOMA_INLINE void store_halves(void* to, Lanes a) {
  _mm256_storeu_si256(static_cast<__m256i*>(to),
                      _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
SOMA_INLINE Lanes load_brains(const void* from) {
  const __m512i wide = _mm512_cvtepu16_epi32(load_16_halves(from));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
}

// The first `n` lanes; loading leaves zeros in the others, storing leaves the others alone.
SOMA_INLINE __mmask16 first_mask(int64_t n) {
  return static_cast<__mmask16>(n >= kGroup ? 0xffffu : (1u << n) - 1u);
}
SOMA_INLINE Lanes load_first(const float* from, int64_t n) {
  return {_mm512_maskz_loadu_ps(first_mask(n), from)};
}
SOMA_INLINE void store_first(float* to, int64_t n, Lanes a) {
  _mm512_mask_storeu_ps(to, first_mask(n), a.v);
}
// The first `n` lanes of a, the others of b.
SOMA_INLINE Lanes first_lanes(int64_t n, Lanes a, Lanes b) {
  return {_mm512_mask_mov_ps(b.v, first_mask(n), a.v)};
}

// ---- Arithmetic, a lane for itself

SOMA_INLINE Lanes plus(Lanes a, Lanes b) { return {_mm512_add_ps(a.v, b.v)}; }
SOMA_INLINE Lanes minus(Lanes a, Lanes b) { return {_mm512_sub_ps(a.v, b.v)}; }
SOMA_INLINE Lanes times(Lanes a, Lanes b) { return {_mm512_mul_ps(a.v, b.v)}; }
SOMA_INLINE Lanes over(Lanes a, Lanes b) { return {_mm512_div_ps(a.v, b.v)}; }
// a b + c with one rounding.
SOMA_INLINE Lanes fused(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
// a where a > b, else b: so b where either is not a number.
SOMA_INLINE Lanes larger(Lanes a, Lanes b) { return {_mm512_max_ps(a.v, b.v)}; }
SOMA_INLINE Lanes smaller(Lanes a, Lanes b) { return {_mm512_min_ps(a.v, b.v)}; }
SOMA_INLINE Lanes negated(Lanes a) {
  const __m512i sign = _mm512_set1_epi32(static_cast<int32_t>(0x80000000u));
  return {_mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(a.v), sign))};
}
SOMA_INLINE Lanes magnitude(Lanes a) {
  const __m512i rest = _mm512_set1_epi32(0x7fffffff);
  return {_mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(a.v), rest))};
}
// 0 where a is not a number.
SOMA_INLINE Lanes numbers(Lanes a) {
  return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a.v, a.v, _CMP_ORD_Q), a.v)};
}
// 0 where a < bound, else b.
SOMA_INLINE Lanes zero_below(Lanes a, Lanes bound, Lanes b) {
  return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a.v, bound.v, _CMP_NLT_UQ), b.v)};
}
// b where a <= bound, else c: so c where a is not a number.
SOMA_INLINE Lanes up_to(Lanes a, Lanes bound, Lanes b, Lanes c) {
  return {_mm512_mask_mov_ps(c.v, _mm512_cmp_ps_mask(a.v, bound.v, _CMP_LE_OQ), b.v)};
}
// a × 2^n where n is the whole number that stands in the low bits of `rounded`.
SOMA_INLINE Lanes scaled(Lanes a, Lanes rounded) {
  const __m512i power = _mm512_slli_epi32(_mm512_castps_si512(rounded.v), 23);
  return {_mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a.v), power))};
}

// ---- Across lanes: 8 with 8, 4 with 4, 2 with 2, 1 with 1

SOMA_INLINE __m256 upper_half(__m512 a) {
  return _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a), 1));
}
SOMA_INLINE float sum(Lanes a) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a.v), upper_half(a.v));
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}
SOMA_INLINE float largest(Lanes a) {
  const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a.v), upper_half(a.v));
  __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}

// ---- Neighbours: lanes by pairs (2i, 2i + 1)

// a0 b0 a1 b1 … of 8 numbers each.
SOMA_INLINE Lanes interleaved(const float* a, const float* b) {
  const __m512i order = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512 low = _mm512_castps256_ps512(_mm256_loadu_ps(a));
  const __m512 high = _mm512_castps256_ps512(_mm256_loadu_ps(b));
  return {_mm512_permutex2var_ps(low, order, high)};
}
SOMA_INLINE Lanes swapped(Lanes a) { return {_mm512_shuffle_ps(a.v, a.v, 0xb1)}; }
// Both lanes of a pair take its first, or its second.
SOMA_INLINE Lanes firsts(Lanes a) { return {_mm512_shuffle_ps(a.v, a.v, 0xa0)}; }
SOMA_INLINE Lanes seconds(Lanes a) { return {_mm512_shuffle_ps(a.v, a.v, 0xf5)}; }
SOMA_INLINE Lanes first_negated(Lanes a) {
  const __m512i sign = _mm512_set1_epi64(0x80000000);
  return {_mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(a.v), sign))};
}

// ---- Bytes

// 16 signed bytes as numbers.
SOMA_INLINE Lanes load_codes(const int8_t* from) {
  const void* bytes = from;
  return {_mm512_cvtepi32_ps(
      _mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(bytes))))};
}
// A line of 16 dwords, each of four codes of one column.
struct Line {
  __m512i v;
};
SOMA_INLINE Line load_line(const uint8_t* from) { return {_mm512_loadu_si512(from)}; }
// Signed byte i of each dword as a number.
SOMA_INLINE Lanes line_bytes(Line a, int i) {
  const __m512i top = _mm512_sllv_epi32(a.v, _mm512_set1_epi32(24 - 8 * i));
  return {_mm512_cvtepi32_ps(_mm512_srai_epi32(top, 24))};
}
// The four bits from `shift` of each dword, less `offset`, as a number.
SOMA_INLINE Lanes line_nibbles(Line a, int shift, int offset) {
  const __m512i bits = _mm512_srlv_epi32(a.v, _mm512_set1_epi32(shift));
  const __m512i code = _mm512_and_si512(bits, _mm512_set1_epi32(15));
  return {_mm512_cvtepi32_ps(_mm512_sub_epi32(code, _mm512_set1_epi32(offset)))};
}

// Stores 16 whole numbers of -128..127 as bytes and returns their sum.
SOMA_INLINE int32_t store_codes(uint8_t* to, Lanes a) {
  const __m512i codes = _mm512_cvtps_epi32(a.v);
  void* bytes = to;
  _mm_storeu_si128(static_cast<__m128i*>(bytes), _mm512_cvtepi32_epi8(codes));
  const __m256i eight =
      _mm256_add_epi32(_mm512_castsi512_si256(codes), _mm512_extracti64x4_epi64(codes, 1));
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}

}  // namespace soma::cpu::avx512
