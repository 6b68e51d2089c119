// Proves that rope tables hold the nearest floats to the true cosines and sines, at far positions
// too, in both orders.
#include "backend/cpu/rope_table.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace soma;

namespace {

// In 64-bit mantissas: good to 1e-14 at the positions below.
double true_angle(double base, i64 dims, i64 pair, i64 position, bool sine) {
  const long double frequency = std::pow(
      static_cast<long double>(base), -2.0L * static_cast<long double>(pair) / dims);
  const long double angle = static_cast<long double>(position) * frequency;
  return static_cast<double>(sine ? std::sin(angle) : std::cos(angle));
}

}  // namespace

TEST_CASE("cosines and sines are right to the last bit of a float") {
  const i32 positions[] = {0, 1, 2, 17, 511, 8191, 100003};
  for (const double base : {10000.0, 100000.0, 500000.0, 1234567.0}) {
    for (const i64 dims : {2, 32, 64, 80, 128}) {
      const cpu::RopeTable table(base, dims, false);
      std::vector<float> out(static_cast<size_t>(7 * dims));
      table.fill(positions, 7, out.data());
      double worst = 0;
      for (size_t r = 0; r < 7; ++r) {
        for (i64 i = 0; i < dims; ++i) {
          const bool sine = i >= dims / 2;
          const double want = true_angle(base, dims, i % (dims / 2), positions[r], sine);
          const float got = out[r * static_cast<size_t>(dims) + static_cast<size_t>(i)];
          // Half a unit of the float, and what the judge itself is off.
          const double allowed = std::ldexp(std::fabs(want), -24) + 1e-12;
          worst = std::max(worst, std::fabs(static_cast<double>(got) - want) - allowed);
        }
      }
      CAPTURE(base);
      CAPTURE(dims);
      CHECK(worst <= 0);
    }
  }
}

TEST_CASE("for adjacent pairs each piece of 16 columns is a table by itself") {
  const i32 positions[] = {5, 4711};
  for (const i64 dims : {16, 64, 80}) {
    const cpu::RopeTable halves(10000.0, dims, false), pieces(10000.0, dims, true);
    std::vector<float> a(static_cast<size_t>(2 * dims)), b = a;
    halves.fill(positions, 2, a.data());
    pieces.fill(positions, 2, b.data());
    for (i64 r = 0; r < 2; ++r) {
      for (i64 i = 0; i < dims / 2; ++i) {
        const i64 piece = i / 8 * cpu::rope_piece;
        const float* row = b.data() + r * dims;
        CHECK(row[piece + i % 8] == a[static_cast<size_t>(r * dims + i)]);
        CHECK(row[piece + 8 + i % 8] == a[static_cast<size_t>(r * dims + dims / 2 + i)]);
      }
    }
  }
}
