// Products of packed weights with activations, one number at a time: the oracle of all matmuls.
#include "backend/cpu/kernels/scalar/numbers.hpp"
#include "backend/cpu/kernels/scalar/set.hpp"

namespace soma::cpu::scalar {

namespace {

// Column c of a group: where its codes, scale and minimum of a block are.
struct Column {
  const uint8_t* group;
  PackKind kind;
  int64_t c;

  const uint8_t* pair(int64_t block) const {
    return group + block / 2 * pair_shape(kind).pair_bytes;
  }
  int32_t code(int64_t block, int64_t k) const {  // k within the block
    const uint8_t* codes = pair(block) + block % 2 * pair_shape(kind).block_bytes;
    if (is_nibbles(kind)) {
      const uint8_t byte = codes[k % 16 / 4 * kLine + 4 * c + k % 4];
      return (k < 16 ? byte & 15 : byte >> 4) - code_offset(kind);
    }
    return static_cast<int8_t>(codes[k / 4 * kLine + 4 * c + k % 4]);
  }
  float scale(int64_t block) const { return half_at(block, pair_shape(kind).scales_at); }
  float minimum(int64_t block) const { return half_at(block, pair_shape(kind).minimums_at); }
  float half_at(int64_t block, int64_t at) const {
    return half_to_float(load_half(pair(block) + at + block % 2 * 32 + 2 * c));
  }

  float weight(int64_t k) const {
    const uint8_t* element = group + (k * kGroup + c) * element_bytes(kind);
    switch (kind) {
      case kF32: return load_float(element);
      case kF16: return half_to_float(load_half(element));
      case kBF16: return brain_to_float(load_half(element));
      default: break;
    }
    const float d = scale(k / kBlock);
    const float q = static_cast<float>(code(k / kBlock, k % kBlock));
    return has_minimum(kind) ? fused(d, q, minimum(k / kBlock)) : d * q;
  }
};

Column column_of(const PackedMatrix* w, int64_t group, int64_t c) {
  return Column{w->data + group * w->group_bytes, w->kind, c};
}

float dot_q8a(const Column& column, const uint8_t* x, int64_t columns) {
  float sum = 0.0f;
  for (int64_t block = 0; block < columns / kBlock; ++block) {
    int32_t whole = 0;
    for (int64_t k = 0; k < kBlock; ++k) {
      whole += column.code(block, k) * static_cast<int8_t>(x[block * kBlock + k]);
    }
    const float d = load_float(x + scales_offset(columns) + 4 * block);
    sum = fused(column.scale(block) * d, static_cast<float>(whole), sum);
    if (has_minimum(column.kind)) {
      const float s = load_float(x + sums_offset(columns) + 4 * block);
      sum = fused(column.minimum(block), s, sum);
    }
  }
  return sum;
}

float dot_f32(const Column& column, const float* x, int64_t columns) {
  float sum = 0.0f;
  for (int64_t k = 0; k < columns; ++k) sum = fused(column.weight(k), x[k], sum);
  return sum;
}

}  // namespace

void matmul_q8a(const PackedMatrix* w, int64_t begin, int64_t end, const uint8_t* x,
                int64_t x_bytes, int64_t rows, float* out, int64_t out_stride, void*) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t group = begin; group < end; ++group) {
      for (int64_t c = 0; c < kGroup; ++c) {
        out[row * out_stride + (group - begin) * kGroup + c] =
            dot_q8a(column_of(w, group, c), x + row * x_bytes, w->columns);
      }
    }
  }
}

void matmul_f32(const PackedMatrix* w, int64_t begin, int64_t end, const float* x,
                int64_t x_stride, int64_t rows, float* out, int64_t out_stride, void*) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t group = begin; group < end; ++group) {
      for (int64_t c = 0; c < kGroup; ++c) {
        out[row * out_stride + (group - begin) * kGroup + c] =
            dot_f32(column_of(w, group, c), x + row * x_stride, w->columns);
      }
    }
  }
}

void embed(const PackedMatrix* w, int64_t token, float* out) {
  const Column column = column_of(w, token / kGroup, token % kGroup);
  for (int64_t k = 0; k < w->columns; ++k) out[k] = column.weight(k);
}

}  // namespace soma::cpu::scalar
