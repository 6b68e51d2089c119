// Sessions: a model made ready to run (programs, packed weights, KV memory), and the sequences of
// tokens that run on it.
//
// A Session serialises its steps; a Sequence is used by one thread at a time. Several sessions may
// share a Model; each has its own packed weights unless made with `like`.
#pragma once

#include "backend/backend.hpp"
#include "base/core.hpp"
#include "base/team.hpp"
#include "model/model.hpp"

namespace soma {

struct SessionOptions {
  i64 context = 0;          // positions a sequence may hold; 0: min(model's context, 4096)
  i64 sequences = 4;        // the KV pool holds sequences × context positions in all
  i64 prefill_rows = 512;   // the largest prefill step
  Policy policy = Policy::Fast;
  std::string isa = "auto";
  bool amx = true;
};

struct SessionFacts {
  u64 weight_bytes = 0, kv_bytes = 0, arena_bytes = 0, scratch_bytes = 0;
  u64 decode_launches = 0, prefill_launches = 0;
  u64 decode_weight_bytes = 0;   // read for one decoded token
  i64 context = 0, kv_blocks = 0;
  std::string kernel_set;
};

class Sequence;
struct GenerateOptions;
struct GenerateResult;
struct OnToken;

class Session {
 public:
  struct Progress {
    bool (*call)(void* user, u64 done, u64 total) = nullptr;  // false: stop, Reason::cancelled
    void* user = nullptr;
  };
  // The model outlives the session.
  static Result<std::unique_ptr<Session>> create(const Model& model, Team& team,
                                                 const SessionOptions& options, Progress progress,
                                                 const Cancel* cancel);
  ~Session();
  const Model& model() const;
  const SessionFacts& facts() const;
  const Program& program(Mode mode) const;   // Decode or Prefill
  Result<std::unique_ptr<Sequence>> start();

 private:
  friend class Sequence;
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Which positions of a prefill want logits.
enum class LogitsOf : u8 { Last, All };

class Sequence {
 public:
  ~Sequence();
  i64 length() const;                             // positions filled
  std::span<const TokenId> tokens() const;

  // Appends tokens in steps of at most prefill_rows (one token: the decode program). Fails with
  // context_full or kv_full before anything is changed. On cancel, the positions done so far stay.
  Status prefill(std::span<const TokenId> tokens, LogitsOf logits, const Cancel* cancel,
                 Session::Progress progress);
  // Appends one token and computes its logits.
  Status decode(TokenId token, const Cancel* cancel);
  // Chooses the next token from the last logits; does not append it.
  Result<TokenId> sample(const Sampling& sampling);
  // Rows of the last prefill or decode that asked for logits × vocabulary; valid until the next
  // call on this sequence unless `keep` took them.
  Result<std::span<const float>> logits() const;
  i64 logit_rows() const;
  // Hands the logits' memory over: the next step gets a new buffer, nothing is overwritten. Until
  // then the sequence goes on reading it (sample, logits, fork), so the taker keeps it that long.
  Result<std::unique_ptr<float[]>> take_logits(u64* rows);
  // Drops positions from the end, down to `length`.
  Status truncate(i64 length);
  Result<std::unique_ptr<Sequence>> fork() const;  // shares all blocks; see sequence.cpp

 private:
  friend class Session;
  friend Result<GenerateResult> generate(Sequence&, std::span<const TokenId>,
                                         const GenerateOptions&, OnToken, Session::Progress,
                                         const Cancel*);
  struct State;
  explicit Sequence(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct GenerateOptions {
  i64 tokens_max = 256;
  Sampling sampling;
  bool ignore_end = false;        // go on after an end-of-generation token
};
enum class Finish : u8 { End, Length, Stopped, ContextFull };  // Stopped: the callback said so

struct GenerateResult {
  std::vector<TokenId> tokens;    // those generated, an ending token included
  std::string text;
  Finish finish = Finish::Length;
  double prefill_s = 0, decode_s = 0, first_token_s = 0;
};

// Prefills `prompt`, then decodes until an end token, tokens_max, or the context is full. Each
// token's text goes to on_token as soon as it is whole characters; returning false stops. The
// sequence then holds the prompt and all generated tokens but the last, which nothing has read yet.
struct OnToken {
  bool (*call)(void* user, TokenId token, std::string_view text) = nullptr;
  void* user = nullptr;
};
Result<GenerateResult> generate(Sequence& sequence, std::span<const TokenId> prompt,
                                const GenerateOptions& options, OnToken on_token,
                                Session::Progress progress, const Cancel* cancel);

}  // namespace soma
