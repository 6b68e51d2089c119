// Proves which dtypes fit into which, against the ranges and precisions of the types themselves.
#include "value/dtype.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace soma {

namespace {

constexpr size_t dtype_count = 19;
Dtype dtype_at(size_t i) { return static_cast<Dtype>(i); }

// A numeric type by the C++ type it is like: integers by range, floats by digits and exponents.
struct Numeric {
  Dtype dtype;
  bool is_float;
  long double lowest, highest;  // of integers
  int digits, exponent_max;     // of floats
};

template <typename T>
Numeric whole(Dtype dtype) {
  return {dtype, false, static_cast<long double>(std::numeric_limits<T>::min()),
          static_cast<long double>(std::numeric_limits<T>::max()), 0, 0};
}

const Numeric numerics[] = {
    whole<i8>(Dtype::I8),
    whole<std::int16_t>(Dtype::I16),
    whole<i32>(Dtype::I32),
    whole<i64>(Dtype::I64),
    whole<u8>(Dtype::U8),
    whole<u16>(Dtype::U16),
    whole<u32>(Dtype::U32),
    whole<u64>(Dtype::U64),
    {Dtype::F16, true, 0, 0, 11, 16},
    {Dtype::BF16, true, 0, 0, 8, 128},
    {Dtype::F32, true, 0, 0, std::numeric_limits<float>::digits,
     std::numeric_limits<float>::max_exponent},
    {Dtype::F64, true, 0, 0, std::numeric_limits<double>::digits,
     std::numeric_limits<double>::max_exponent},
};

const Numeric* numeric(Dtype dtype) {
  for (const Numeric& row : numerics) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

bool has_all(const Numeric& wide, const Numeric& narrow) {
  if (narrow.is_float) {
    return wide.is_float && wide.digits >= narrow.digits &&
           wide.exponent_max >= narrow.exponent_max;
  }
  if (!wide.is_float) return wide.lowest <= narrow.lowest && wide.highest >= narrow.highest;
  // Integers up to 2^digits are all values of a float, the next one is not.
  const long double exact = static_cast<long double>(u64{1} << wide.digits);
  return narrow.highest <= exact && -narrow.lowest <= exact;
}

}  // namespace

TEST_CASE("names and dtypes stand for each other") {
  std::string all;
  for (size_t i = 0; i < dtype_count; ++i) {
    CHECK(dtype_by_name(dtype_name(dtype_at(i))) == dtype_at(i));
    all += std::string(dtype_name(dtype_at(i))) + " ";
  }
  CHECK(all ==
        "bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 text bytes list map opaque any ");
  CHECK(dtype_at(dtype_count - 1) == Dtype::Any);
  for (const std::string_view none : {"", "f8", "F32", "int", "any ", "f3"}) {
    CAPTURE(none);
    CHECK_FALSE(dtype_by_name(none));
  }
}

TEST_CASE("a dtype fits where it is the same, any, or all its numbers are values") {
  for (size_t i = 0; i < dtype_count; ++i) {
    for (size_t j = 0; j < dtype_count; ++j) {
      const Dtype from = dtype_at(i), to = dtype_at(j);
      CAPTURE(dtype_name(from));
      CAPTURE(dtype_name(to));
      const Numeric* narrow = numeric(from);
      const Numeric* wide = numeric(to);
      const bool same = from == to || from == Dtype::Any || to == Dtype::Any;
      const bool widens = narrow && wide && has_all(*wide, *narrow);
      CHECK(fit(from, to) == (same ? Fit::Same : widens ? Fit::Widening : Fit::None));
    }
  }
}

TEST_CASE("some fits, spelled out") {
  CHECK(fit(Dtype::F16, Dtype::F32) == Fit::Widening);
  CHECK(fit(Dtype::F16, Dtype::BF16) == Fit::None);
  CHECK(fit(Dtype::BF16, Dtype::F16) == Fit::None);
  CHECK(fit(Dtype::F32, Dtype::F16) == Fit::None);
  CHECK(fit(Dtype::U8, Dtype::I16) == Fit::Widening);
  CHECK(fit(Dtype::U8, Dtype::I8) == Fit::None);
  CHECK(fit(Dtype::I8, Dtype::U64) == Fit::None);
  CHECK(fit(Dtype::U8, Dtype::BF16) == Fit::Widening);
  CHECK(fit(Dtype::I32, Dtype::F32) == Fit::None);
  CHECK(fit(Dtype::I32, Dtype::F64) == Fit::Widening);
  CHECK(fit(Dtype::I64, Dtype::F64) == Fit::None);
  CHECK(fit(Dtype::F32, Dtype::I64) == Fit::None);
  CHECK(fit(Dtype::Bool, Dtype::I8) == Fit::None);
  CHECK(fit(Dtype::Text, Dtype::Bytes) == Fit::None);
  CHECK(fit(Dtype::Opaque, Dtype::Any) == Fit::Same);
}

}  // namespace soma
