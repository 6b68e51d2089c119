// Int8 activations times packed weights by AMX tiles, for many rows.
//
// A tile product of 16 rows, 16 columns and one block of 32 gives that block's exact sums; they go
// through memory to vector registers, where each row's chain of floats grows as everywhere else. A
// group's weights are decoded once to signed bytes in the L1 cache (8-bit codes are read in place)
// and serve all row tiles. While one block's floats are computed, the next block's tile product
// runs. A tile costs the same for 1 row as for 16, so fewer than kRowsMin rows, and those that
// don't fill a tile, take the vector instruction instead: the results are the same bytes.
#if defined(__x86_64__)

#include "backend/cpu/kernels/amx/set.hpp"
#include "backend/cpu/kernels/amx/tiles.hpp"
#include "backend/cpu/kernels/avx512/lanes.hpp"
#include "backend/cpu/kernels/avx512/set.hpp"

namespace soma::cpu::amx {

namespace {

using avx512::Lanes;
using avx512::all;
using avx512::load;
using avx512::load_halves;
using avx512::store;

enum {
  kTile = 16,         // rows of a tile
  kRowsMin = 24,      // from here on tiles are faster
  kChunkRows = 256,   // rows whose scales are laid out by tiles at once
  kPanelBlocks = 48,  // of one group: 24 KB of codes
  kSlots = 4,         // tiles of sums between the tile unit and the vector unit
};

// One group's blocks, decoded.
struct alignas(64) Panel {
  int8_t codes[kPanelBlocks][kBlock / 4][kLine];
  float scale[kPanelBlocks][kGroup];
  float minimum[kPanelBlocks][kGroup];
  int32_t sums[kSlots][kTile][kGroup];
};

struct Job {
  const PackedMatrix* w;
  int64_t blocks;
  const uint8_t* x;
  int64_t x_bytes;
  float* out;
  int64_t out_stride;
  Panel* panel;
  float* scales;  // [row tile][block][2][16]: d and s of 16 rows side by side
};

// Where a block's 8 lines of signed codes are.
template <PackKind kind>
SOMA_INLINE const void* weight_lines(const Panel& panel, const uint8_t* group, int64_t block,
                                     int64_t from) {
  if constexpr (is_nibbles(kind)) return panel.codes[block - from];
  constexpr PairShape shape = pair_shape(kind);
  return group + block / 2 * shape.pair_bytes + block % 2 * shape.block_bytes;
}

template <PackKind kind>
static void decode(const uint8_t* group, int64_t from, int64_t to, Panel* panel) {
  constexpr PairShape shape = pair_shape(kind);
  const __m512i low = _mm512_set1_epi8(15);
  const __m512i less = _mm512_set1_epi8(code_offset(kind));
  for (int64_t b = from; b < to; ++b) {
    const uint8_t* pair = group + b / 2 * shape.pair_bytes;
    const uint8_t* scales = pair + shape.scales_at + b % 2 * 32;
    store(panel->scale[b - from], load_halves(scales));
    if constexpr (has_minimum(kind)) {
      store(panel->minimum[b - from], load_halves(scales + (shape.minimums_at - shape.scales_at)));
    }
    if constexpr (is_nibbles(kind)) {
      for (int j = 0; j < 4; ++j) {
        const uint8_t* at = pair + b % 2 * shape.block_bytes + j * kLine;
        const __m512i line = _mm512_load_si512(at);
        const __m512i first = _mm512_and_si512(line, low);
        const __m512i second = _mm512_and_si512(_mm512_srli_epi16(line, 4), low);
        _mm512_store_si512(panel->codes[b - from][j], _mm512_sub_epi8(first, less));
        _mm512_store_si512(panel->codes[b - from][4 + j], _mm512_sub_epi8(second, less));
      }
    }
  }
}

// Starts block b's tile product; `set` alternates, so that two are under way.
template <PackKind kind, int set>
SOMA_INLINE void start_block(const Job& job, const uint8_t* group, const uint8_t* x, int64_t b,
                             int64_t from) {
  tile_zero<set>();
  tile_load<4 + set>(x + b * kBlock, job.x_bytes);
  tile_load<6 + set>(weight_lines<kind>(*job.panel, group, b, from), kLine);
  tile_dot<set, 4 + set, 6 + set>();
  tile_store<set>(job.panel->sums[b % kSlots], kLine);
}

template <PackKind kind>
SOMA_INLINE void finish_block(const Job& job, const float* scales, int64_t b, int64_t from,
                              __m512* acc) {
  const Panel& panel = *job.panel;
  const __m512 scale = _mm512_load_ps(panel.scale[b - from]);
  const __m512 minimum = _mm512_load_ps(panel.minimum[b - from]);
  const float* d = scales + b * 2 * kTile;
  each<kTile>(SOMA_BODY(r) {
    const __m512 sum = _mm512_cvtepi32_ps(_mm512_load_si512(panel.sums[b % kSlots][r]));
    acc[r] = _mm512_fmadd_ps(_mm512_mul_ps(scale, _mm512_set1_ps(d[r])), sum, acc[r]);
    if constexpr (has_minimum(kind)) {
      acc[r] = _mm512_fmadd_ps(minimum, _mm512_set1_ps(d[kTile + r]), acc[r]);
    }
  });
}

// Blocks [from, to) of one group for 16 rows; out holds the sums of the blocks before.
template <PackKind kind>
static __attribute__((noinline)) void multiply_tile(const Job& job, const uint8_t* group,
                                                    int64_t row, int64_t from, int64_t to,
                                                    float* out) {
  const uint8_t* x = job.x + row * job.x_bytes;
  const float* scales = job.scales + row * job.blocks * 2;
  __m512 acc[kTile];
  each<kTile>(SOMA_BODY(r) {
    acc[r] = from == 0 ? _mm512_setzero_ps() : _mm512_loadu_ps(out + r * job.out_stride);
  });
  start_block<kind, 0>(job, group, x, from, from);
  for (int64_t b = from; b < to; b += 2) {
    if (b + 1 < to) start_block<kind, 1>(job, group, x, b + 1, from);
    finish_block<kind>(job, scales, b, from, acc);
    if (b + 1 == to) break;
    if (b + 2 < to) start_block<kind, 0>(job, group, x, b + 2, from);
    finish_block<kind>(job, scales, b + 1, from, acc);
  }
  each<kTile>(SOMA_BODY(r) { _mm512_storeu_ps(out + r * job.out_stride, acc[r]); });
}

template <PackKind kind>
static void multiply_chunk(const Job& job, int64_t begin, int64_t end, int64_t rows) {
  for (int64_t g = begin; g < end; ++g) {
    const uint8_t* group = job.w->data + g * job.w->group_bytes;
    float* out = job.out + (g - begin) * kGroup;
    for (int64_t from = 0; from < job.blocks; from += kPanelBlocks) {
      const int64_t to = from + kPanelBlocks < job.blocks ? from + kPanelBlocks : job.blocks;
      decode<kind>(group, from, to, job.panel);
      for (int64_t row = 0; row < rows; row += kTile) {
        multiply_tile<kind>(job, group, row, from, to, out + row * job.out_stride);
      }
    }
  }
}

// d and s of 16 rows side by side, block after block, so that a block's are read in a row.
static void lay_out_scales(const Job& job, int64_t rows) {
  const int64_t k = job.blocks * kBlock;
  for (int64_t row = 0; row < rows; ++row) {
    const uint8_t* x = job.x + row * job.x_bytes;
    float* to = job.scales + row / kTile * kTile * job.blocks * 2 + row % kTile;
    for (int64_t b = 0; b < job.blocks; ++b) {
      to[b * 2 * kTile] = load_float(x + scales_offset(k) + 4 * b);
      to[b * 2 * kTile + kTile] = load_float(x + sums_offset(k) + 4 * b);
    }
  }
}

}  // namespace

void matmul_q8a(const PackedMatrix* w, int64_t begin, int64_t end, const uint8_t* x,
                int64_t x_bytes, int64_t rows, float* out, int64_t out_stride, void* scratch) {
  const int64_t whole = rows < kRowsMin ? 0 : rows / kTile * kTile;
  void* scales = static_cast<uint8_t*>(scratch) + sizeof(Panel);
  Job job = {w,   w->columns / kBlock,         x, x_bytes, out, out_stride,
             static_cast<Panel*>(scratch), static_cast<float*>(scales)};
  for (int64_t row = 0; row < whole; row += kChunkRows) {
    const int64_t chunk = row + kChunkRows < whole ? int64_t{kChunkRows} : whole - row;
    lay_out_scales(job, chunk);
    switch (w->kind) {
      case kQ4: multiply_chunk<kQ4>(job, begin, end, chunk); break;
      case kQ4M: multiply_chunk<kQ4M>(job, begin, end, chunk); break;
      case kQ8: multiply_chunk<kQ8>(job, begin, end, chunk); break;
      case kQ8M: multiply_chunk<kQ8M>(job, begin, end, chunk); break;
      default: break;  // integer kinds only
    }
    job.x += chunk * x_bytes;
    job.out += chunk * out_stride;
  }
  if (whole < rows) {
    avx512::matmul_q8a(w, begin, end, job.x, x_bytes, rows - whole, job.out, out_stride, scratch);
  }
}

int64_t matmul_scratch_bytes(int64_t columns_max, int64_t rows_max) {
  const int64_t rows = rows_max < kChunkRows ? rows_max : int64_t{kChunkRows};
  const int64_t by_tiles = static_cast<int64_t>(sizeof(Panel)) + rows * (columns_max / kBlock) * 8;
  const int64_t vectors = avx512::matmul_scratch_bytes(columns_max, rows_max);
  return by_tiles > vectors ? by_tiles : vectors;
}

void enter() { tile_configure(); }
void leave() { tile_release(); }

}  // namespace soma::cpu::amx

#endif
