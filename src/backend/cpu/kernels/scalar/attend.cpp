// The KV store and attention over it, one query and one position at a time.
#include "backend/cpu/kernels/scalar/numbers.hpp"
#include "backend/cpu/kernels/scalar/set.hpp"

namespace soma::cpu::scalar {

namespace {

// One head's K and V of one block of 16 positions.
struct Block {
  uint8_t* k;
  uint8_t* v;
  int32_t head_dim;
  int32_t is_f32;

  float read(const uint8_t* base, int64_t i) const {
    return is_f32 ? load_float(base + 4 * i) : half_to_float(load_half(base + 2 * i));
  }
  void write(uint8_t* base, int64_t i, float value) const {
    const uint16_t half = float_to_half(value);
    if (is_f32) memcpy(base + 4 * i, &value, sizeof value);
    else memcpy(base + 2 * i, &half, sizeof half);
  }
  float key(int64_t d, int64_t lane) const { return read(k, d * kKvPositions + lane); }
  float value(int64_t lane, int64_t d) const { return read(v, lane * head_dim + d); }
};

Block block_of(const KvLayer* kv, int64_t kv_head, const uint32_t* block_table, int64_t block) {
  const int64_t at = block_table[block] * kv->block_bytes + kv_head * kv->head_bytes;
  return Block{kv->k + at, kv->v + at, kv->head_dim, kv->is_f32};
}

// What the softmax has seen so far; the weighted sum of V lies in `out` until the end.
struct Softmax {
  float largest = -kInfinity;
  float total = 0.0f;
};

void attend_block(const Block& block, const float* q, int64_t seen, float scale, Softmax* state,
                  float* out) {
  float score[kKvPositions];
  for (int64_t lane = 0; lane < kKvPositions; ++lane) {
    score[lane] = -kInfinity;
    if (lane >= seen) continue;
    float dot = 0.0f;
    for (int64_t d = 0; d < block.head_dim; ++d) dot = fused(q[d], block.key(d, lane), dot);
    score[lane] = dot * scale;
  }
  const float largest = larger(state->largest, tree_largest(score));
  const float shrink = exponential(state->largest - largest);
  float share[kKvPositions] = {};
  for (int64_t lane = 0; lane < seen; ++lane) share[lane] = exponential(score[lane] - largest);
  state->largest = largest;
  state->total = fused(state->total, shrink, tree_sum(share));
  for (int64_t d = 0; d < block.head_dim; ++d) {
    float sum = out[d] * shrink;
    for (int64_t lane = 0; lane < seen; ++lane) {
      sum = fused(share[lane], block.value(lane, d), sum);
    }
    out[d] = sum;
  }
}

}  // namespace

void kv_store(const KvLayer* kv, int64_t kv_head, const uint32_t* block_table, int64_t at,
              const float* k, const float* v) {
  const Block block = block_of(kv, kv_head, block_table, at / kKvPositions);
  const int64_t lane = at % kKvPositions;
  for (int64_t d = 0; d < kv->head_dim; ++d) {
    block.write(block.k, d * kKvPositions + lane, k[d]);
    block.write(block.v, lane * kv->head_dim + d, v[d]);
  }
}

void attend(const AttendTask* task, void*) {
  const int64_t head_dim = task->kv->head_dim;
  for (int64_t i = 0; i < task->queries; ++i) {
    Softmax state;
    float* out = task->out[i];
    for (int64_t d = 0; d < head_dim; ++d) out[d] = 0.0f;
    const int64_t end = static_cast<int64_t>(task->position[i]) + 1;
    for (int64_t first = 0; first < end; first += kKvPositions) {
      const int64_t left = end - first;
      const int64_t seen = left < kKvPositions ? left : int64_t{kKvPositions};
      attend_block(block_of(task->kv, task->kv_head, task->block_table, first / kKvPositions),
                   task->q[i], seen, task->scale, &state, out);
    }
    for (int64_t d = 0; d < head_dim; ++d) out[d] = out[d] / state.total;
  }
}

}  // namespace soma::cpu::scalar
