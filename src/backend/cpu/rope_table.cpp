// The rotary angles in double-double arithmetic.
//
// Problem: at position 100 000 an angle of 75 000 radians in double is off by 1e-11, and sin, cos,
// pow of a C library give other last bits on other processors, so the same text could differ
// between machines. Idea: only sums, products and fused multiply-adds, which round the same
// everywhere. Frequencies and angles are pairs of doubles; the angle less a multiple of π/2 is
// small, and plain series in double then suffice. Cost: the frequencies once a program, then some
// 50 ns an angle, once a step for all layers.
#include "backend/cpu/rope_table.hpp"

#include <algorithm>

namespace soma::cpu {

namespace {

constexpr Pair ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
constexpr Pair half_pi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
constexpr double two_over_pi = 0x1.45f306dc9c883p-1;

// ---- Pairs. |low| stays below half a unit in the last place of high.

Pair sum_of(double a, double b) {  // exact
  const double high = a + b;
  const double rest = high - a;
  return {high, (a - (high - rest)) + (b - rest)};
}
Pair product_of(double a, double b) {  // exact
  const double high = a * b;
  return {high, __builtin_fma(a, b, -high)};
}
Pair plus(Pair a, Pair b) {
  const Pair high = sum_of(a.high, b.high);
  const Pair low = sum_of(a.low, b.low);
  const Pair first = sum_of(high.high, high.low + low.high);
  return sum_of(first.high, first.low + low.low);
}
Pair times(Pair a, Pair b) {
  const Pair product = product_of(a.high, b.high);
  return sum_of(product.high, product.low + (a.high * b.low + a.low * b.high));
}
Pair negative(Pair a) { return {-a.high, -a.low}; }
Pair over(Pair a, Pair b) {
  const double first = a.high / b.high;
  const Pair rest = plus(a, negative(times({first, 0}, b)));
  const double second = rest.high / b.high;
  const Pair last = plus(rest, negative(times({second, 0}, b)));
  return plus(sum_of(first, second), {last.high / b.high, 0});
}
Pair whole(i64 n) { return {static_cast<double>(n), 0}; }

// To a whole number, ties to even; |x| < 2^51.
double nearest(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

// log x = e log 2 + 2 artanh((m − 1) / (m + 1)) with x = m 2^e, 1 <= m < 2.
Pair log_of(double x) {
  i64 exponent = 0;
  while (x >= 2.0 && exponent < 1024) {
    x *= 0.5;
    ++exponent;
  }
  const Pair t = over(sum_of(x, -1.0), sum_of(x, 1.0));  // at most 1/3
  const Pair square = times(t, t);
  Pair power = t;
  Pair sum = {0, 0};
  for (i64 n = 1; n < 80; n += 2) {  // 3^-80 < 2^-126
    sum = plus(sum, over(power, whole(n)));
    power = times(power, square);
  }
  return plus(times(whole(exponent), ln2), plus(sum, sum));
}

// exp x for -700 < x <= 0, as 2^n (e^(r / 256))^256.
Pair exp_of(Pair x) {
  const double n = nearest(x.high / ln2.high);
  const Pair r = plus(x, negative(times({n, 0}, ln2)));
  const Pair small = {r.high / 256, r.low / 256};
  Pair sum = {1, 0};
  Pair term = {1, 0};
  for (i64 i = 1; i < 12; ++i) {  // 0.0014^12 / 12! < 2^-142
    term = over(times(term, small), whole(i));
    sum = plus(sum, term);
  }
  for (int i = 0; i < 8; ++i) sum = times(sum, sum);
  double scale = 1;
  for (double i = n; i < 0; i += 1) scale *= 0.5;
  return {sum.high * scale, sum.low * scale};
}

// first × (1 − x²/((n+1)(n+2)) + …) for |x| <= π/4: sin with n = 1 and x, cos with n = 0 and 1. The
// first term left out is below 1e-19.
double series(double x, double first, int n) {
  const double square = x * x;
  double sum = 0;
  for (int i = 9; i > 0; --i) {
    sum = (1 + sum) * -square / static_cast<double>((n + 2 * i - 1) * (n + 2 * i));
  }
  return first + first * sum;
}

struct Turn {
  double cosine, sine;
};

Turn turn_of(Pair angle) {
  const double quarters = nearest(angle.high * two_over_pi);
  const Pair rest = plus(angle, negative(times({quarters, 0}, half_pi)));
  const double sine = series(rest.high, rest.high, 1);
  const double cosine = series(rest.high, 1.0, 0);
  const double s = sine + rest.low * cosine;
  const double c = cosine - rest.low * sine;
  switch (static_cast<i64>(quarters) & 3) {
    case 0: return {c, s};
    case 1: return {-s, c};
    case 2: return {-c, -s};
    default: return {s, -c};
  }
}

}  // namespace

RopeTable::RopeTable(double base, i64 dims, bool adjacent)
    : base_(base), dims_(dims), adjacent_(adjacent) {
  const Pair log_base = log_of(base);
  for (i64 i = 0; i < dims; i += 2) {
    frequencies_.push_back(exp_of(negative(times(over(whole(i), whole(dims)), log_base))));
  }
}

void RopeTable::fill(const i32* positions, u32 rows, float* out) const {
  const i64 pairs = dims_ / 2;
  const i64 piece = adjacent_ ? rope_piece / 2 : pairs;
  for (u32 r = 0; r < rows; ++r, out += dims_) {
    for (i64 first = 0; first < pairs; first += piece) {
      const i64 count = std::min(piece, pairs - first);
      float* at = out + 2 * first;
      for (i64 i = 0; i < count; ++i) {
        const Pair frequency = frequencies_[static_cast<size_t>(first + i)];
        const Turn turn = turn_of(times(whole(positions[r]), frequency));
        at[i] = static_cast<float>(turn.cosine);
        at[count + i] = static_cast<float>(turn.sine);
      }
    }
  }
}

}  // namespace soma::cpu
