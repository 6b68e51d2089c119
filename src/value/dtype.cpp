// The table of dtypes, and which numbers fit into which.
#include "value/dtype.hpp"

#include <array>

namespace soma {

namespace {

enum class Sort : u8 { Other, Signed, Unsigned, Float };

struct DtypeInfo {
  std::string_view name;
  Sort sort = Sort::Other;
  // All integers up to 2^bits in magnitude are values; of a float: its precision.
  int bits = 0;
  int exponent_bits = 0;
};

constexpr std::array<DtypeInfo, 19> dtypes = {{
    {"bool"},
    {"i8", Sort::Signed, 7},
    {"i16", Sort::Signed, 15},
    {"i32", Sort::Signed, 31},
    {"i64", Sort::Signed, 63},
    {"u8", Sort::Unsigned, 8},
    {"u16", Sort::Unsigned, 16},
    {"u32", Sort::Unsigned, 32},
    {"u64", Sort::Unsigned, 64},
    {"f16", Sort::Float, 11, 5},
    {"bf16", Sort::Float, 8, 8},
    {"f32", Sort::Float, 24, 8},
    {"f64", Sort::Float, 53, 11},
    {"text"},
    {"bytes"},
    {"list"},
    {"map"},
    {"opaque"},
    {"any"},
}};

const DtypeInfo& info(Dtype dtype) { return dtypes[static_cast<size_t>(dtype)]; }

}  // namespace

std::string_view dtype_name(Dtype dtype) { return info(dtype).name; }

std::optional<Dtype> dtype_by_name(std::string_view name) {
  for (size_t i = 0; i < dtypes.size(); ++i) {
    if (dtypes[i].name == name) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

Fit fit(Dtype from, Dtype to) {
  if (from == to || from == Dtype::Any || to == Dtype::Any) return Fit::Same;
  const DtypeInfo& narrow = info(from);
  const DtypeInfo& wide = info(to);
  if (narrow.sort == Sort::Other || wide.sort == Sort::Other) return Fit::None;
  if (narrow.sort == Sort::Float && wide.sort != Sort::Float) return Fit::None;
  if (narrow.sort == Sort::Signed && wide.sort == Sort::Unsigned) return Fit::None;
  // Every float has the exponents for all integers within its precision.
  const bool fits = narrow.bits <= wide.bits && narrow.exponent_bits <= wide.exponent_bits;
  return fits ? Fit::Widening : Fit::None;
}

}  // namespace soma
