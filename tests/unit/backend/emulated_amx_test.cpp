// Proves that the AMX products give the scalar set's bytes on any machine: the very same file is
// compiled here, its vector instructions emulated and its tile primitives replaced by plain loops.
#include "avx512_emulation.hpp"

#include <doctest/doctest.h>

// The tile instructions go into a namespace of their own, where nobody calls them.
#define amx amx_instructions
#include "backend/cpu/kernels/amx/tiles.hpp"
#undef amx

// The six primitives of tiles.hpp in plain loops.
namespace soma::cpu::amx_emulated {

namespace {

struct Tile {
  int rows = 0;
  int row_bytes = 0;
  alignas(64) int8_t bytes[16][64] = {};
};
thread_local Tile tiles[8];

void tile_configure() {
  for (int t = 0; t < 8; ++t) {
    tiles[t].rows = t < 6 ? 16 : 8;
    tiles[t].row_bytes = t == 4 || t == 5 ? 32 : 64;
  }
}
void tile_release() {
  for (Tile& tile : tiles) tile = Tile{};
}
template <int tile>
void tile_zero() {
  std::memset(tiles[tile].bytes, 0, sizeof tiles[tile].bytes);
}
template <int tile>
void tile_load(const void* from, int64_t stride) {
  REQUIRE(tiles[tile].rows > 0);  // not configured: the instruction would fault
  for (int r = 0; r < tiles[tile].rows; ++r) {
    std::memcpy(tiles[tile].bytes[r], static_cast<const int8_t*>(from) + r * stride,
                static_cast<size_t>(tiles[tile].row_bytes));
  }
}
template <int tile>
void tile_store(void* to, int64_t stride) {
  for (int r = 0; r < tiles[tile].rows; ++r) {
    std::memcpy(static_cast<int8_t*>(to) + r * stride, tiles[tile].bytes[r],
                static_cast<size_t>(tiles[tile].row_bytes));
  }
}
template <int sums, int activations, int weights>
void tile_dot() {
  const Tile& x = tiles[activations];
  const Tile& w = tiles[weights];
  for (int r = 0; r < 16; ++r) {
    for (int c = 0; c < 16; ++c) {
      int32_t sum = 0;
      std::memcpy(&sum, &tiles[sums].bytes[r][4 * c], 4);
      for (int k = 0; k < x.row_bytes; ++k) sum += x.bytes[r][k] * w.bytes[k / 4][4 * c + k % 4];
      std::memcpy(&tiles[sums].bytes[r][4 * c], &sum, 4);
    }
  }
}

}  // namespace

}  // namespace soma::cpu::amx_emulated

#define amx amx_emulated
#include "backend/cpu/kernels/amx/matmul_q8a.cpp"
#include "kernel_parity.hpp"

namespace soma::cpu {

TEST_CASE("emulated amx: int8 products") {
  KernelSet set = *scalar_kernels;
  set.matmul_q8a = amx_emulated::matmul_q8a;
  set.scratch_bytes = [](int64_t columns, int64_t rows, int64_t, int64_t) {
    return amx_emulated::matmul_scratch_bytes(columns, rows);
  };
  set.enter = amx_emulated::enter;
  set.leave = amx_emulated::leave;
  check_matmul_q8a(set, false);
}

}  // namespace soma::cpu
