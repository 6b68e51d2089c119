// The tile instructions the AMX set is written over: configure, zero, load, dot, store, release.
//
// They are assembly of our own: the compiler's intrinsics need flags that would let it use tiles
// elsewhere, and GCC 12's name too little memory, so that the configuration's stores are dropped.
// Tiles 0 and 1 hold sums (16 rows of 16 int32), 4 and 5 activations (16 rows of 32 codes), 6 and 7
// weights (8 lines of 16 columns by 4 codes). Nothing else uses them.
#pragma once

#include <stdint.h>

namespace soma::cpu::amx {

struct alignas(64) TileConfiguration {
  uint8_t palette;
  uint8_t start_row;
  uint8_t reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
};

static inline void tile_configure() {
  TileConfiguration shape = {};
  shape.palette = 1;
  for (int tile = 0; tile < 8; ++tile) {
    shape.row_bytes[tile] = tile == 4 || tile == 5 ? 32 : 64;
    shape.rows[tile] = tile < 6 ? 16 : 8;
  }
  __asm__ volatile("ldtilecfg %0" : : "m"(shape) : "memory");
}
static inline void tile_release() { __asm__ volatile("tilerelease" : : : "memory"); }

template <int tile>
static inline __attribute__((always_inline)) void tile_zero() {
  __asm__ volatile("tilezero %%tmm%c0" : : "i"(tile));
}
template <int tile>
static inline __attribute__((always_inline)) void tile_load(const void* from, int64_t stride) {
  __asm__ volatile("tileloadd (%1,%2,1), %%tmm%c0"
                   : : "i"(tile), "r"(from), "r"(stride) : "memory");
}
template <int tile>
static inline __attribute__((always_inline)) void tile_store(void* to, int64_t stride) {
  __asm__ volatile("tilestored %%tmm%c0, (%1,%2,1)"
                   : : "i"(tile), "r"(to), "r"(stride) : "memory");
}
// sums += activations × weights, signed bytes by fours.
template <int sums, int activations, int weights>
static inline __attribute__((always_inline)) void tile_dot() {
  __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0"
                   : : "i"(sums), "i"(activations), "i"(weights));
}

}  // namespace soma::cpu::amx
