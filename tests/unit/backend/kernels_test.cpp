// Proves that the scalar set, the oracle of all others, is right: exp, half floats and attention
// against wider arithmetic, and that no result depends on which queries or rows share a call.
#include "kernel_parity.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "backend/cpu/kernels/packed.hpp"
#include "backend/cpu/kernels/scalar/numbers.hpp"
#include "base/cpu_features.hpp"

namespace soma::cpu {

namespace {

// Distance in units of the last place of `want`.
double units_off(float got, double want) {
  const float nearest = static_cast<float>(want);
  const double unit = static_cast<double>(std::nextafter(std::fabs(nearest), HUGE_VALF)) -
                      static_cast<double>(std::fabs(nearest));
  return std::fabs(static_cast<double>(got) - want) / unit;
}

std::vector<const KernelSet*> sets_here() {
  const CpuFeatures cpu = probe_cpu();
  std::vector<const KernelSet*> sets = {scalar_kernels};
  if (avx2_kernels && cpu.avx2) sets.push_back(avx2_kernels);
  if (avx512_vnni_kernels && cpu.avx512_vnni) sets.push_back(avx512_vnni_kernels);
  return sets;
}

}  // namespace

TEST_CASE("exp is within one and a half units of the last place, and defined everywhere") {
  double worst = 0;
  for (i32 i = -87 * 4096; i <= 88 * 4096; i += 3) {
    const float x = static_cast<float>(i) / 4096.0f;
    worst = std::max(worst, units_off(scalar::exponential(x), std::exp(static_cast<double>(x))));
  }
  MESSAGE("largest error of exp: " << worst << " units of the last place");
  CHECK(worst < 1.5);
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(scalar::exponential(0.0f) == 1.0f);
  CHECK(scalar::exponential(-0.0f) == 1.0f);
  CHECK(scalar::exponential(-87.5f) == 0.0f);
  CHECK(scalar::exponential(-infinity) == 0.0f);
  CHECK(scalar::exponential(88.7f) < infinity);
  CHECK(scalar::exponential(88.73f) == infinity);
  CHECK(scalar::exponential(infinity) == infinity);
  CHECK(std::isnan(scalar::exponential(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("every half float survives the way to float and back") {
  for (u32 i = 0; i <= 0xffff; ++i) {
    const u16 half = static_cast<u16>(i);
    const float value = scalar::half_to_float(half);
    const i32 exponent = static_cast<i32>(i >> 10 & 31);
    const double mantissa = static_cast<double>(i & 1023);
    if (exponent == 31) {
      CHECK(std::isnan(value) == ((i & 1023) != 0));
    } else {
      const double size = exponent == 0 ? std::ldexp(mantissa, -24)
                                        : std::ldexp(1024 + mantissa, exponent - 25);
      if (static_cast<double>(value) != (i & 0x8000 ? -size : size)) FAIL_CHECK("half " << i);
    }
    const u16 quiet = std::isnan(value) ? static_cast<u16>(half | 0x200) : half;
    if (scalar::float_to_half(value) != quiet) FAIL_CHECK("half " << i << " and back");
  }
}

TEST_CASE("floats become the nearest half float, ties to even") {
  TestNumbers numbers(11);
  for (int i = 0; i < 200000; ++i) {
    const float value = numbers.between(-1.0f, 1.0f) *
                        std::ldexp(1.0f, static_cast<int>(numbers.below(48)) - 30);
    const u16 half = scalar::float_to_half(value);
    if ((half & 0x7fff) >= 0x7bff) continue;  // at the end of the range: below
    const double x = static_cast<double>(std::fabs(value));
    const auto size = [](u32 bits) {
      return static_cast<double>(scalar::half_to_float(static_cast<u16>(bits)));
    };
    const u32 bits = half & 0x7fffu;
    const double here = std::fabs(size(bits) - x);
    const double above = std::fabs(size(bits + 1) - x);
    const double below = bits ? std::fabs(size(bits - 1) - x) : here + 1;
    const bool nearest = here <= above && here <= below;
    const bool even = (here < above && here < below) || (bits & 1) == 0;
    if (!nearest || !even) FAIL_CHECK("float " << value);
  }
  CHECK(scalar::float_to_half(65504.0f) == 0x7bff);
  CHECK(scalar::float_to_half(65519.996f) == 0x7bff);
  CHECK(scalar::float_to_half(65520.0f) == 0x7c00);
  CHECK(scalar::float_to_half(-1e30f) == 0xfc00);
  CHECK(scalar::float_to_half(2e-8f) == 0);
}

TEST_CASE("quantised rows are worth what they were made of, to half a step") {
  TestNumbers numbers(12);
  const i64 n = 96;
  const std::vector<float> x = moderate_floats(&numbers, n, 7.0f);
  std::vector<u8> q(static_cast<size_t>(n + n / kBlock * 8));
  for (const KernelSet* set : sets_here()) {
    set->quantize(x.data(), n, q.data(), nullptr);
    for (i64 block = 0; block < n / kBlock; ++block) {
      const float d = load_float(q.data() + scales_offset(n) + 4 * block);
      const float s = load_float(q.data() + sums_offset(n) + 4 * block);
      i32 sum = 0;
      for (i64 i = block * kBlock; i < (block + 1) * kBlock; ++i) {
        const i8 code = static_cast<i8>(q[static_cast<size_t>(i)]);
        sum += code;
        CHECK(std::fabs(d * static_cast<float>(code) - x[static_cast<size_t>(i)]) <= d * 0.501f);
      }
      CHECK(s == d * static_cast<float>(sum));
    }
  }
}

TEST_CASE("a second int8 row holds what the first left over, to half a step of its own") {
  TestNumbers numbers(13);
  const i64 n = 96;
  std::vector<float> x = moderate_floats(&numbers, n, 7.0f);
  x[40] = 900.0f;  // alone coarsens its block
  const auto bytes = static_cast<size_t>(n + n / kBlock * 8);
  for (const KernelSet* set : sets_here()) {
    std::vector<u8> q(2 * bytes);
    set->quantize(x.data(), n, q.data(), q.data() + bytes);
    for (i64 i = 0; i < n; ++i) {
      double worth = 0;
      float d = 0;
      for (const u8* row : {q.data(), q.data() + bytes}) {
        d = load_float(row + scales_offset(n) + 4 * (i / kBlock));
        worth += double{d} * static_cast<i8>(row[i]);
      }
      CHECK(std::fabs(worth - double{x[static_cast<size_t>(i)]}) <= double{d} * 0.501);
    }
  }
}

namespace {

struct Sequence {
  static constexpr i64 heads = 2;
  std::vector<u8> k, v;
  std::vector<float> keys, values;  // as stored: [position][head][dim]
  std::vector<u32> table;
  KvLayer layer;

  Sequence(TestNumbers* numbers, i64 positions, i32 dim, i32 is_f32) {
    const i64 blocks = (positions + kKvPositions - 1) / kKvPositions;
    const i64 head_bytes = dim * kKvPositions * (is_f32 ? 4 : 2);
    k.assign(static_cast<size_t>(blocks * heads * head_bytes), 0xff);  // not a number
    v = k;
    layer = KvLayer{k.data(), v.data(), heads * head_bytes, head_bytes, dim, is_f32};
    for (i64 b = 0; b < blocks; ++b) table.push_back(static_cast<u32>((b + 1) % blocks));
    for (i64 at = 0; at < positions; ++at) {
      for (i64 h = 0; h < heads; ++h) {
        const std::vector<float> key = moderate_floats(numbers, dim, 2.0f);
        const std::vector<float> value = moderate_floats(numbers, dim, 2.0f);
        scalar_kernels->kv_store(&layer, h, table.data(), at, key.data(), value.data());
        for (i64 d = 0; d < dim; ++d) {
          keys.push_back(stored(key[static_cast<size_t>(d)]));
          values.push_back(stored(value[static_cast<size_t>(d)]));
        }
      }
    }
  }
  float stored(float x) const {
    return layer.is_f32 ? x : scalar::half_to_float(scalar::float_to_half(x));
  }
  const float* row(const std::vector<float>& of, i64 position, i64 head) const {
    return of.data() + (position * heads + head) * layer.head_dim;
  }
};

std::vector<float> attend(const KernelSet& set, const Sequence& sequence,
                          const std::vector<float>& q, std::span<const i32> positions,
                          size_t first) {
  const size_t dim = static_cast<size_t>(sequence.layer.head_dim);
  std::vector<float> out(positions.size() * dim);
  std::vector<const float*> from;
  std::vector<float*> to;
  for (size_t i = 0; i < positions.size(); ++i) {
    from.push_back(q.data() + (first + i) * dim);
    to.push_back(out.data() + i * dim);
  }
  const AttendTask task = {.kv = &sequence.layer,
                           .kv_head = 1,
                           .block_table = sequence.table.data(),
                           .queries = static_cast<i64>(positions.size()),
                           .q = from.data(),
                           .out = to.data(),
                           .position = positions.data(),
                           .scale = 0.2f};
  const Scratch scratch(set.scratch_bytes(32, 1, task.queries, sequence.layer.head_dim));
  set.attend(&task, scratch.data());
  return out;
}

// Softmax attention as it is defined, in double precision.
std::vector<double> naive(const Sequence& sequence, const float* q, i64 position) {
  const i64 dim = sequence.layer.head_dim;
  std::vector<double> score;
  double largest = -HUGE_VAL;
  for (i64 at = 0; at <= position; ++at) {
    double dot = 0;
    for (i64 d = 0; d < dim; ++d) {
      dot += static_cast<double>(q[d]) * static_cast<double>(sequence.row(sequence.keys, at, 1)[d]);
    }
    score.push_back(dot * static_cast<double>(0.2f));
    largest = std::max(largest, score.back());
  }
  std::vector<double> out(static_cast<size_t>(dim));
  double total = 0;
  for (i64 at = 0; at <= position; ++at) {
    const double share = std::exp(score[static_cast<size_t>(at)] - largest);
    total += share;
    for (i64 d = 0; d < dim; ++d) {
      out[static_cast<size_t>(d)] +=
          share * static_cast<double>(sequence.row(sequence.values, at, 1)[d]);
    }
  }
  for (double& x : out) x /= total;
  return out;
}

}  // namespace

TEST_CASE("attention is softmax attention, and a query's result is its own") {
  TestNumbers numbers(13);
  std::vector<i32> positions;
  for (i32 i = 0; i < 70; ++i) positions.push_back(i / 2 + (i > 40 ? 40 : 0));
  for (const i32 is_f32 : {0, 1}) {
    for (const i32 dim : {24, 64}) {
      const Sequence sequence(&numbers, 75, dim, is_f32);
      const std::vector<float> q = moderate_floats(&numbers, 70 * dim, 2.0f);
      for (const KernelSet* set : sets_here()) {
        const std::vector<float> together = attend(*set, sequence, q, positions, 0);
        for (size_t i = 0; i < positions.size(); ++i) {
          const auto width = static_cast<size_t>(dim);
          const std::span<const float> mine = std::span(together).subspan(i * width, width);
          const std::vector<float> alone =
              attend(*set, sequence, q, std::span(positions).subspan(i, 1), i);
          CHECK(first_difference(mine, alone) == -1);
          const std::vector<double> want = naive(sequence, q.data() + i * width, positions[i]);
          for (size_t d = 0; d < width; ++d) {
            if (std::fabs(static_cast<double>(mine[d]) - want[d]) > 2e-6) {
              FAIL_CHECK("query " << i << ", dimension " << d);
            }
          }
        }
      }
    }
  }
}

}  // namespace soma::cpu
