// Proves that every kernel set this machine can run gives the scalar set's bytes.
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

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kSentinel = -12345.0f;

// What a packed matrix is made of: random codes, and scales of one of several characters.
enum class Scales { Moderate, Extreme };
enum class Codes { Random, Largest, Smallest };

struct Matrix {
  std::vector<u8> memory;
  PackedMatrix packed;
};

Matrix make_matrix(TestNumbers* numbers, PackKind kind, i64 rows, i64 columns, Scales scales,
                   Codes codes) {
  Matrix out;
  const i64 groups = (rows + kGroup - 1) / kGroup;
  const i64 group_bytes = packed_group_bytes(kind, columns);
  out.memory.resize(static_cast<size_t>(groups * group_bytes) + kLine);
  u8* data = out.memory.data();
  while (reinterpret_cast<uintptr_t>(data) % kLine != 0) ++data;
  const auto half = [&] {
    return scalar::float_to_half(scales == Scales::Extreme ? numbers->extreme()
                                                           : numbers->between(-0.1f, 0.1f));
  };
  for (i64 g = 0; g < groups; ++g) {
    u8* group = data + g * group_bytes;
    if (!is_integer(kind)) {
      for (i64 i = 0; i < columns * kGroup; ++i) {
        const float value = scales == Scales::Extreme ? numbers->extreme()
                                                      : numbers->between(-1.0f, 1.0f);
        const u32 bits = scalar::bits_of_float(value);
        const u16 brain = static_cast<u16>(bits >> 16);
        const u16 as_half = scalar::float_to_half(value);
        if (kind == kF32) std::memcpy(group + 4 * i, &bits, 4);
        else std::memcpy(group + 2 * i, kind == kF16 ? &as_half : &brain, 2);
      }
      continue;
    }
    const PairShape shape = pair_shape(kind);
    for (i64 block = 0; block < columns / kBlock; ++block) {
      u8* pair = group + block / 2 * shape.pair_bytes;
      for (i64 i = 0; i < shape.block_bytes; ++i) {
        u8 code = static_cast<u8>(numbers->next());
        if (codes == Codes::Largest) code = is_nibbles(kind) ? 0xff : 0x7f;
        if (codes == Codes::Smallest) code = is_nibbles(kind) ? 0x00 : 0x80;
        pair[block % 2 * shape.block_bytes + i] = code;
      }
      for (i64 c = 0; c < kGroup; ++c) {
        const u16 scale = half();
        const u16 minimum = half();
        std::memcpy(pair + shape.scales_at + block % 2 * 32 + 2 * c, &scale, 2);
        if (shape.minimums_at) {
          std::memcpy(pair + shape.minimums_at + block % 2 * 32 + 2 * c, &minimum, 2);
        }
      }
    }
  }
  out.packed = PackedMatrix{data, rows, columns, group_bytes, kind};
  return out;
}

// Runs one matmul of the set over a part of the groups and compares rows × groups of results.
struct Product {
  const KernelSet* set;
  const PackedMatrix* w;
  const void* x;
  i64 stride;  // bytes for q8a, floats for f32
  bool quantised;

  std::vector<float> run(const KernelSet& with, i64 begin, i64 end, i64 rows) const {
    const i64 out_stride = (end - begin) * kGroup + 5;
    std::vector<float> out(static_cast<size_t>(rows * out_stride), kSentinel);
    const Scratch scratch(with.scratch_bytes(w->columns, rows, 1, 16));
    with.enter();
    if (quantised) {
      with.matmul_q8a(w, begin, end, static_cast<const u8*>(x), stride, rows, out.data(),
                      out_stride, scratch.data());
    } else {
      with.matmul_f32(w, begin, end, static_cast<const float*>(x), stride, rows, out.data(),
                      out_stride, scratch.data());
    }
    with.leave();
    CHECK(scratch.intact());
    return out;
  }

  void check(i64 begin, i64 end, std::span<const i64> row_counts) const {
    for (const i64 rows : row_counts) {
      CAPTURE(rows);
      CAPTURE(w->kind);
      CAPTURE(w->columns);
      CAPTURE(begin);
      CHECK(first_difference(run(*set, begin, end, rows), run(*scalar_kernels, begin, end, rows)) ==
            -1);
    }
  }
};

constexpr i64 kEveryRows[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 15, 16,
                              17, 19, 23, 24, 25, 31, 32, 33, 39, 40, 97};
constexpr i64 kFewRows[] = {1, 2, 3, 5, 8, 13, 25, 32, 41};

std::span<const i64> row_counts(bool thorough) {
  return thorough ? std::span<const i64>(kEveryRows) : std::span<const i64>(kFewRows);
}

std::vector<u8> make_q8a(TestNumbers* numbers, i64 rows, i64 columns, i64 stride, bool extreme) {
  std::vector<u8> out(static_cast<size_t>(rows * stride), 0xee);
  for (i64 r = 0; r < rows; ++r) {
    std::vector<float> x = moderate_floats(numbers, columns, 3.0f);
    if (extreme) {
      for (i64 i = 0; i < columns; i += 1 + numbers->below(40)) {
        x[static_cast<size_t>(i)] = numbers->extreme();
      }
    }
    scalar_kernels->quantize(x.data(), columns, out.data() + r * stride, nullptr);
  }
  return out;
}

// All activations +127 or all −127: with the largest codes, sums reach their bounds.
std::vector<u8> make_saturated(i64 rows, i64 columns, i64 stride) {
  std::vector<u8> out(static_cast<size_t>(rows * stride));
  for (i64 r = 0; r < rows; ++r) {
    const std::vector<float> x(static_cast<size_t>(columns), r % 2 ? -3.0f : 3.0f);
    scalar_kernels->quantize(x.data(), columns, out.data() + r * stride, nullptr);
  }
  return out;
}

// Codes by their bytes; scales and sums as floats, of which what is not a number equals its like.
void check_same_row(const std::vector<u8>& row, const std::vector<u8>& want, i64 n) {
  CHECK(std::memcmp(row.data(), want.data(), static_cast<size_t>(n)) == 0);
  std::vector<float> scales(static_cast<size_t>(n / kBlock * 2)), scales_want = scales;
  std::memcpy(scales.data(), row.data() + n, scales.size() * 4);
  std::memcpy(scales_want.data(), want.data() + n, scales.size() * 4);
  CHECK(first_difference(scales, scales_want) == -1);
}

}  // namespace

float TestNumbers::extreme() {
  switch (below(12)) {
    case 0: return 0.0f;
    case 1: return -0.0f;
    case 2: return 1e-41f;
    case 3: return -3e-39f;
    case 4: return 6e-8f;
    case 5: return -7e4f;
    case 6: return 3e38f;
    case 7: return std::numeric_limits<float>::infinity();
    case 8: return -std::numeric_limits<float>::infinity();
    case 9: return kNan;
    default: return between(-2.0f, 2.0f);
  }
}

std::vector<float> moderate_floats(TestNumbers* numbers, i64 n, float size) {
  std::vector<float> out(static_cast<size_t>(n));
  for (float& value : out) value = numbers->between(-size, size);
  return out;
}

i64 first_difference(std::span<const float> got, std::span<const float> want) {
  if (got.size() != want.size()) return 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(want[i])) continue;
    if (std::memcmp(&got[i], &want[i], sizeof(float)) != 0) return static_cast<i64>(i);
  }
  return -1;
}

Scratch::Scratch(i64 bytes)
    : memory_(static_cast<size_t>(bytes) + 3 * kLine, 0xa5), data_(memory_.data()), bytes_(bytes) {
  while (reinterpret_cast<uintptr_t>(data_) % kLine != 0) ++data_;
}

bool Scratch::intact() const {
  for (i64 i = 0; i < kLine; ++i) {
    if (data_[bytes_ + i] != 0xa5) return false;
  }
  return true;
}

void check_matmul_q8a(const KernelSet& set, bool thorough) {
  TestNumbers numbers(1);
  const std::vector<i64> widths = thorough ? std::vector<i64>{32, 64, 96, 160, 576, 1536}
                                           : std::vector<i64>{32, 64, 96, 832};
  for (const PackKind kind : {kQ4, kQ4M, kQ8, kQ8M}) {
    for (const i64 columns : widths) {
      const i64 stride = columns + columns / kBlock * 8 + 8;
      const Matrix w = make_matrix(&numbers, kind, 9 * kGroup - 3, columns, Scales::Moderate,
                                   Codes::Random);
      const std::vector<u8> x = make_q8a(&numbers, 97, columns, stride, false);
      const Product product = {&set, &w.packed, x.data(), stride, true};
      product.check(0, columns > 160 ? 3 : 9, row_counts(thorough));
      const i64 one[] = {1};
      product.check(1, 9, one);
      product.check(8, 9, one);
      product.check(4, 4, one);
    }
    const i64 columns = 96;
    const i64 stride = columns + columns / kBlock * 8;
    const i64 rows[] = {1, 2, 3, 7, 33};
    for (const Codes codes : {Codes::Largest, Codes::Smallest}) {
      const Matrix w = make_matrix(&numbers, kind, 40, columns, Scales::Moderate, codes);
      const std::vector<u8> x = make_saturated(33, columns, stride);
      Product{&set, &w.packed, x.data(), stride, true}.check(0, 3, rows);
    }
    const Matrix w = make_matrix(&numbers, kind, 40, columns, Scales::Extreme, Codes::Random);
    const std::vector<u8> x = make_q8a(&numbers, 33, columns, stride, true);
    Product{&set, &w.packed, x.data(), stride, true}.check(0, 3, rows);
  }
}

void check_matmul_f32(const KernelSet& set, bool thorough) {
  TestNumbers numbers(2);
  const i64 rows[] = {1, 2, 3, 4, 5, 8, 11, 17};
  for (const PackKind kind : {kQ4, kQ4M, kQ8, kQ8M, kF32, kF16, kBF16}) {
    std::vector<i64> widths = {32, 96, thorough ? 576 : 160};
    if (!is_integer(kind)) widths.insert(widths.end(), {1, 3, 41});
    for (const i64 columns : widths) {
      for (const Scales scales : {Scales::Moderate, Scales::Extreme}) {
        const Matrix w =
            make_matrix(&numbers, kind, 11 * kGroup - 5, columns, scales, Codes::Random);
        const std::vector<float> x = moderate_floats(&numbers, 17 * (columns + 2), 2.0f);
        const Product product = {&set, &w.packed, x.data(), columns + 2, false};
        product.check(0, columns > 160 ? 3 : 11, rows);
        product.check(2, 11, std::span(rows).first(1));
      }
    }
  }
}

void check_rows(const KernelSet& set) {
  TestNumbers numbers(3);
  for (const i64 n : {1, 7, 16, 17, 33, 64, 96, 576, 1000}) {
    CAPTURE(n);
    for (const bool wild : {false, true}) {
      std::vector<float> x = moderate_floats(&numbers, n, 30.0f);
      std::vector<float> y = moderate_floats(&numbers, n, 2.0f);
      if (wild) {
        for (float& value : x) value = numbers.extreme();
      }
      std::vector<float> got(static_cast<size_t>(n) + 1, kSentinel);
      std::vector<float> want = got;

      scalar_kernels->rms_norm(x.data(), y.data(), n, 1e-5f, want.data());
      set.rms_norm(x.data(), y.data(), n, 1e-5f, got.data());
      CHECK(first_difference(got, want) == -1);
      scalar_kernels->silu_mul(x.data(), y.data(), n, want.data());
      set.silu_mul(x.data(), y.data(), n, got.data());
      CHECK(first_difference(got, want) == -1);
      scalar_kernels->add(x.data(), y.data(), n, want.data());
      set.add(x.data(), y.data(), n, got.data());
      CHECK(first_difference(got, want) == -1);
      CHECK(set.argmax(x.data(), n) == scalar_kernels->argmax(x.data(), n));

      // In place, as the executor uses them.
      std::vector<float> in_place = x;
      set.add(in_place.data(), y.data(), n, in_place.data());
      CHECK(first_difference(in_place, std::span(want).first(static_cast<size_t>(n))) == -1);

      if (n % kBlock != 0) continue;
      const size_t bytes = static_cast<size_t>(n + n / kBlock * 8);
      std::vector<u8> q(bytes), q_want(bytes), left(bytes), left_want(bytes), alone(bytes);
      scalar_kernels->quantize(x.data(), n, q_want.data(), left_want.data());
      set.quantize(x.data(), n, q.data(), left.data());
      set.quantize(x.data(), n, alone.data(), nullptr);
      check_same_row(q, q_want, n);
      check_same_row(left, left_want, n);
      check_same_row(alone, q_want, n);
    }
  }
  for (const i64 dims : {2, 6, 16, 20, 32, 64, 80, 128}) {
    CAPTURE(dims);
    for (const i32 adjacent : {0, 1}) {
      const std::vector<float> table = moderate_floats(&numbers, dims, 1.0f);
      std::vector<float> head = moderate_floats(&numbers, dims + 3, 5.0f);
      std::vector<float> want = head;
      scalar_kernels->rope(want.data(), dims, adjacent, table.data());
      set.rope(head.data(), dims, adjacent, table.data());
      CHECK(first_difference(head, want) == -1);
    }
  }
  // Ties go to the lowest index, what is not a number never wins.
  std::vector<float> x(500, 1.0f);
  CHECK(set.argmax(x.data(), 500) == 0);
  x[0] = kNan;
  x[130] = x[131] = x[460] = 2.0f;
  CHECK(set.argmax(x.data(), 500) == 130);
  for (float& value : x) value = -std::numeric_limits<float>::infinity();
  x[0] = kNan;
  CHECK(set.argmax(x.data(), 500) == 1);
}

void check_embed(const KernelSet& set) {
  TestNumbers numbers(4);
  for (const PackKind kind : {kQ4, kQ4M, kQ8, kQ8M, kF32, kF16, kBF16}) {
    for (const Scales scales : {Scales::Moderate, Scales::Extreme}) {
      const Matrix w = make_matrix(&numbers, kind, 40, 96, scales, Codes::Random);
      for (const i64 token : {0, 5, 15, 16, 39}) {
        std::vector<float> got(96), want(96);
        set.embed(&w.packed, token, got.data());
        scalar_kernels->embed(&w.packed, token, want.data());
        CHECK(first_difference(got, want) == -1);
      }
    }
  }
}

namespace {

// The KV of one layer with room for some blocks, all of it "not a number" until written.
struct KvCase {
  std::vector<u8> k, v;
  KvLayer layer;
  std::vector<u32> table;

  KvCase(i64 blocks, i64 heads, i32 head_dim, i32 is_f32) {
    const i64 head_bytes = head_dim * kKvPositions * (is_f32 ? 4 : 2);
    k.assign(static_cast<size_t>(blocks * heads * head_bytes), 0xff);
    v = k;
    layer = KvLayer{k.data(), v.data(), heads * head_bytes, head_bytes, head_dim, is_f32};
    for (i64 b = 0; b < blocks; ++b) table.push_back(static_cast<u32>(blocks - 1 - b));
  }
  void fill(TestNumbers* numbers, i64 heads, i64 positions, bool wild) {
    for (i64 at = 0; at < positions; ++at) {
      for (i64 h = 0; h < heads; ++h) {
        std::vector<float> key = moderate_floats(numbers, layer.head_dim, 2.0f);
        std::vector<float> value = moderate_floats(numbers, layer.head_dim, 2.0f);
        if (wild && numbers->below(40) == 0) key[0] = numbers->extreme();
        if (wild && numbers->below(40) == 0) value[0] = numbers->extreme();
        scalar_kernels->kv_store(&layer, h, table.data(), at, key.data(), value.data());
      }
    }
  }
};

std::vector<float> run_attend(const KernelSet& set, const KvCase& kv, std::span<const float> q,
                              std::span<const i32> positions) {
  const size_t dim = static_cast<size_t>(kv.layer.head_dim);
  std::vector<float> out(positions.size() * dim, kSentinel);
  std::vector<const float*> from;
  std::vector<float*> to;
  for (size_t i = 0; i < positions.size(); ++i) {
    from.push_back(q.data() + i * dim);
    to.push_back(out.data() + i * dim);
  }
  const i64 queries = static_cast<i64>(positions.size());
  const AttendTask task = {&kv.layer,  1,         kv.table.data(),  queries,
                           from.data(), to.data(), positions.data(), 0.125f};
  const Scratch scratch(set.scratch_bytes(32, 1, queries, kv.layer.head_dim));
  set.attend(&task, scratch.data());
  CHECK(scratch.intact());
  return out;
}

}  // namespace

void check_kv_store(const KernelSet& set) {
  TestNumbers numbers(5);
  for (const i32 head_dim : {4, 16, 40, 64, 128}) {
    for (const i32 is_f32 : {0, 1}) {
      KvCase got(3, 2, head_dim, is_f32), want(3, 2, head_dim, is_f32);
      for (const i64 at : {0, 1, 15, 16, 47}) {
        std::vector<float> key(static_cast<size_t>(head_dim)), value(key.size());
        for (float& element : key) element = numbers.extreme() * numbers.between(0.0f, 1.0f);
        for (float& element : value) element = numbers.between(-7e4f, 7e4f);
        set.kv_store(&got.layer, 1, got.table.data(), at, key.data(), value.data());
        scalar_kernels->kv_store(&want.layer, 1, want.table.data(), at, key.data(), value.data());
      }
      CHECK(got.k == want.k);
      CHECK(got.v == want.v);
    }
  }
}

void check_attend(const KernelSet& set, bool thorough) {
  TestNumbers numbers(6);
  const std::vector<i32> dims = thorough ? std::vector<i32>{4, 16, 40, 64, 80, 128}
                                         : std::vector<i32>{8, 64};
  for (const i32 head_dim : dims) {
    for (const i32 is_f32 : {0, 1}) {
      for (const bool wild : {false, true}) {
        KvCase kv(6, 2, head_dim, is_f32);
        kv.fill(&numbers, 2, 83, wild);
        for (const i64 queries : {1, 2, 3, 4, 5, 7, 9, 31, 60}) {
          if (!thorough && queries > 9 && queries != 31) continue;
          CAPTURE(queries);
          CAPTURE(head_dim);
          std::vector<i32> positions;
          for (i64 i = 0; i < queries; ++i) {  // ascending, some equal, from early or late ones
            const i64 at = queries % 2 ? 3 + i * 79 / queries : 82 - (queries - 1 - i) / 3;
            positions.push_back(static_cast<i32>(at));
          }
          const std::vector<float> q = moderate_floats(&numbers, queries * head_dim, 3.0f);
          CHECK(first_difference(run_attend(set, kv, q, positions),
                                 run_attend(*scalar_kernels, kv, q, positions)) == -1);
        }
      }
    }
  }
}

namespace {

void check_set(const KernelSet* set, bool available, std::string_view name) {
  if (!set || !available) {
    MESSAGE("set " << std::string(name) << ": not on this machine");
    return;
  }
  CHECK(set->name == name);
  check_matmul_q8a(*set, true);
  check_matmul_f32(*set, true);
  check_rows(*set);
  check_embed(*set);
  check_kv_store(*set);
  check_attend(*set, true);
}

}  // namespace

TEST_CASE("the avx2 set gives the scalar set's bytes") {
  check_set(avx2_kernels, probe_cpu().avx2, "avx2");
}

TEST_CASE("the avx512_vnni set gives the scalar set's bytes") {
  check_set(avx512_vnni_kernels, probe_cpu().avx512_vnni, "avx512_vnni");
}

TEST_CASE("the amx_int8 set gives the scalar set's bytes") {
  check_set(amx_int8_kernels, probe_cpu().amx_int8 && request_amx(), "amx_int8");
}

}  // namespace soma::cpu
