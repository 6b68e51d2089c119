// Proves that generating is prefill, sample and decode in a row, ends for the right reason, and
// draws the same tokens from the same seed.
#include <doctest/doctest.h>

#include "unit/session/stage.hpp"

using namespace soma;
using namespace soma::test;

namespace {

struct Listener {
  std::vector<TokenId> tokens;
  std::string text;
  size_t stop_after = 1000000;
  static bool call(void* user, TokenId token, std::string_view text) {
    auto* self = static_cast<Listener*>(user);
    self->tokens.push_back(token);
    self->text += text;
    return self->tokens.size() < self->stop_after;
  }
};

GenerateOptions greedy(i64 tokens_max) {
  GenerateOptions options;
  options.tokens_max = tokens_max;
  options.ignore_end = true;
  return options;
}

GenerateOptions warm(i64 tokens_max, u64 seed) {
  GenerateOptions options = greedy(tokens_max);
  options.sampling.temperature = 1.5F;
  options.sampling.top_p = 0.95F;
  options.sampling.repetition_penalty = 1.1F;
  options.sampling.seed = seed;
  return options;
}

}  // namespace

TEST_CASE("generating is sampling and decoding, token by token") {
  Stage stage(tiny_path("q4_1"), small_options(), 2);
  const std::vector<TokenId> prompt = tiny_tokens(10);
  for (const GenerateOptions& options : {greedy(20), warm(20, 7)}) {
    auto sequence = stage.start();
    Listener listener;
    const GenerateResult result =
        must(generate(*sequence, prompt, options, {Listener::call, &listener}, {}, nullptr));
    CHECK(result.finish == Finish::Length);
    CHECK(result.tokens.size() == 20);
    CHECK(result.tokens == listener.tokens);
    CHECK(result.text == listener.text);
    CHECK(sequence->length() == 29);  // the last one was only chosen

    auto by_hand = stage.start();
    must(by_hand->prefill(prompt, LogitsOf::Last, nullptr, {}));
    for (const TokenId token : result.tokens) {
      CHECK(must(by_hand->sample(options.sampling)) == token);
      must(by_hand->decode(token, nullptr));
    }
  }
}

TEST_CASE("a seed gives the same text whatever the threads; another seed another") {
  const std::vector<TokenId> prompt = tiny_tokens(10);
  std::vector<std::vector<TokenId>> texts;
  for (const i32 threads : {1, 2, 3}) {
    Stage stage(tiny_path("q4_1"), small_options(), threads);
    auto sequence = stage.start();
    texts.push_back(must(generate(*sequence, prompt, warm(40, 1), {}, {}, nullptr)).tokens);
  }
  CHECK(texts[0] == texts[1]);
  CHECK(texts[0] == texts[2]);
  Stage stage(tiny_path("q4_1"), small_options());
  auto sequence = stage.start();
  CHECK(must(generate(*sequence, prompt, warm(40, 2), {}, {}, nullptr)).tokens != texts[0]);
}

TEST_CASE("why generating ends") {
  Stage stage(tiny_path("q4_1"), small_options());
  const std::vector<TokenId> prompt = tiny_tokens(90);
  {
    auto sequence = stage.start();
    const GenerateResult result =
        must(generate(*sequence, prompt, greedy(50), {}, {}, nullptr));
    CHECK(result.finish == Finish::ContextFull);
    CHECK(result.tokens.size() == 11);  // ten positions are left, and one more is known then
    CHECK(sequence->length() == 100);
  }
  {
    auto sequence = stage.start();
    Listener listener;
    listener.stop_after = 3;
    const GenerateResult result =
        must(generate(*sequence, prompt, greedy(50), {Listener::call, &listener}, {}, nullptr));
    CHECK(result.finish == Finish::Stopped);
    CHECK(result.tokens.size() == 3);
  }
  {
    auto sequence = stage.start();
    const GenerateResult result = must(generate(*sequence, prompt, greedy(0), {}, {}, nullptr));
    CHECK(result.finish == Finish::Length);
    CHECK(result.tokens.empty());
    CHECK(sequence->length() == 90);
  }
  {
    // Of 300 tokens at a high temperature an ending one comes sooner or later.
    GenerateOptions options = warm(90, 0);
    options.ignore_end = false;
    options.sampling.temperature = 1e6F;
    options.sampling.top_p = 1;
    bool ended = false;
    for (u64 seed = 0; seed < 40 && !ended; ++seed) {
      options.sampling.seed = seed;
      auto sequence = stage.start();
      const GenerateResult result =
          must(generate(*sequence, std::span(prompt).first(5), options, {}, {}, nullptr));
      ended = result.finish == Finish::End;
      const Tokenizer& tokenizer = stage.model->tokenizer();
      for (size_t i = 0; i < result.tokens.size(); ++i) {
        CHECK(tokenizer.ends_generation(result.tokens[i]) ==
              (ended && i + 1 == result.tokens.size()));
      }
    }
    CHECK(ended);
  }
}

TEST_CASE("what generating refuses") {
  Stage stage(tiny_path("q4_1"), small_options());
  auto sequence = stage.start();
  const std::vector<TokenId> prompt = tiny_tokens(101);
  CHECK(generate(*sequence, prompt, greedy(5), {}, {}, nullptr).error().reason() ==
        Reason::context_full);
  CHECK(generate(*sequence, std::span(prompt).first(5), greedy(-1), {}, {}, nullptr)
            .error()
            .reason() == Reason::option_range);
  GenerateOptions options = warm(5, 0);
  options.sampling.top_p = 1.5F;
  options.sampling.temperature = -1;
  auto refused = generate(*sequence, std::span(prompt).first(5), options, {}, {}, nullptr);
  REQUIRE(!refused.ok());
  CHECK(refused.error().reason() == Reason::option_range);
  CHECK(refused.error().others().size() == 1);
  CHECK(sequence->length() == 0);
  Cancel cancel;
  cancel.request();
  CHECK(generate(*sequence, std::span(prompt).first(5), greedy(5), {}, {}, &cancel)
            .error()
            .reason() == Reason::cancelled);
}

TEST_SUITE("model") {
  TEST_CASE("SmolLM2 knows the capital of France") {
    for (const i32 threads : {1, 2}) {
      Stage stage(real_path(), {}, threads);
      const std::vector<TokenId> prompt = must(stage.model->tokenizer().encode(
          "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n",
          true));
      GenerateOptions options;
      options.tokens_max = 24;
      auto sequence = stage.start();
      const GenerateResult result = must(generate(*sequence, prompt, options, {}, {}, nullptr));
      CAPTURE(result.text);
      CHECK(result.text.find("Paris") != std::string::npos);
      CHECK(result.finish == Finish::End);
    }
  }

  TEST_CASE("a real model's logits depend on neither chunks nor threads") {
    SessionOptions options;
    options.context = 256;
    options.prefill_rows = 64;
    Stage one(real_path(), options, 1);
    options.prefill_rows = 33;
    Stage two(real_path(), options, 2);
    const std::vector<TokenId> tokens = must(one.model->tokenizer().encode(
        "The lighthouse keeper climbed the stairs each evening, counting them aloud, and each "
        "evening there was one more than the day before. He never told anybody about it.", false));
    auto first = one.start(), second = two.start();
    must(first->prefill(tokens, LogitsOf::All, nullptr, {}));
    const std::vector<float> expected = logits_of(*first);
    const size_t width = expected.size() / tokens.size();
    must(second->prefill(std::span(tokens).first(tokens.size() - 3), LogitsOf::Last, nullptr, {}));
    CHECK(same_bytes(logits_of(*second),
                     std::span(expected).subspan((tokens.size() - 4) * width, width)));
    for (size_t i = tokens.size() - 3; i < tokens.size(); ++i) {
      must(second->decode(tokens[i], nullptr));
      CHECK(same_bytes(logits_of(*second), std::span(expected).subspan(i * width, width)));
    }
  }
}
