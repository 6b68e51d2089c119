// Proves that a sequence's logits depend on its tokens alone, that every refused or stopped call
// leaves it as it was or at a whole step, and that forks and cuts share memory without harm.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "session/kv_blocks.hpp"
#include "unit/session/stage.hpp"

using namespace soma;
using namespace soma::test;

namespace {

// Logits of all positions, appended in pieces of the given sizes.
std::vector<float> feed(Sequence& sequence, std::span<const TokenId> tokens,
                        std::span<const size_t> pieces) {
  std::vector<float> all;
  size_t done = 0;
  for (const size_t count : pieces) {
    if (count == 0) {  // by decode
      must(sequence.decode(tokens[done], nullptr));
    } else {
      must(sequence.prefill(tokens.subspan(done, count), LogitsOf::All, nullptr, {}));
    }
    done += count == 0 ? 1 : count;
    const std::vector<float> part = logits_of(sequence);
    all.insert(all.end(), part.begin(), part.end());
  }
  REQUIRE(done == tokens.size());
  return all;
}

struct Stopping {
  u64 stop_at = 0;
  std::vector<std::pair<u64, u64>> heard;
  static bool call(void* user, u64 done, u64 total) {
    auto* self = static_cast<Stopping*>(user);
    self->heard.emplace_back(done, total);
    return done < self->stop_at;
  }
};

}  // namespace

TEST_CASE("logits are the same bytes in any chunks, for any threads, kernel set and prefill size") {
  for (const char* format : {"q4_1", "mixed", "f16"}) {
    for (const Policy policy : {Policy::Fast, Policy::Reference}) {
      CAPTURE(format);
      SessionOptions options = small_options();
      options.policy = policy;
      options.isa = "scalar";
      Stage plain(tiny_path(format), options);
      const std::vector<TokenId> tokens = tiny_tokens(70);
      auto one = plain.start();
      const std::vector<float> expected = feed(*one, tokens, std::vector<size_t>(70, 0));
      for (const i32 threads : {1, 2, 3}) {
        for (const i64 rows : {1, 7, 64}) {
          CAPTURE(threads);
          CAPTURE(rows);
          options.isa = "auto";
          options.amx = false;
          options.prefill_rows = rows;
          Stage stage(tiny_path(format), options, threads);
          auto sequence = stage.start();
          CHECK(same_bytes(feed(*sequence, tokens, std::array<size_t, 5>{33, 0, 0, 34, 1}),
                           expected));
        }
      }
    }
  }
}

TEST_CASE("asking for the last row alone gives the last row") {
  Stage stage(tiny_path("q4_1"), small_options());
  const std::vector<TokenId> tokens = tiny_tokens(50);
  auto all = stage.start(), last = stage.start();
  must(all->prefill(tokens, LogitsOf::All, nullptr, {}));
  must(last->prefill(tokens, LogitsOf::Last, nullptr, {}));
  CHECK(all->logit_rows() == 50);
  CHECK(last->logit_rows() == 1);
  const std::vector<float> rows = logits_of(*all), row = logits_of(*last);
  CHECK(same_bytes(row, std::span(rows).last(row.size())));
  CHECK(last->length() == 50);
  CHECK(std::equal(tokens.begin(), tokens.end(), last->tokens().begin(), last->tokens().end()));
}

TEST_CASE("a full context is told before anything changes") {
  Stage stage(tiny_path("q4_1"), small_options());
  auto sequence = stage.start();
  const std::vector<TokenId> tokens = tiny_tokens(101);
  Status status = sequence->prefill(tokens, LogitsOf::Last, nullptr, {});
  REQUIRE(!status.ok());
  CHECK(status.error().reason() == Reason::context_full);
  CHECK(sequence->length() == 0);
  must(sequence->prefill(std::span(tokens).first(100), LogitsOf::Last, nullptr, {}));
  const std::vector<float> before = logits_of(*sequence);
  CHECK(sequence->decode(5, nullptr).error().reason() == Reason::context_full);
  CHECK(same_bytes(logits_of(*sequence), before));
  must(sequence->truncate(99));
  must(sequence->decode(tokens[99], nullptr));
  CHECK(same_bytes(logits_of(*sequence), before));
}

TEST_CASE("a full pool is told before anything changes, and cutting makes room") {
  SessionOptions options = small_options();
  options.sequences = 1;  // 7 blocks of 16
  Stage stage(tiny_path("q4_1"), options);
  auto first = stage.start(), second = stage.start();
  const std::vector<TokenId> tokens = tiny_tokens(100);
  must(first->prefill(std::span(tokens).first(40), LogitsOf::Last, nullptr, {}));   // 3 blocks
  must(second->prefill(std::span(tokens).first(64), LogitsOf::Last, nullptr, {}));  // 4 blocks
  const std::vector<float> before = logits_of(*second);
  CHECK(second->decode(5, nullptr).error().reason() == Reason::kv_full);
  CHECK(second->prefill(std::span(tokens).first(20), LogitsOf::All, nullptr, {}).error().reason() ==
        Reason::kv_full);
  CHECK(second->length() == 64);
  CHECK(same_bytes(logits_of(*second), before));
  must(first->prefill(std::span(tokens).first(8), LogitsOf::Last, nullptr, {}));  // within its own
  must(first->truncate(32));
  must(second->decode(5, nullptr));
  first.reset();
  must(second->prefill(std::span(tokens).first(30), LogitsOf::Last, nullptr, {}));
}

TEST_CASE("tokens that are none, and none at all, are refused") {
  Stage stage(tiny_path("q4_1"), small_options());
  auto sequence = stage.start();
  CHECK(sequence->decode(-1, nullptr).error().reason() == Reason::tokenizer_token);
  CHECK(sequence->decode(300, nullptr).error().reason() == Reason::tokenizer_token);
  CHECK(sequence->prefill({}, LogitsOf::Last, nullptr, {}).error().reason() ==
        Reason::argument_range);
  CHECK(sequence->length() == 0);
}

TEST_CASE("logits: absent, present, taken") {
  Stage stage(tiny_path("q4_1"), small_options());
  auto sequence = stage.start();
  CHECK(sequence->logits().error().reason() == Reason::sequence_empty);
  CHECK(sequence->sample({}).error().reason() == Reason::sequence_empty);
  must(sequence->decode(5, nullptr));
  const std::vector<float> first = logits_of(*sequence);
  u64 rows = 0;
  const std::unique_ptr<float[]> taken = must(sequence->take_logits(&rows));
  CHECK(rows == 1);
  CHECK(must(sequence->logits()).data() == taken.get());  // read on, but no longer the sequence's
  CHECK(must(sequence->sample({})) == std::max_element(first.begin(), first.end()) - first.begin());
  CHECK(same_bytes(logits_of(*must(sequence->fork())), first));
  CHECK(sequence->take_logits(&rows).error().reason() == Reason::logits_absent);
  must(sequence->decode(6, nullptr));
  CHECK(same_bytes({taken.get(), first.size()}, first));
  CHECK(!same_bytes(logits_of(*sequence), first));
  must(sequence->truncate(2));
  CHECK(sequence->logits().ok());  // nothing was cut
  must(sequence->truncate(1));
  CHECK(sequence->logits().error().reason() == Reason::logits_absent);
  CHECK(sequence->truncate(-1).error().reason() == Reason::argument_range);
  CHECK(sequence->truncate(2).error().reason() == Reason::argument_range);
}

TEST_CASE("a stopped prefill keeps whole steps and can go on") {
  Stage stage(tiny_path("q4_1"), small_options());  // steps of 24
  const std::vector<TokenId> tokens = tiny_tokens(90);
  auto whole = stage.start(), stopped = stage.start();
  must(whole->prefill(tokens, LogitsOf::Last, nullptr, {}));
  Stopping stopping;
  stopping.stop_at = 48;
  Status status =
      stopped->prefill(tokens, LogitsOf::Last, nullptr, {Stopping::call, &stopping});
  REQUIRE(!status.ok());
  CHECK(status.error().reason() == Reason::cancelled);
  CHECK(stopped->length() == 48);
  CHECK(stopping.heard == std::vector<std::pair<u64, u64>>{{24, 90}, {48, 90}});
  CHECK(stopped->logits().error().reason() == Reason::logits_absent);
  must(stopped->prefill(std::span(tokens).subspan(48), LogitsOf::Last, nullptr, {}));
  CHECK(same_bytes(logits_of(*stopped), logits_of(*whole)));

  auto never = stage.start();
  Cancel cancel;
  cancel.request();
  CHECK(never->prefill(tokens, LogitsOf::Last, &cancel, {}).error().reason() == Reason::cancelled);
  CHECK(never->length() == 0);
}

TEST_CASE("forks share what is there and go their own ways") {
  Stage stage(tiny_path("q4_1"), small_options());
  const std::vector<TokenId> tokens = tiny_tokens(60);
  for (const i64 cut : {i64{0}, i64{16}, i64{37}}) {
    CAPTURE(cut);
    auto original = stage.start();
    if (cut != 0) {
      must(original->prefill(std::span(tokens).first(size_t(cut)), LogitsOf::Last, nullptr, {}));
    }
    auto fork = must(original->fork());
    CHECK(fork->length() == cut);
    if (cut != 0) CHECK(same_bytes(logits_of(*fork), logits_of(*original)));
    const std::vector<TokenId> other = {9, 8, 7, 6, 5};
    must(fork->prefill(other, LogitsOf::Last, nullptr, {}));
    must(original->prefill(std::span(tokens).subspan(size_t(cut)), LogitsOf::Last, nullptr, {}));

    auto plain = stage.start();
    must(plain->prefill(tokens, LogitsOf::Last, nullptr, {}));
    CHECK(same_bytes(logits_of(*original), logits_of(*plain)));
    must(plain->truncate(cut));
    must(plain->prefill(other, LogitsOf::Last, nullptr, {}));
    CHECK(same_bytes(logits_of(*fork), logits_of(*plain)));
  }
}

TEST_CASE("a fork that is cut into shared blocks copies before it writes") {
  Stage stage(tiny_path("q4_1"), small_options());
  const std::vector<TokenId> tokens = tiny_tokens(60);
  auto original = stage.start();
  must(original->prefill(std::span(tokens).first(50), LogitsOf::Last, nullptr, {}));
  auto fork = must(original->fork());
  must(fork->truncate(20));
  must(fork->prefill(std::vector<TokenId>{1, 2, 3, 4}, LogitsOf::Last, nullptr, {}));
  must(original->prefill(std::span(tokens).subspan(50), LogitsOf::Last, nullptr, {}));
  auto plain = stage.start();
  must(plain->prefill(tokens, LogitsOf::Last, nullptr, {}));
  CHECK(same_bytes(logits_of(*original), logits_of(*plain)));
}

TEST_CASE("forks come and go without losing blocks") {
  SessionOptions options = small_options();
  options.sequences = 1;  // 7 blocks
  Stage stage(tiny_path("q4_1"), options);
  const std::vector<TokenId> tokens = tiny_tokens(100);
  for (int round = 0; round < 20; ++round) {
    auto original = stage.start();
    must(original->prefill(std::span(tokens).first(90), LogitsOf::Last, nullptr, {}));  // 6 blocks
    auto fork = must(original->fork());
    auto again = must(fork->fork());
    must(again->decode(5, nullptr));                                    // copies the sixth: all 7
    CHECK(fork->decode(5, nullptr).error().reason() == Reason::kv_full);
    original.reset();
    fork.reset();
    must(again->prefill(std::span(tokens).first(9), LogitsOf::Last, nullptr, {}));
  }
}

TEST_CASE("the pool counts holders") {
  KvBlocks blocks(2);
  const u32 one = blocks.take();
  const u32 two = blocks.take();
  CHECK(one != two);
  CHECK(blocks.available() == 0);
  CHECK(!blocks.is_shared(one));
  blocks.share(one);
  CHECK(blocks.is_shared(one));
  blocks.drop(one);
  CHECK(blocks.available() == 0);
  blocks.drop(one);
  CHECK(blocks.available() == 1);
  CHECK(blocks.take() == one);
}
