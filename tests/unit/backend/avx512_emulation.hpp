// Lets sources written for AVX-512 compile and run on any x86-64: the functions our kernels use,
// lane by lane after the manufacturer's description. Must be the first header of its file.
//
// Why by hand: the public emulation header that Debian 12 has lacks a third of these functions and
// rounds a fused multiply-add twice. 128-bit functions are the machine's own.
#pragma once

#include <nmmintrin.h>

// The compilers' <immintrin.h> would declare the same names for instructions that may not be
// there; with its guard set, the kernels' include of it is empty.
#define _IMMINTRIN_H_INCLUDED
#define __IMMINTRIN_H

#include <cstring>

#include "backend/cpu/kernels/scalar/numbers.hpp"

#define _CMP_ORD_Q 0x07
#define _CMP_LE_OQ 0x12
#define _CMP_NLT_UQ 0x15

using __mmask16 = uint16_t;

struct alignas(32) __m256 { float f[8]; };
struct alignas(32) __m256d { double d[4]; };
struct alignas(32) __m256i { int32_t i[8]; };
struct alignas(64) __m512 { float f[16]; };
struct alignas(64) __m512d { double d[8]; };
struct alignas(64) __m512i { int32_t i[16]; };

namespace soma::cpu::emulation {

template <typename To, typename From>
To same_bits(const From& from) {  // the low part where To is narrower; zeros above where wider
  To to = {};
  std::memcpy(&to, &from, sizeof to < sizeof from ? sizeof to : sizeof from);
  return to;
}
template <typename Vector>
Vector read(const void* from) {
  Vector to;
  std::memcpy(&to, from, sizeof to);
  return to;
}
template <typename Vector>
Vector upper_half(const void* from) {
  return read<Vector>(static_cast<const char*>(from) + sizeof(Vector));
}

// One result a lane.
template <typename Function>
__m512 floats(Function lane) {
  __m512 out;
  for (int i = 0; i < 16; ++i) out.f[i] = lane(i);
  return out;
}
template <typename Function>
__m512i ints(Function lane) {
  __m512i out;
  for (int i = 0; i < 16; ++i) out.i[i] = lane(i);
  return out;
}
template <typename Element, typename Vector, typename Function>
Vector elements(const Vector& a, const Vector& b, Function lane) {
  constexpr size_t count = sizeof(Vector) / sizeof(Element);
  Element x[count], y[count];
  std::memcpy(x, &a, sizeof x);
  std::memcpy(y, &b, sizeof y);
  for (size_t i = 0; i < count; ++i) x[i] = static_cast<Element>(lane(x[i], y[i]));
  return read<Vector>(x);
}
inline int32_t wrapped(int64_t value) { return static_cast<int32_t>(static_cast<uint32_t>(value)); }

}  // namespace soma::cpu::emulation

namespace emulation = soma::cpu::emulation;

// Each one a call: unrolled and inlined, a kernel would take the compiler minutes.
#define EMULATED __attribute__((noinline, unused)) static
#define always_inline unused

// ---- Memory and constants

EMULATED __m512 _mm512_set1_ps(float a) {
  return emulation::floats([&](int) { return a; });
}
EMULATED __m512i _mm512_set1_epi32(int32_t a) {
  return emulation::ints([&](int) { return a; });
}
EMULATED __m512i _mm512_set1_epi8(int a) {
  return _mm512_set1_epi32(static_cast<int32_t>(0x01010101u * (static_cast<uint32_t>(a) & 0xffu)));
}
EMULATED __m512i _mm512_set1_epi64(int64_t a) {
  return emulation::ints([&](int i) { return static_cast<int32_t>(i % 2 ? a >> 32 : a); });
}
template <typename... Ints>
EMULATED __m512i _mm512_setr_epi32(Ints... lanes) {
  return {{lanes...}};
}
EMULATED __m512 _mm512_setzero_ps() { return {}; }
EMULATED __m512i _mm512_setzero_si512() { return {}; }
EMULATED __m512 _mm512_loadu_ps(const void* from) { return emulation::read<__m512>(from); }
EMULATED __m512 _mm512_load_ps(const void* from) {
  return *static_cast<const __m512*>(from);  // where alignment is checked, it is checked here
}
EMULATED __m512i _mm512_loadu_si512(const void* from) {
  return emulation::read<__m512i>(from);
}
EMULATED __m512i _mm512_load_si512(const void* from) { return _mm512_loadu_si512(from); }
EMULATED void _mm512_storeu_ps(void* to, const __m512& a) { std::memcpy(to, &a, sizeof a); }
EMULATED void _mm512_store_si512(void* to, const __m512i& a) { std::memcpy(to, &a, sizeof a); }
EMULATED __m512 _mm512_maskz_loadu_ps(__mmask16 mask, const void* from) {
  const float* x = static_cast<const float*>(from);
  return emulation::floats([&](int i) { return mask >> i & 1 ? x[i] : 0.0f; });
}
EMULATED void _mm512_mask_storeu_ps(void* to, __mmask16 mask, const __m512& a) {
  for (int i = 0; i < 16; ++i) {
    if (mask >> i & 1) static_cast<float*>(to)[i] = a.f[i];
  }
}
EMULATED __m256 _mm256_loadu_ps(const float* from) { return emulation::read<__m256>(from); }
EMULATED __m256i _mm256_loadu_si256(const __m256i* from) {
  return emulation::read<__m256i>(from);
}
EMULATED void _mm256_storeu_si256(__m256i* to, const __m256i& a) {
  std::memcpy(static_cast<void*>(to), &a, sizeof a);
}
EMULATED __m256i _mm256_set1_epi8(int a) {
  __m256i out;
  std::memset(&out, a, sizeof out);
  return out;
}
EMULATED __m256i _mm256_setzero_si256() { return {}; }

// ---- Parts and other names of the same bits

EMULATED __m512i _mm512_castps_si512(const __m512& a) { return emulation::same_bits<__m512i>(a); }
EMULATED __m512 _mm512_castsi512_ps(const __m512i& a) { return emulation::same_bits<__m512>(a); }
EMULATED __m512d _mm512_castps_pd(const __m512& a) { return emulation::same_bits<__m512d>(a); }
EMULATED __m256 _mm512_castps512_ps256(const __m512& a) { return emulation::same_bits<__m256>(a); }
EMULATED __m512 _mm512_castps256_ps512(const __m256& a) { return emulation::same_bits<__m512>(a); }
EMULATED __m256i _mm512_castsi512_si256(const __m512i& a) {
  return emulation::same_bits<__m256i>(a);
}
EMULATED __m256 _mm256_castpd_ps(const __m256d& a) { return emulation::same_bits<__m256>(a); }
EMULATED __m128 _mm256_castps256_ps128(const __m256& a) { return _mm_loadu_ps(a.f); }
EMULATED __m128i _mm256_castsi256_si128(const __m256i& a) {
  return _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(a.i)));
}
EMULATED __m256d _mm512_extractf64x4_pd(const __m512d& a, int) {
  return emulation::upper_half<__m256d>(&a);
}
EMULATED __m256i _mm512_extracti64x4_epi64(const __m512i& a, int) {
  return emulation::upper_half<__m256i>(&a);
}
EMULATED __m128 _mm256_extractf128_ps(const __m256& a, int) { return _mm_loadu_ps(a.f + 4); }
EMULATED __m128i _mm256_extracti128_si256(const __m256i& a, int) {
  return _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(a.i + 4)));
}

// ---- Floats

EMULATED __m512 _mm512_add_ps(const __m512& a, const __m512& b) {
  return emulation::floats([&](int i) { return a.f[i] + b.f[i]; });
}
EMULATED __m512 _mm512_sub_ps(const __m512& a, const __m512& b) {
  return emulation::floats([&](int i) { return a.f[i] - b.f[i]; });
}
EMULATED __m512 _mm512_mul_ps(const __m512& a, const __m512& b) {
  return emulation::floats([&](int i) { return a.f[i] * b.f[i]; });
}
EMULATED __m512 _mm512_div_ps(const __m512& a, const __m512& b) {
  return emulation::floats([&](int i) { return a.f[i] / b.f[i]; });
}
EMULATED __m512 _mm512_fmadd_ps(const __m512& a, const __m512& b, const __m512& c) {
  return emulation::floats([&](int i) { return __builtin_fmaf(a.f[i], b.f[i], c.f[i]); });
}
EMULATED __m512 _mm512_max_ps(const __m512& a, const __m512& b) {
  return emulation::floats([&](int i) { return a.f[i] > b.f[i] ? a.f[i] : b.f[i]; });
}
EMULATED __m512 _mm512_min_ps(const __m512& a, const __m512& b) {
  return emulation::floats([&](int i) { return a.f[i] < b.f[i] ? a.f[i] : b.f[i]; });
}
EMULATED __mmask16 _mm512_cmp_ps_mask(const __m512& a, const __m512& b, int relation) {
  unsigned mask = 0;
  for (int i = 0; i < 16; ++i) {
    const float x = a.f[i], y = b.f[i];
    const bool holds = relation == _CMP_ORD_Q   ? x == x && y == y
                       : relation == _CMP_LE_OQ ? x <= y
                                                : !(x < y);  // _CMP_NLT_UQ
    mask |= static_cast<unsigned>(holds) << i;
  }
  return static_cast<__mmask16>(mask);
}
EMULATED __m512 _mm512_mask_mov_ps(const __m512& other, __mmask16 mask, const __m512& a) {
  return emulation::floats([&](int i) { return mask >> i & 1 ? a.f[i] : other.f[i]; });
}
EMULATED __m512 _mm512_maskz_mov_ps(__mmask16 mask, const __m512& a) {
  return _mm512_mask_mov_ps(_mm512_setzero_ps(), mask, a);
}
EMULATED __m256 _mm256_add_ps(const __m256& a, const __m256& b) {
  return emulation::elements<float>(a, b, [](float x, float y) { return x + y; });
}
EMULATED __m256 _mm256_max_ps(const __m256& a, const __m256& b) {
  return emulation::elements<float>(a, b, [](float x, float y) { return x > y ? x : y; });
}
// Within each 128 bits: two lanes of a, then two of b, by pairs of bits of `order`.
EMULATED __m512 _mm512_shuffle_ps(const __m512& a, const __m512& b, int order) {
  return emulation::floats([&](int i) {
    const int from = i / 4 * 4 + (order >> i % 4 * 2 & 3);
    return i % 4 < 2 ? a.f[from] : b.f[from];
  });
}
EMULATED __m512 _mm512_permutex2var_ps(const __m512& a, const __m512i& order, const __m512& b) {
  return emulation::floats([&](int i) {
    const int from = order.i[i] & 15;
    return order.i[i] & 16 ? b.f[from] : a.f[from];
  });
}

// ---- Conversions

EMULATED __m512 _mm512_cvtph_ps(const __m256i& a) {
  uint16_t half[16];
  std::memcpy(half, &a, sizeof half);
  return emulation::floats([&](int i) { return soma::cpu::scalar::half_to_float(half[i]); });
}
EMULATED __m256i _mm512_cvtps_ph(const __m512& a, int) {
  uint16_t half[16];
  for (int i = 0; i < 16; ++i) half[i] = soma::cpu::scalar::float_to_half(a.f[i]);
  return emulation::read<__m256i>(half);
}
EMULATED __m128 _mm_cvtph_ps(__m128i a) {  // the kernels read lane 0 only
  return _mm_set_ss(soma::cpu::scalar::half_to_float(static_cast<uint16_t>(_mm_cvtsi128_si32(a))));
}
EMULATED __m512i _mm512_cvtepu16_epi32(const __m256i& a) {
  uint16_t word[16];
  std::memcpy(word, &a, sizeof word);
  return emulation::ints([&](int i) { return int32_t{word[i]}; });
}
EMULATED __m512i _mm512_cvtepi8_epi32(__m128i a) {
  int8_t byte[16];
  std::memcpy(byte, &a, sizeof byte);
  return emulation::ints([&](int i) { return int32_t{byte[i]}; });
}
EMULATED __m128i _mm512_cvtepi32_epi8(const __m512i& a) {
  int8_t byte[16];
  for (int i = 0; i < 16; ++i) byte[i] = static_cast<int8_t>(a.i[i]);
  return _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(byte)));
}
EMULATED __m512 _mm512_cvtepi32_ps(const __m512i& a) {
  return emulation::floats([&](int i) { return static_cast<float>(a.i[i]); });
}
EMULATED __m512i _mm512_cvtps_epi32(const __m512& a) {
  return emulation::ints([&](int i) { return _mm_cvtss_si32(_mm_set_ss(a.f[i])); });
}

// ---- Integers

EMULATED __m512i _mm512_and_si512(const __m512i& a, const __m512i& b) {
  return emulation::ints([&](int i) { return a.i[i] & b.i[i]; });
}
EMULATED __m512i _mm512_xor_si512(const __m512i& a, const __m512i& b) {
  return emulation::ints([&](int i) { return a.i[i] ^ b.i[i]; });
}
EMULATED __m512i _mm512_add_epi32(const __m512i& a, const __m512i& b) {
  return emulation::ints(
      [&](int i) { return emulation::wrapped(int64_t{a.i[i]} + b.i[i]); });
}
EMULATED __m512i _mm512_sub_epi32(const __m512i& a, const __m512i& b) {
  return emulation::ints(
      [&](int i) { return emulation::wrapped(int64_t{a.i[i]} - b.i[i]); });
}
EMULATED __m512i _mm512_sub_epi8(const __m512i& a, const __m512i& b) {
  return emulation::elements<int8_t>(a, b, [](int x, int y) { return x - y; });
}
EMULATED __m512i _mm512_slli_epi32(const __m512i& a, unsigned bits) {
  return emulation::ints(
      [&](int i) { return static_cast<int32_t>(static_cast<uint32_t>(a.i[i]) << bits); });
}
EMULATED __m512i _mm512_sllv_epi32(const __m512i& a, const __m512i& bits) {
  return emulation::ints(
      [&](int i) { return static_cast<int32_t>(static_cast<uint32_t>(a.i[i]) << bits.i[i]); });
}
EMULATED __m512i _mm512_srlv_epi32(const __m512i& a, const __m512i& bits) {
  return emulation::ints(
      [&](int i) { return static_cast<int32_t>(static_cast<uint32_t>(a.i[i]) >> bits.i[i]); });
}
EMULATED __m512i _mm512_srai_epi32(const __m512i& a, unsigned bits) {
  return emulation::ints([&](int i) { return a.i[i] >> bits; });
}
EMULATED __m512i _mm512_srli_epi16(const __m512i& a, unsigned bits) {
  return emulation::elements<uint16_t>(a, a, [&](unsigned x, unsigned) { return x >> bits; });
}
// sum + a0 b0 + a1 b1 + a2 b2 + a3 b3 in each lane, a unsigned and b signed bytes; wraps.
EMULATED __m512i _mm512_dpbusd_epi32(const __m512i& sum, const __m512i& a, const __m512i& b) {
  return emulation::ints([&](int i) {
    int64_t out = sum.i[i];
    for (int byte = 0; byte < 4; ++byte) {
      const int32_t x = a.i[i] >> 8 * byte & 255;
      out += x * static_cast<int8_t>(b.i[i] >> 8 * byte);
    }
    return emulation::wrapped(out);
  });
}
EMULATED __m256i _mm256_xor_si256(const __m256i& a, const __m256i& b) {
  return emulation::elements<int32_t>(a, b, [](int x, int y) { return x ^ y; });
}
EMULATED __m256i _mm256_add_epi32(const __m256i& a, const __m256i& b) {
  return emulation::elements<uint32_t>(a, b, [](uint32_t x, uint32_t y) { return x + y; });
}
// Σ |a − b| of each 8 bytes, as 64-bit numbers.
EMULATED __m256i _mm256_sad_epu8(const __m256i& a, const __m256i& b) {
  uint8_t x[32], y[32];
  std::memcpy(x, &a, sizeof x);
  std::memcpy(y, &b, sizeof y);
  uint64_t sums[4] = {};
  for (int i = 0; i < 32; ++i) {
    sums[i / 8] += static_cast<uint64_t>(x[i] > y[i] ? x[i] - y[i] : y[i] - x[i]);
  }
  return emulation::read<__m256i>(sums);
}

// The product's files define their functions under a name that does not meet the native one.
#define avx512 avx512_emulated
