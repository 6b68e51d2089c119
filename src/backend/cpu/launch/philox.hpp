// Philox4x32-10: random numbers as a function of a counter and a key.
//
// Described by Salmon, Moraes, Dror and Shaw in "Parallel random numbers: as easy as 1, 2, 3"
// (2011). There is no state to carry along, so a token's random number depends on its seed, stream
// and position alone, whatever was computed beside it or before.
#pragma once

#include <array>

#include "base/core.hpp"

namespace soma::cpu {

using PhiloxBlock = std::array<u32, 4>;

inline PhiloxBlock philox(PhiloxBlock counter, u32 key_low, u32 key_high) {
  constexpr u64 multiplier_0 = 0xd2511f53;
  constexpr u64 multiplier_1 = 0xcd9e8d57;
  constexpr u32 golden_ratio = 0x9e3779b9;
  constexpr u32 root_of_three = 0xbb67ae85;
  for (int round = 0; round < 10; ++round) {
    const u64 product_0 = multiplier_0 * counter[0];
    const u64 product_1 = multiplier_1 * counter[2];
    counter = {static_cast<u32>(product_1 >> 32) ^ counter[1] ^ key_low,
               static_cast<u32>(product_1),
               static_cast<u32>(product_0 >> 32) ^ counter[3] ^ key_high,
               static_cast<u32>(product_0)};
    key_low += golden_ratio;
    key_high += root_of_three;
  }
  return counter;
}

// Uniform in [0, 1), of 53 random bits.
inline double random_unit(u64 seed, u64 stream, u64 position) {
  const PhiloxBlock bits =
      philox({static_cast<u32>(position), static_cast<u32>(position >> 32),
              static_cast<u32>(stream), static_cast<u32>(stream >> 32)},
             static_cast<u32>(seed), static_cast<u32>(seed >> 32));
  const u64 mantissa = (u64{bits[0]} << 21) ^ (bits[1] >> 11);
  return static_cast<double>(mantissa) * 0x1p-53;
}

}  // namespace soma::cpu
