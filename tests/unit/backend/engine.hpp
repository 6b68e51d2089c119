// A program with random weights on a backend, ready to be fed tokens: for tests of the executor.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <set>

#include "backend/cpu/cpu_backend.hpp"
#include "unit/backend/kernel_parity.hpp"
#include "unit/circuit/llama_fixture.hpp"

namespace soma::test {

// Small enough for the scalar kernels, odd where shapes can be odd: the vocabulary ends within a
// group of 16 columns, and there are several heads to a KV head.
inline fixture::LlamaSizes little() {
  fixture::LlamaSizes sizes;
  sizes.layers = 2;
  sizes.hidden = 96;
  sizes.feed_forward = 160;
  sizes.heads = 6;
  sizes.kv_heads = 2;
  sizes.head_dim = 32;
  sizes.vocabulary = 301;
  return sizes;
}

// One block of a file format: a scale around 0.01, a minimum around -0.08, any codes.
inline void random_block(cpu::TestNumbers* numbers, Format format, u8* out) {
  const FormatInfo& info = format_info(format);
  for (u32 i = 0; i < info.block_bytes; ++i) out[i] = static_cast<u8>(numbers->next());
  if (info.block_elements == 1) {
    const float value = numbers->between(-0.15F, 0.15F);
    u32 bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    const auto brain = static_cast<u16>(bits >> 16);
    const auto half = static_cast<u16>(0x2c00 + numbers->below(0x400));  // 0.0625 to 0.125
    if (format == Format::F32) std::memcpy(out, &value, 4);
    if (format == Format::BF16) std::memcpy(out, &brain, 2);
    if (format == Format::F16) std::memcpy(out, &half, 2);
    return;
  }
  const auto scale = static_cast<u16>((format == Format::Q8_0 ? 0x1400 : 0x2000) +
                                      numbers->below(0x400));
  const auto minimum = static_cast<u16>(0xac00 + numbers->below(0x400));
  std::memcpy(out, &scale, 2);
  if (format == Format::Q4_1 || format == Format::Q5_1) std::memcpy(out + 2, &minimum, 2);
}

inline std::vector<u8> random_weight(const WeightRef& ref) {
  cpu::TestNumbers numbers(std::hash<std::string>()(ref.tensor));
  const FormatInfo& info = format_info(ref.format);
  std::vector<u8> bytes(*row_bytes(ref.format, ref.columns) * ref.rows);
  for (size_t at = 0; at < bytes.size(); at += info.block_bytes) {
    random_block(&numbers, ref.format, &bytes[at]);
  }
  if (ref.rows == 1) {  // a norm
    for (size_t i = 0; i < ref.columns; ++i) {
      const float value = numbers.between(0.7F, 1.3F);
      std::memcpy(&bytes[i * 4], &value, 4);
    }
  }
  return bytes;
}

// The catalogue of fallback kernels only: what every backend must have.
inline KernelCatalogue fallback_catalogue() {
  KernelCatalogue out;
  out.kernels = {"act_quant", "attend", "embed", "gather_rows", "kv_write", "linear",
                 "residual_add", "rms_norm", "rope", "sample", "silu_mul"};
  return out;
}

struct Setting {
  fixture::LlamaSizes sizes = little();
  Policy policy = Policy::Fast;
  std::string isa = "scalar";
  i32 threads = 1;
  bool fused = true;
};

class Engine {
 public:
  explicit Engine(const Setting& setting)
      : setting_(setting), team_(Team::create(setting.threads).value()) {
    backend_ = cpu::make_backend(*team_, setting.isa, true).value();
    const Circuit circuit = fixture::llama(setting.sizes);
    const auto catalogue = setting.fused ? backend_->caps().catalogue : fallback_catalogue();
    decode_ = fixture::compile(circuit, {Mode::Decode, 1, setting.policy}, fixture::rules(),
                               catalogue).program;
    prefill_ = fixture::compile(circuit, {Mode::Prefill, rows_max, setting.policy},
                                fixture::rules(), catalogue).program;
    std::vector<std::vector<u8>> bytes;
    for (const WeightRef& ref : decode_.weights) bytes.push_back(random_weight(ref));
    std::vector<WeightSource> sources;
    for (size_t i = 0; i < bytes.size(); ++i) sources.push_back({decode_.weights[i], bytes[i]});
    auto packed = backend_->pack(sources, nullptr, {}, nullptr);
    REQUIRE_MESSAGE(packed.ok(), packed.error().message());
    weights_ = std::move(packed).value();
    kv_ = backend_->allocate_kv(geometry()).value();
    decode_executable_ = bind(decode_);
    prefill_executable_ = bind(prefill_);
  }

  static constexpr u32 rows_max = 64;
  static constexpr u32 sequences = 3;
  static constexpr u32 blocks_of_sequence = 8;

  i64 vocabulary() const { return static_cast<i64>(setting_.sizes.vocabulary); }
  Backend& backend() { return *backend_; }
  const Weights& weights() const { return *weights_; }
  KvMemory& kv() { return *kv_; }
  Program& decode_program() { return decode_; }
  Program& prefill_program() { return prefill_; }
  KvGeometry geometry() const {
    return {decode_.layers, decode_.kv_heads, decode_.head_dim, sequences * blocks_of_sequence,
            decode_.kv_format};
  }

  std::unique_ptr<Executable> bind(const Program& program) {
    auto bound = backend_->bind(program, *weights_);
    REQUIRE_MESSAGE(bound.ok(), fixture::all_messages(bound.error()));
    return std::move(bound).value();
  }

  // Blocks of the sequences lie scattered, so that a table that is read wrongly shows.
  std::vector<u32> tables() const {
    std::vector<u32> out(sequences * blocks_of_sequence);
    for (u32 i = 0; i < out.size(); ++i) out[i] = (i * 7 + 3) % static_cast<u32>(out.size());
    return out;
  }

  // Rows of a step: token, sequence, position. All rows want logits.
  struct Row {
    i32 token;
    u32 sequence;
    i32 position;
  };
  Status step(std::span<const Row> rows, std::vector<float>& logits, std::vector<i32>& tokens,
              const Cancel* cancel = nullptr) {
    std::vector<i32> ids, positions;
    std::vector<u32> block_rows;
    for (const Row& row : rows) {
      ids.push_back(row.token);
      positions.push_back(row.position);
      block_rows.push_back(row.sequence);
    }
    std::vector<u32> logit_rows(rows.size());
    std::iota(logit_rows.begin(), logit_rows.end(), 0U);
    const std::vector<u32> table = tables();
    StepBatch batch;
    batch.rows = static_cast<u32>(rows.size());
    batch.tokens = ids.data();
    batch.positions = positions.data();
    batch.block_row = block_rows.data();
    batch.block_tables = table.data();
    batch.block_stride = blocks_of_sequence;
    batch.logit_rows = batch.rows;
    batch.logit_row = logit_rows.data();
    logits.resize(rows.size() * static_cast<size_t>(vocabulary()));
    tokens.resize(rows.size());
    Executable& executable = rows.size() == 1 ? *decode_executable_ : *prefill_executable_;
    return executable.run(batch, *kv_, logits.data(), tokens.data(), cancel);
  }

  // The logits of all tokens of one sequence, computed in steps of the given numbers of rows.
  std::vector<float> feed(std::span<const i32> tokens, u32 sequence,
                          std::span<const size_t> steps) {
    std::vector<float> all, logits;
    std::vector<i32> chosen;
    size_t done = 0;
    for (const size_t count : steps) {
      std::vector<Row> rows;
      for (size_t i = 0; i < count; ++i, ++done) {
        rows.push_back({tokens[done], sequence, static_cast<i32>(done)});
      }
      Status status = step(rows, logits, chosen);
      REQUIRE(status.ok());
      all.insert(all.end(), logits.begin(), logits.end());
    }
    return all;
  }

 private:
  Setting setting_;
  std::unique_ptr<Team> team_;
  std::unique_ptr<Backend> backend_;
  Program decode_, prefill_;
  std::unique_ptr<Weights> weights_;
  std::unique_ptr<KvMemory> kv_;
  std::unique_ptr<Executable> decode_executable_, prefill_executable_;
};

inline std::vector<i32> some_tokens(size_t count, i64 vocabulary) {
  cpu::TestNumbers numbers(count);
  std::vector<i32> out(count);
  for (i32& token : out) token = static_cast<i32>(numbers.below(vocabulary));
  return out;
}

inline bool same_bytes(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace soma::test
