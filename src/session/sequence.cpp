// Sequences: appending tokens step by step, and the logits, forks and cuts of what is there.
//
// An append first takes everything it will need, logits memory and KV blocks, and fails before
// anything has changed if there is not enough. Then each step either appends its rows or, on a
// failure, leaves the sequence with the rows of the steps before; blocks that were taken for the
// rest go back. A block that another sequence shares is copied before the first position is
// written into it; full blocks are never written again, so forks share them for good.
#include <algorithm>
#include <cmath>

#include "session/state.hpp"

namespace soma {

namespace {

// Takes a step's tokens back unless it was whole.
struct Appending {
  std::vector<TokenId>& tokens;
  const size_t before;
  bool whole = false;
  ~Appending() {
    if (!whole) tokens.resize(before);
  }
};

}  // namespace

// Leaves a sequence at rest: blocks as its length needs, no logits of half an append.
struct Sequence::State::Settling {
  State& state;
  bool whole = false;
  ~Settling() {
    if (whole) return;
    state.logit_rows = 0;
    const std::lock_guard lock(state.session.pool);
    state.trim_blocks();
  }
};

Sequence::State::State(Session::State& owner) : session(owner) {
  const auto context = static_cast<size_t>(owner.facts.context);
  tokens.reserve(context);
  blocks.reserve(static_cast<size_t>(blocks_of(owner.facts.context)));
}

Sequence::State::~State() { truncate(0); }

void Sequence::State::truncate(i64 to) {
  if (to < length()) logit_rows = 0;
  tokens.resize(static_cast<size_t>(to));
  const std::lock_guard lock(session.pool);
  trim_blocks();
}

void Sequence::State::trim_blocks() {
  const auto needed = static_cast<size_t>(blocks_of(length()));
  while (blocks.size() > needed) {
    session.blocks.drop(blocks.back());
    blocks.pop_back();
  }
}

Status Sequence::State::check_tokens(std::span<const TokenId> added) const {
  if (added.empty()) return fail(Reason::argument_range, "there are no tokens to append");
  const i64 context = session.facts.context;
  const auto count = static_cast<i64>(added.size());
  if (count > context - length()) {
    return fail(Reason::context_full, "the sequence holds {} tokens and can't take {} more: "
                "sequences of this session hold {}; cut it, or make a session with a longer "
                "context", length(), count, context);
  }
  for (size_t i = 0; i < added.size(); ++i) {
    if (added[i] >= 0 && added[i] < session.vocabulary()) continue;
    return fail(Reason::tokenizer_token, "token {} at index {} is not in 0 to {}", added[i], i,
                session.vocabulary() - 1);
  }
  return {};
}

Status Sequence::State::reserve_blocks(i64 to) {
  const std::lock_guard lock(session.pool);
  const bool into_shared =
      length() % block_positions != 0 && session.blocks.is_shared(blocks.back());
  const auto held = static_cast<i64>(blocks.size());
  const i64 missing = blocks_of(to) - held + (into_shared ? 1 : 0);
  if (missing > i64{session.blocks.available()}) {
    return fail(Reason::kv_full, "{} more KV blocks are needed, {} of {} are free: release or cut "
                "sequences, or make a session for more of them", missing,
                session.blocks.available(), session.blocks.total());
  }
  if (into_shared) {
    const u32 copy = session.blocks.take();
    session.kv->copy_block(blocks.back(), copy);
    session.blocks.drop(blocks.back());
    blocks.back() = copy;
  }
  while (static_cast<i64>(blocks.size()) < blocks_of(to)) blocks.push_back(session.blocks.take());
  return {};
}

Result<TokenId> Sequence::State::append(std::span<const TokenId> added, const Wish& wish) {
  SOMA_TRY(check_tokens(added));
  if (wish.sampling != nullptr) SOMA_TRY(check_sampling(*wish.sampling));
  if (wish.cancel != nullptr) SOMA_TRY(wish.cancel->check());
  // The memory is as large as what it holds: that of many rows must not stay behind one.
  const i64 rows_wanted = wish.logits == LogitsOf::All ? static_cast<i64>(added.size()) : 1;
  std::unique_ptr<float[]> memory;
  if (logits == nullptr || logits_capacity != rows_wanted) {
    memory = std::make_unique_for_overwrite<float[]>(
        static_cast<size_t>(rows_wanted) * static_cast<size_t>(session.vocabulary()));
  }
  SOMA_TRY(reserve_blocks(length() + static_cast<i64>(added.size())));
  // From here on there is all that is needed, and the sequence changes.

  Settling settling{*this};
  logit_rows = 0;
  if (memory != nullptr) logits = std::move(memory);
  logits_capacity = rows_wanted;
  logits_at = logits.get();
  const auto rows_max = static_cast<size_t>(session.prefill_program.request.rows_max);
  TokenId next = 0;
  for (size_t done = 0; done < added.size();) {
    const size_t rows = std::min(rows_max, added.size() - done);
    SOMA_ASSIGN(next, step(added.subspan(done, rows), done + rows == added.size(), wish));
    done += rows;
    if (wish.progress.call == nullptr || done == added.size()) continue;
    if (wish.progress.call(wish.progress.user, done, added.size())) continue;
    return fail(Reason::cancelled, "stopped by its progress function after {} of {} tokens", done,
                added.size());
  }
  settling.whole = true;
  if (wish.progress.call != nullptr) {
    wish.progress.call(wish.progress.user, added.size(), added.size());
  }
  return next;
}

// The token chosen after the last row, if that had logits.
Result<TokenId> Sequence::State::step(std::span<const TokenId> added, bool last,
                                      const Wish& wish) {
  const std::lock_guard lock(session.turn);
  Appending appending{tokens, tokens.size()};
  tokens.insert(tokens.end(), added.begin(), added.end());
  const auto rows = static_cast<u32>(added.size());
  const auto first = static_cast<i32>(appending.before);
  for (u32 i = 0; i < rows; ++i) session.positions[i] = first + static_cast<i32>(i);
  StepBatch batch;
  batch.rows = rows;
  batch.tokens = tokens.data() + first;
  batch.positions = session.positions.data();
  batch.block_row = session.block_rows.data();
  batch.block_tables = blocks.data();
  batch.block_stride = static_cast<u32>(blocks.size());
  const bool all = wish.logits == LogitsOf::All;
  batch.logit_rows = all ? rows : u32{last};
  for (u32 i = 0; i < batch.logit_rows; ++i) {
    session.logit_rows[i] = rows - batch.logit_rows + i;
  }
  batch.logit_row = session.logit_rows.data();
  const TokenId* history = tokens.data();
  const auto history_count = static_cast<u32>(tokens.size());
  if (!all) {
    batch.sampling = wish.sampling;
    batch.history = &history;
    batch.history_count = &history_count;
  }
  float* out = logits.get() + logit_rows * session.vocabulary();
  Executable& executable = rows == 1 ? *session.decode : *session.prefill;
  SOMA_TRY(executable.run(batch, *session.kv, out, session.chosen.data(), wish.cancel));
  logit_rows += batch.logit_rows;
  appending.whole = true;
  return batch.logit_rows != 0 ? session.chosen[batch.logit_rows - 1] : TokenId{0};
}

Status Sequence::State::check_chosen(TokenId token) const {
  const float logit = logits_at[(logit_rows - 1) * session.vocabulary() + token];
  if (std::isfinite(logit)) return {};
  return fail(Reason::logits_not_finite, "the largest logit behind {} tokens is {}: the model's "
              "weights are damaged, or not for this architecture", length(), logit);
}

Sequence::Sequence(std::unique_ptr<State> state) : state_(std::move(state)) {}
Sequence::~Sequence() = default;

i64 Sequence::length() const { return state_->length(); }

std::span<const TokenId> Sequence::tokens() const { return state_->tokens; }

Status Sequence::prefill(std::span<const TokenId> tokens, LogitsOf logits, const Cancel* cancel,
                         Session::Progress progress) {
  SOMA_TRY(state_->append(tokens, {.logits = logits, .cancel = cancel, .progress = progress}));
  return {};
}

Status Sequence::decode(TokenId token, const Cancel* cancel) {
  SOMA_TRY(state_->append({&token, 1}, {.cancel = cancel, .progress = {}}));
  return {};
}

Result<TokenId> Sequence::sample(const Sampling& sampling) {
  SOMA_TRY(check_sampling(sampling));
  SOMA_ASSIGN(const std::span<const float> rows, logits());
  const i64 vocabulary = state_->session.vocabulary();
  if (sampling.temperature > 0) state_->candidates.resize(static_cast<size_t>(vocabulary));
  const float* last = rows.data() + (state_->logit_rows - 1) * vocabulary;
  const TokenId token = cpu::sample_token(last, vocabulary, sampling, state_->tokens,
                                          length() - 1, state_->candidates.data());
  SOMA_TRY(state_->check_chosen(token));
  return token;
}

Result<std::span<const float>> Sequence::logits() const {
  if (state_->tokens.empty()) {
    return fail(Reason::sequence_empty, "the sequence holds no tokens, so it has no logits");
  }
  if (state_->logit_rows == 0) {
    return fail(Reason::logits_absent, "the sequence has no logits: it was cut, or its last step "
                "failed; decode a token first");
  }
  return std::span<const float>(
      state_->logits_at,
      static_cast<size_t>(state_->logit_rows) * static_cast<size_t>(state_->session.vocabulary()));
}

i64 Sequence::logit_rows() const { return state_->logit_rows; }

Result<std::unique_ptr<float[]>> Sequence::take_logits(u64* rows) {
  SOMA_TRY(logits());
  if (state_->logits == nullptr) {
    return fail(Reason::logits_absent, "the sequence's logits have been taken already");
  }
  *rows = static_cast<u64>(state_->logit_rows);
  state_->logits_capacity = 0;
  return std::move(state_->logits);
}

Status Sequence::truncate(i64 length) {
  if (length < 0 || length > state_->length()) {
    return fail(Reason::argument_range, "a sequence of {} tokens can't be cut to {}",
                state_->length(), length);
  }
  state_->truncate(length);
  return {};
}

Result<std::unique_ptr<Sequence>> Sequence::fork() const {
  auto copy = std::make_unique<State>(state_->session);
  if (state_->logit_rows != 0) {
    const i64 vocabulary = state_->session.vocabulary();
    copy->logits = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(vocabulary));
    std::copy_n(state_->logits_at + (state_->logit_rows - 1) * vocabulary, vocabulary,
                copy->logits.get());
    copy->logits_at = copy->logits.get();
    copy->logits_capacity = copy->logit_rows = 1;
  }
  copy->tokens = state_->tokens;
  {
    const std::lock_guard lock(state_->session.pool);
    for (const u32 block : state_->blocks) {
      state_->session.blocks.share(block);
      copy->blocks.push_back(block);
    }
  }
  return std::unique_ptr<Sequence>(new Sequence(std::move(copy)));
}

}  // namespace soma
