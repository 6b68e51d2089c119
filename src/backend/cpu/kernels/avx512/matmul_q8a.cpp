// Int8 activations times packed weights for AVX-512 VNNI: vpdpbusd over 16 columns, 4 codes each.
//
// A line of weights holds 4 consecutive codes of 16 columns; a dword of activations is broadcast to
// all lanes, so nothing is summed across lanes. The instruction wants unsigned weights: 4-bit codes
// are, 8-bit ones have their sign bit flipped, and what that adds to a block's sum (an offset times
// the sum of its activations) is where the sum starts, negated. Sums of blocks are exact, so all
// shapes below give the same bytes.
//
// A single row is bound by memory. One core keeps enough misses in flight only when it walks
// several far streams at once and prefetches, so it takes six groups together. With more rows the
// decoded weights are shared by up to eight, whose sums fill the registers.
#if defined(__x86_64__)

#include "backend/cpu/kernels/avx512/lanes.hpp"
#include "backend/cpu/kernels/avx512/set.hpp"

namespace soma::cpu::avx512 {

namespace {

#include "backend/cpu/kernels/lanes/sums.inc"

enum {
  kAhead = 2048,    // bytes that a stream prefetches ahead
  kChunkRows = 96,  // rows whose activations stay in the L2 cache while the groups pass
};

struct Job {
  const PackedMatrix* w;
  int64_t blocks;
  const uint8_t* x;
  int64_t x_bytes;
  float* out;
  int64_t out_stride;
  const int32_t* starts;  // of each block's sum, [rows][blocks], where the kind has an offset
};

// What unsigned codes are too large by.
constexpr int32_t unsigned_offset(PackKind kind) {
  return is_nibbles(kind) ? code_offset(kind) : 128;
}

SOMA_INLINE __m512i broadcast(const void* dword) { return _mm512_set1_epi32(load_int(dword)); }

// The codes of k = 4j.. and k = 16 + 4j.. of a block, unsigned.
struct TwoLines {
  __m512i first, second;
};
template <PackKind kind>
SOMA_INLINE TwoLines two_lines(const uint8_t* codes, int j) {
  const __m512i line = _mm512_load_si512(codes + j * kLine);
  if constexpr (is_nibbles(kind)) {
    const __m512i low = _mm512_set1_epi8(15);
    return {_mm512_and_si512(line, low), _mm512_and_si512(_mm512_srli_epi16(line, 4), low)};
  }
  const __m512i flip = _mm512_set1_epi8(-128);
  return {_mm512_xor_si512(line, flip),
          _mm512_xor_si512(_mm512_load_si512(codes + (4 + j) * kLine), flip)};
}

// The exact sums of one block for 16 columns and some rows. Two chains a row where few rows and
// streams are in flight: an instruction takes five clocks.
template <PackKind kind, unsigned rows, bool two_chains>
SOMA_INLINE void dot_block(const uint8_t* codes, const uint8_t* const* q,
                           const int32_t* const* starts, __m512i* whole) {
  __m512i other[rows];
  each<rows>(SOMA_BODY(r) {
    whole[r] = unsigned_offset(kind) ? broadcast(starts[r]) : _mm512_setzero_si512();
    other[r] = _mm512_setzero_si512();
  });
  each<4>(SOMA_BODY(j) {
    const TwoLines w = two_lines<kind>(codes, j);
    each<rows>(SOMA_BODY(r) {
      whole[r] = _mm512_dpbusd_epi32(whole[r], w.first, broadcast(q[r] + 4 * j));
      __m512i& sum = two_chains ? other[r] : whole[r];
      sum = _mm512_dpbusd_epi32(sum, w.second, broadcast(q[r] + 16 + 4 * j));
    });
  });
  if constexpr (two_chains) {
    each<rows>(SOMA_BODY(r) { whole[r] = _mm512_add_epi32(whole[r], other[r]); });
  }
}

// `streams` groups, `apart` from each other, times `rows` rows.
template <PackKind kind, unsigned streams, unsigned rows>
static __attribute__((noinline)) void multiply_tile(const Job& job, int64_t group, int64_t apart,
                                                    int64_t row, int64_t column, bool ahead) {
  constexpr int64_t block_bytes = pair_shape(kind).block_bytes;
  constexpr int64_t scales_at = pair_shape(kind).scales_at;
  constexpr int64_t minimums_at = pair_shape(kind).minimums_at;
  constexpr int64_t pair_bytes = pair_shape(kind).pair_bytes;
  const int64_t k = job.blocks * kBlock;
  const uint8_t* pair[streams];
  const uint8_t* x[rows];
  __m512 acc[streams][rows];
  each<streams>(SOMA_BODY(s) {
    pair[s] = job.w->data + (group + s * apart) * job.w->group_bytes;
    each<rows>(SOMA_BODY(r) { acc[s][r] = _mm512_setzero_ps(); });
  });
  each<rows>(SOMA_BODY(r) { x[r] = job.x + (row + r) * job.x_bytes; });
  for (int64_t b = 0; b < job.blocks; ++b) {
    const int64_t h = b & 1;
    const uint8_t* q[rows];
    const int32_t* starts[rows];
    each<rows>(SOMA_BODY(r) {
      q[r] = x[r] + b * kBlock;
      starts[r] = unsigned_offset(kind) ? job.starts + (row + r) * job.blocks + b : nullptr;
    });
    each<streams>(SOMA_BODY(s) {
      const uint8_t* scales = pair[s] + scales_at + 32 * h;
      __m512i whole[rows];
      dot_block<kind, rows, (streams * rows < 4)>(pair[s] + h * block_bytes, q, starts,
                                                  whole);
      if (ahead) {
        for (int64_t at = h * kLine; at < pair_bytes; at += 2 * kLine) {
          _mm_prefetch(pair[s] + kAhead + at, _MM_HINT_T0);
        }
      }
      const __m512 scale = load_halves(scales).v;
      const __m512 minimum =
          has_minimum(kind) ? load_halves(scales + (minimums_at - scales_at)).v : scale;
      each<rows>(SOMA_BODY(r) {
        const __m512 d = _mm512_set1_ps(load_float(x[r] + scales_offset(k) + 4 * b));
        acc[s][r] = _mm512_fmadd_ps(_mm512_mul_ps(scale, d), _mm512_cvtepi32_ps(whole[r]),
                                    acc[s][r]);
        if constexpr (has_minimum(kind)) {
          const __m512 sum = _mm512_set1_ps(load_float(x[r] + sums_offset(k) + 4 * b));
          acc[s][r] = _mm512_fmadd_ps(minimum, sum, acc[s][r]);
        }
      });
      pair[s] += h * pair_bytes;
    });
  }
  each<streams>(SOMA_BODY(s) {
    each<rows>(SOMA_BODY(r) {
      _mm512_storeu_ps(job.out + (row + r) * job.out_stride + column + s * apart * kGroup,
                       acc[s][r]);
    });
  });
}

// `rows` rows over all groups: as many far streams as fit, then the rest one by one.
template <PackKind kind, unsigned streams, unsigned rows>
static void multiply_rows(const Job& job, int64_t begin, int64_t end, int64_t row) {
  const int64_t apart = (end - begin) / streams;
  for (int64_t i = 0; i < apart; ++i) {
    multiply_tile<kind, streams, rows>(job, begin + i, apart, row, i * kGroup, row == 0);
  }
  for (int64_t g = begin + apart * streams; g < end; ++g) {
    multiply_tile<kind, 1, rows>(job, g, 0, row, (g - begin) * kGroup, row == 0);
  }
}

// Eights go group by group, so that a group's weights are in the L1 cache for all but the first.
template <PackKind kind>
static void multiply_chunk(const Job& job, int64_t begin, int64_t end, int64_t rows) {
  const int64_t eights = rows / 8 * 8;
  for (int64_t g = begin; eights > 0 && g < end; ++g) {
    for (int64_t row = 0; row < eights; row += 8) {
      multiply_tile<kind, 1, 8>(job, g, 0, row, (g - begin) * kGroup, row == 0);
    }
  }
  int64_t row = eights;
  for (; row + 4 <= rows; row += 4) multiply_rows<kind, 2, 4>(job, begin, end, row);
  switch (rows - row) {
    case 3: multiply_rows<kind, 2, 3>(job, begin, end, row); break;
    case 2: multiply_rows<kind, 3, 2>(job, begin, end, row); break;
    case 1: multiply_rows<kind, 6, 1>(job, begin, end, row); break;
    default: break;
  }
}

template <PackKind kind>
static void multiply(Job job, int64_t begin, int64_t end, int64_t rows, void* scratch) {
  int32_t* starts = static_cast<int32_t*>(scratch);
  job.starts = starts;
  for (int64_t row = 0; row < rows; row += kChunkRows) {
    const int64_t chunk = row + kChunkRows < rows ? int64_t{kChunkRows} : rows - row;
    if (unsigned_offset(kind)) {
      sum_rows(job.x, job.x_bytes, chunk, job.blocks, unsigned_offset(kind), starts);
    }
    multiply_chunk<kind>(job, begin, end, chunk);
    job.x += chunk * job.x_bytes;
    job.out += chunk * job.out_stride;
  }
}

}  // namespace

void matmul_q8a(const PackedMatrix* w, int64_t begin, int64_t end, const uint8_t* x,
                int64_t x_bytes, int64_t rows, float* out, int64_t out_stride, void* scratch) {
  const Job job = {w, w->columns / kBlock, x, x_bytes, out, out_stride, nullptr};
  switch (w->kind) {
    case kQ4: multiply<kQ4>(job, begin, end, rows, scratch); break;
    case kQ4M: multiply<kQ4M>(job, begin, end, rows, scratch); break;
    case kQ8: multiply<kQ8>(job, begin, end, rows, scratch); break;
    case kQ8M: multiply<kQ8M>(job, begin, end, rows, scratch); break;
    default: break;  // integer kinds only
  }
}

int64_t matmul_scratch_bytes(int64_t columns_max, int64_t rows_max) {
  const int64_t rows = rows_max < kChunkRows ? rows_max : int64_t{kChunkRows};
  return (rows * (columns_max / kBlock) * 4 + kLine - 1) / kLine * kLine;
}

}  // namespace soma::cpu::avx512

#endif
