// What kinds of things flow along an edge, as ports declare it.
#pragma once

#include "base/core.hpp"

namespace soma {

enum class Dtype : u8 {
  Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64,
  Text, Bytes, List, Map, Opaque, Any,
};
std::string_view dtype_name(Dtype dtype);  // "bool", "i8", …, "any"
std::optional<Dtype> dtype_by_name(std::string_view name);

// May what is `from` go where `to` is expected?
enum class Fit : u8 {
  Same,      // also: either is `any`
  Widening,  // numbers that `to` has, all of them: nothing is converted, the reader must take it
  None,
};
Fit fit(Dtype from, Dtype to);

}  // namespace soma
