// What sessions and sequences consist of; shared by the files of this folder.
#pragma once

#include <mutex>

#include "backend/cpu/launch/sample.hpp"
#include "session/kv_blocks.hpp"
#include "session/session.hpp"

namespace soma {

constexpr i64 block_positions = 16;  // of a KV block, on every backend
constexpr i64 blocks_of(i64 positions) {
  return (positions + block_positions - 1) / block_positions;
}

Status check_sampling(const Sampling& sampling);

struct Session::State {
  const Model& model;
  SessionFacts facts;
  std::unique_ptr<Backend> backend;
  Program decode_program, prefill_program;
  std::unique_ptr<Weights> weights;
  std::unique_ptr<KvMemory> kv;
  std::unique_ptr<Executable> decode, prefill;

  // Held for each step: sequences take turns between steps.
  std::mutex turn;
  // Held for each change of the pool, and for no longer: a sequence may go while another's step
  // runs, even in that step's callbacks.
  std::mutex pool;
  KvBlocks blocks{0};
  // A step's tables, sized for the largest step.
  std::vector<i32> positions;
  std::vector<u32> block_rows;   // zeros: a step serves one sequence
  std::vector<u32> logit_rows;
  std::vector<TokenId> chosen;   // [logit rows]

  explicit State(const Model& opened) : model(opened) {}
  Status allocate(const SessionOptions& options);
  i64 vocabulary() const { return model.parameters().vocabulary; }
};

struct Sequence::State {
  Session::State& session;
  std::vector<TokenId> tokens;  // reserved for the whole context, as are the blocks
  std::vector<u32> blocks;      // at rest exactly those that the tokens need
  std::unique_ptr<float[]> logits;
  const float* logits_at = nullptr;  // there, or in memory that was taken
  i64 logits_capacity = 0;      // rows
  i64 logit_rows = 0;
  std::vector<cpu::Candidate> candidates;

  explicit State(Session::State& owner);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  i64 length() const { return static_cast<i64>(tokens.size()); }

  // Appends tokens and computes the logits asked for; with `sampling` (or greedily) chooses the
  // token after the last one.
  struct Wish {
    LogitsOf logits = LogitsOf::Last;
    const Sampling* sampling = nullptr;
    const Cancel* cancel = nullptr;
    Session::Progress progress;
  };
  Result<TokenId> append(std::span<const TokenId> added, const Wish& wish);
  // Of a token chosen from the last row of logits: its logit is a number, or they hold none.
  Status check_chosen(TokenId token) const;
  void truncate(i64 to);
  void trim_blocks();           // the session's pool is held

 private:
  Status check_tokens(std::span<const TokenId> added) const;
  Status reserve_blocks(i64 to);
  Result<TokenId> step(std::span<const TokenId> added, bool last, const Wish& wish);
  struct Settling;
};

}  // namespace soma
