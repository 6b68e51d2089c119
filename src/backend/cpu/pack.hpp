// From a file's rows to the one packed layout that all kernel sets read (kernels/kernels.hpp).
#pragma once

#include "backend/cpu/kernels/kernels.hpp"
#include "value/format.hpp"

namespace soma::cpu {

// How a weight of a format and shape lies packed, and how large it is.
struct PackPlan {
  Format format = Format::Other;
  PackKind kind = kF32;
  i64 rows = 0;
  i64 columns = 0;
  i64 groups = 0;
  i64 group_bytes = 0;
  u64 bytes = 0;  // groups × group_bytes
};

// Nothing where no kernel reads the format, or rows or columns are not positive, or columns are
// not whole blocks, or the sizes don't fit.
std::optional<PackPlan> plan_pack(Format format, i64 rows, i64 columns);

// Packs groups [begin, end) of `source`, the file's rows one after the other, to their places in
// `out`, which is `plan.bytes` long and 64-byte aligned. Disjoint ranges may be packed at once.
void pack_groups(const PackPlan& plan, const u8* source, i64 begin, i64 end, u8* out);

inline PackedMatrix packed_matrix(const PackPlan& plan, const u8* data) {
  return PackedMatrix{data, plan.rows, plan.columns, plan.group_bytes, plan.kind};
}

}  // namespace soma::cpu
