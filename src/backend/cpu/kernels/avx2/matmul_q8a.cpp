// Int8 activations times packed weights for AVX2: vpmaddubsw over 16 columns, 4 codes each.
//
// A line of weights holds 4 consecutive codes of 16 columns, so a dword of activations, repeated in
// all lanes, meets it without any sum across lanes. Unsigned 4-bit codes times int8 fit 16 bits for
// a whole block (8 × 2 × 15 × 127 < 2^15). 8-bit codes don't: |w| times x with w's sign fits one
// product pair only (2 × 128 × 127 < 2^15), and split into two nibbles they are like 4-bit codes.
//
// Few rows: the weights stream from memory, decoded in registers; a core's bandwidth comes from
// many misses in flight, so a single row walks two far streams (groups) at once and prefetches.
// Many rows: a panel (one group, some blocks) is decoded once into the L1 cache and all rows of a
// chunk pass over it, three at a time. The sums of blocks are exact, so both ways give the same.
#if defined(__x86_64__)

#include "backend/cpu/kernels/avx2/lanes.hpp"
#include "backend/cpu/kernels/avx2/set.hpp"

namespace soma::cpu::avx2 {

namespace {

#include "backend/cpu/kernels/lanes/sums.inc"

enum {
  kStreams = 2,       // groups a single row walks at once
  kPanelRows = 8,     // from here on panels pay
  kTileRows = 3,      // rows that share a loaded weight: 6 integer and 6 float sums in registers
  kPanelBlocks = 24,  // of a panel: 12 KB of 4-bit codes, 24 KB of 8-bit ones
  kChunkRows = 96,    // rows whose activations stay in the L2 cache while panels pass
};

// Bytes that a stream prefetches ahead. As kStreams and the others, measured on a Zen 3: far ahead
// helps 4-bit codes most, and hurts 8-bit ones, which the hardware's own prefetch serves well.
constexpr int64_t bytes_ahead(PackKind kind) { return is_nibbles(kind) ? 1024 : 256; }

struct Job {
  const PackedMatrix* w;
  int64_t blocks;
  const uint8_t* x;
  int64_t x_bytes;
  float* out;
  int64_t out_stride;
  const int32_t* starts;  // of each block's sum, [rows][blocks], where the kind has an offset
};

// The order of additions as written: GCC makes a tree of them, and its leaves overflow the
// registers.
SOMA_INLINE __m256i in_order(__m256i a) {
  __asm__("" : "+x"(a));
  return a;
}

SOMA_INLINE __m256i load_bytes(const uint8_t* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(static_cast<const void*>(from)));
}
SOMA_INLINE void store_bytes(uint8_t* to, __m256i a) {
  _mm256_storeu_si256(static_cast<__m256i*>(static_cast<void*>(to)), a);
}
SOMA_INLINE __m256i repeated(const uint8_t* from) { return _mm256_set1_epi32(load_int(from)); }
SOMA_INLINE __m256i repeated_int(const int32_t* from) { return _mm256_set1_epi32(*from); }
SOMA_INLINE __m256 halves(const uint8_t* from) {
  const void* half = from;
  return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(half)));
}

// acc = fma(dw da, isum, acc), then acc = fma(m, s, acc) where there are minimums.
template <PackKind kind>
SOMA_INLINE __m256 added(__m256 acc, __m256i whole, __m256 scale, __m256 minimum, float d,
                         float s) {
  acc = _mm256_fmadd_ps(_mm256_mul_ps(scale, _mm256_set1_ps(d)), _mm256_cvtepi32_ps(whole), acc);
  return has_minimum(kind) ? _mm256_fmadd_ps(minimum, _mm256_set1_ps(s), acc) : acc;
}

// ---- Few rows: straight from the packed weights

// Adds what 8 columns' line of 4-bit codes gives, to pairs of 16 bits: k = 4j.. and k = 16 + 4j..
SOMA_INLINE __m256i nibbles_added(__m256i sum, __m256i line, __m256i x, __m256i y) {
  const __m256i low = _mm256_set1_epi8(15);
  const __m256i a = _mm256_maddubs_epi16(_mm256_and_si256(line, low), x);
  const __m256i b = _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16(line, 4), low), y);
  return in_order(_mm256_add_epi16(sum, _mm256_add_epi16(a, b)));
}
// Adds what 8 columns' line of signed codes gives, in 32 bits.
SOMA_INLINE __m256i bytes_added(__m256i sum, __m256i line, __m256i x) {
  const __m256i a = _mm256_maddubs_epi16(_mm256_abs_epi8(line), _mm256_sign_epi8(x, line));
  return in_order(_mm256_add_epi32(sum, _mm256_madd_epi16(a, _mm256_set1_epi16(1))));
}

// The exact sums of one block for 16 columns: codes are lines, q activations.
template <PackKind kind, unsigned rows>
SOMA_INLINE void dot_block(const uint8_t* codes, const uint8_t* const* q, __m256i whole[][2]) {
  each<rows>(SOMA_BODY(r) { whole[r][0] = whole[r][1] = _mm256_setzero_si256(); });
  each<4>(SOMA_BODY(j) {
    const __m256i low = load_bytes(codes + j * kLine);
    const __m256i high = load_bytes(codes + j * kLine + 32);
    each<rows>(SOMA_BODY(r) {
      const __m256i x = repeated(q[r] + 4 * j);
      const __m256i y = repeated(q[r] + 16 + 4 * j);
      if constexpr (is_nibbles(kind)) {
        whole[r][0] = nibbles_added(whole[r][0], low, x, y);
        whole[r][1] = nibbles_added(whole[r][1], high, x, y);
      } else {
        const uint8_t* other = codes + (4 + j) * kLine;
        whole[r][0] = bytes_added(bytes_added(whole[r][0], low, x), load_bytes(other), y);
        whole[r][1] = bytes_added(bytes_added(whole[r][1], high, x), load_bytes(other + 32), y);
      }
    });
  });
  if constexpr (is_nibbles(kind)) {
    const __m256i ones = _mm256_set1_epi16(1);
    each<rows>(SOMA_BODY(r) {
      whole[r][0] = _mm256_madd_epi16(whole[r][0], ones);
      whole[r][1] = _mm256_madd_epi16(whole[r][1], ones);
    });
  }
}

// `streams` groups, `apart` from each other, times `rows` rows.
template <PackKind kind, unsigned streams, unsigned rows>
static __attribute__((noinline)) void stream(const Job& job, int64_t group, int64_t apart,
                                             int64_t row, int64_t column) {
  constexpr int64_t block_bytes = pair_shape(kind).block_bytes;
  constexpr int64_t scales_at = pair_shape(kind).scales_at;
  constexpr int64_t minimums_at = pair_shape(kind).minimums_at;
  constexpr int64_t pair_bytes = pair_shape(kind).pair_bytes;
  const int64_t k = job.blocks * kBlock;
  const uint8_t* pair[streams];
  const uint8_t* q[rows];
  __m256 acc[streams][2][rows];
  each<streams>(SOMA_BODY(s) {
    pair[s] = job.w->data + (group + s * apart) * job.w->group_bytes;
    each<rows>(SOMA_BODY(r) { acc[s][0][r] = acc[s][1][r] = _mm256_setzero_ps(); });
  });
  for (int64_t b = 0; b < job.blocks; ++b) {
    const int64_t h = b & 1;
    each<rows>(SOMA_BODY(r) { q[r] = job.x + (row + r) * job.x_bytes + b * kBlock; });
    each<streams>(SOMA_BODY(s) {
      const uint8_t* codes = pair[s] + h * block_bytes;
      const uint8_t* scales = pair[s] + scales_at + 32 * h;
      const uint8_t* minimums = pair[s] + minimums_at + 32 * h;
      for (int64_t at = h * kLine; at < pair_bytes; at += 2 * kLine) {
        _mm_prefetch(pair[s] + bytes_ahead(kind) + at, _MM_HINT_T0);
      }
      __m256i whole[rows][2];
      dot_block<kind, rows>(codes, q, whole);
      each<2>(SOMA_BODY(c) {
        const __m256 scale = halves(scales + 16 * c);
        const __m256 minimum = has_minimum(kind) ? halves(minimums + 16 * c) : scale;
        each<rows>(SOMA_BODY(r) {
          const uint8_t* x = q[r] - b * kBlock;
          if constexpr (kind == kQ4) {
            const int32_t* start = job.starts + (row + r) * job.blocks + b;
            whole[r][c] = _mm256_add_epi32(whole[r][c], repeated_int(start));
          }
          acc[s][c][r] = added<kind>(acc[s][c][r], whole[r][c], scale, minimum,
                                     load_float(x + scales_offset(k) + 4 * b),
                                     load_float(x + sums_offset(k) + 4 * b));
        });
      });
      pair[s] += h * pair_bytes;
    });
  }
  each<streams>(SOMA_BODY(s) {
    each<rows>(SOMA_BODY(r) {
      float* to = job.out + (row + r) * job.out_stride + column + s * apart * kGroup;
      _mm256_storeu_ps(to, acc[s][0][r]);
      _mm256_storeu_ps(to + 8, acc[s][1][r]);
    });
  });
}

template <PackKind kind>
static void few_rows(const Job& job, int64_t begin, int64_t end, int64_t rows) {
  for (int64_t row = 0; row < rows;) {
    const int64_t left = rows - row;
    const int64_t take = left == 1 ? 1 : left == 2 || left == 4 ? 2 : 3;
    const int64_t streams = take == 1 ? int64_t{kStreams} : 1;
    const int64_t apart = (end - begin) / streams;
    for (int64_t i = 0; i < apart; ++i) {
      if (take == 1) stream<kind, kStreams, 1>(job, begin + i, apart, row, i * kGroup);
      else if (take == 2) stream<kind, 1, 2>(job, begin + i, apart, row, i * kGroup);
      else stream<kind, 1, 3>(job, begin + i, apart, row, i * kGroup);
    }
    for (int64_t g = begin + apart * streams; g < end; ++g) {  // what the streams leave over
      stream<kind, 1, 1>(job, g, 0, row, (g - begin) * kGroup);
    }
    row += take;
  }
}

// ---- Many rows: over panels in the L1 cache

// One group's blocks, decoded: planes of unsigned nibbles, and scales and minimums as floats.
template <PackKind kind>
struct Panel {
  enum { kPlanes = is_nibbles(kind) ? 1 : 2 };  // 8 bits: the high nibbles of w + 128, the low ones
  alignas(64) uint8_t codes[kPanelBlocks][kPlanes][8][kLine];
  alignas(64) float scale[kPanelBlocks][kGroup];
  alignas(64) float minimum[kPanelBlocks][kGroup];
};

template <PackKind kind>
static void decode(const uint8_t* group, int64_t from, int64_t to, Panel<kind>* panel) {
  constexpr PairShape shape = pair_shape(kind);
  const __m256i low = _mm256_set1_epi8(15);
  for (int64_t b = from; b < to; ++b) {
    const uint8_t* pair = group + b / 2 * shape.pair_bytes;
    const uint8_t* codes = pair + b % 2 * shape.block_bytes;
    const uint8_t* scales = pair + shape.scales_at + b % 2 * 32;
    const uint8_t* minimums = pair + shape.minimums_at + b % 2 * 32;
    const uint8_t* next = pair + (to - from) / 2 * shape.pair_bytes;  // panels follow each other
    for (int64_t at = b % 2 * kLine; at < shape.pair_bytes; at += 2 * kLine) {
      _mm_prefetch(next + at, _MM_HINT_T0);
    }
    uint8_t(*plane)[8][kLine] = panel->codes[b - from];
    for (int j = 0; j < (is_nibbles(kind) ? 4 : 8); ++j) {
      for (int c = 0; c < kLine; c += 32) {
        __m256i line = load_bytes(codes + j * kLine + c);
        if (!is_nibbles(kind)) line = _mm256_xor_si256(line, _mm256_set1_epi8(-128));
        const __m256i first = _mm256_and_si256(line, low);
        const __m256i second = _mm256_and_si256(_mm256_srli_epi16(line, 4), low);
        store_bytes(plane[0][is_nibbles(kind) ? 4 + j : j] + c, second);
        if constexpr (is_nibbles(kind)) store_bytes(plane[0][j] + c, first);
        else store_bytes(plane[1][j] + c, first);
      }
    }
    each<2>(SOMA_BODY(c) {
      _mm256_store_ps(panel->scale[b - from] + 8 * c, halves(scales + 16 * c));
      if constexpr (has_minimum(kind)) {
        _mm256_store_ps(panel->minimum[b - from] + 8 * c, halves(minimums + 16 * c));
      }
    });
  }
}

// Sums of 32 nibbles times activations, as pairs of 16 bits: [rows][first, second]. The two sets of
// 8 lines are the halves of 16 columns, or the high and low nibbles of the same 8 columns.
template <unsigned rows>
SOMA_INLINE void dot_lines(const uint8_t* first, const uint8_t* second, const uint8_t* const* q,
                           __m256i sums[][2]) {
  each<8>(SOMA_BODY(j) {
    const __m256i a = load_bytes(first + j * kLine);
    const __m256i b = load_bytes(second + j * kLine);
    each<rows>(SOMA_BODY(r) {
      const __m256i x = repeated(q[r] + 4 * j);
      const __m256i u = _mm256_maddubs_epi16(a, x);
      const __m256i v = _mm256_maddubs_epi16(b, x);
      sums[r][0] = j == 0 ? u : in_order(_mm256_add_epi16(sums[r][0], u));
      sums[r][1] = j == 0 ? v : in_order(_mm256_add_epi16(sums[r][1], v));
    });
  });
}

// Some rows over a panel's blocks [from, to); out holds the sums of the blocks before. 4-bit kinds
// do 16 columns at once, 8-bit ones, which need twice the registers, the 8 from `column` on.
template <PackKind kind, unsigned rows>
static __attribute__((noinline)) void panel_tile(const Job& job, const Panel<kind>& panel,
                                                 int64_t from, int64_t to, int64_t row, int column,
                                                 float* out) {
  constexpr unsigned parts = is_nibbles(kind) ? 2 : 1;
  const int64_t k = job.blocks * kBlock;
  const __m256i ones = _mm256_set1_epi16(1);
  const __m256i sixteens = _mm256_set1_epi16(16);
  const uint8_t* x[rows];
  const int32_t* starts[rows];
  __m256 acc[rows][parts];
  each<rows>(SOMA_BODY(r) {
    x[r] = job.x + (row + r) * job.x_bytes;
    starts[r] = job.starts + (row + r) * job.blocks;
    each<parts>(SOMA_BODY(c) {
      acc[r][c] = from == 0 ? _mm256_setzero_ps()
                            : _mm256_loadu_ps(out + r * job.out_stride + column + 8 * c);
    });
  });
  for (int64_t b = from; b < to; ++b) {
    const auto& codes = panel.codes[b - from];
    const uint8_t* q[rows];
    __m256i sums[rows][2];
    each<rows>(SOMA_BODY(r) { q[r] = x[r] + b * kBlock; });
    const uint8_t* first = codes[0][0] + 4 * column;
    dot_lines<rows>(first, is_nibbles(kind) ? first + 32 : codes[1][0] + 4 * column, q, sums);
    each<parts>(SOMA_BODY(c) {
      const __m256 scale = _mm256_load_ps(panel.scale[b - from] + column + 8 * c);
      __m256 minimum = scale;
      if constexpr (has_minimum(kind)) {
        minimum = _mm256_load_ps(panel.minimum[b - from] + column + 8 * c);
      }
      each<rows>(SOMA_BODY(r) {
        __m256i whole = _mm256_madd_epi16(sums[r][c], is_nibbles(kind) ? ones : sixteens);
        if constexpr (!is_nibbles(kind)) {
          whole = _mm256_add_epi32(whole, _mm256_madd_epi16(sums[r][1], ones));
        }
        if constexpr (kind != kQ4M) {
          whole = _mm256_add_epi32(whole, repeated_int(starts[r] + b));
        }
        acc[r][c] = added<kind>(acc[r][c], whole, scale, minimum,
                                load_float(x[r] + scales_offset(k) + 4 * b),
                                load_float(x[r] + sums_offset(k) + 4 * b));
      });
    });
  }
  each<rows>(SOMA_BODY(r) {
    each<parts>(SOMA_BODY(c) {
      _mm256_storeu_ps(out + r * job.out_stride + column + 8 * c, acc[r][c]);
    });
  });
}

template <PackKind kind>
static void many_rows(const Job& job, int64_t begin, int64_t end, int64_t rows, void* scratch) {
  Panel<kind>* panel = static_cast<Panel<kind>*>(scratch);
  for (int64_t g = begin; g < end; ++g) {
    float* out = job.out + (g - begin) * kGroup;
    for (int64_t from = 0; from < job.blocks; from += kPanelBlocks) {
      const int64_t to = from + kPanelBlocks < job.blocks ? from + kPanelBlocks : job.blocks;
      decode<kind>(job.w->data + g * job.w->group_bytes, from, to, panel);
      for (int column = 0; column < kGroup; column += is_nibbles(kind) ? 16 : 8) {
        int64_t row = 0;
        float* at = out;
        for (; row + kTileRows <= rows; row += kTileRows, at += kTileRows * job.out_stride) {
          panel_tile<kind, kTileRows>(job, *panel, from, to, row, column, at);
        }
        if (rows - row == 2) panel_tile<kind, 2>(job, *panel, from, to, row, column, at);
        if (rows - row == 1) panel_tile<kind, 1>(job, *panel, from, to, row, column, at);
      }
    }
  }
}

// Scratch: a panel, then the sums of a chunk's activations.
constexpr int64_t panel_bytes = sizeof(Panel<kQ8>);

template <PackKind kind>
static void multiply(Job job, int64_t begin, int64_t end, int64_t rows, void* scratch) {
  int32_t* starts = static_cast<int32_t*>(
      static_cast<void*>(static_cast<uint8_t*>(scratch) + panel_bytes));
  job.starts = starts;
  for (int64_t row = 0; row < rows; row += kChunkRows) {
    const int64_t chunk = row + kChunkRows < rows ? int64_t{kChunkRows} : rows - row;
    const bool many = chunk >= kPanelRows;
    if (kind == kQ4 || (kind != kQ4M && many)) {
      sum_rows(job.x, job.x_bytes, chunk, job.blocks, kind == kQ4 ? 8 : 128, starts);
    }
    if (many) many_rows<kind>(job, begin, end, chunk, scratch);
    else few_rows<kind>(job, begin, end, chunk);
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
  return panel_bytes + (rows * (columns_max / kBlock) * 4 + kLine - 1) / kLine * kLine;
}

}  // namespace soma::cpu::avx2

#endif
