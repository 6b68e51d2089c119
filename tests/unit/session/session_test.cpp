// Proves that sessions refuse impossible options, say what they cost, and share a model, a team and
// threads without mixing anything up.
#include <doctest/doctest.h>

#include <cfenv>
#include <limits>
#include <thread>

#include "unit/session/stage.hpp"

using namespace soma;
using namespace soma::test;

TEST_CASE("options outside their ranges are all named") {
  auto team = must(Team::create(1));
  const Model model = must(Model::open(tiny_path("q4_1"), LoadMode::Map));
  SessionOptions options;
  options.context = 257;  // the model's is 256
  options.sequences = 0;
  options.prefill_rows = 0;
  auto session = Session::create(model, *team, options, {}, nullptr);
  REQUIRE(!session.ok());
  CHECK(session.error().reason() == Reason::option_range);
  CHECK(session.error().others().size() == 2);
  options = {};
  options.isa = "sse9";
  CHECK(Session::create(model, *team, options, {}, nullptr).error().reason() ==
        Reason::argument_range);
}

// Whatever the processor has: the permission would stay with the process.
TEST_CASE("tiles that may not be asked for are not asked for by the kernel set's name") {
  auto team = must(Team::create(1));
  const Model model = must(Model::open(tiny_path("q4_1"), LoadMode::Map));
  SessionOptions options = small_options();
  options.isa = "amx_int8";
  options.amx = false;
  const auto session = Session::create(model, *team, options, {}, nullptr);
  REQUIRE(!session.ok());
  CHECK(session.error().reason() == Reason::isa_unavailable);
  CHECK(session.error().message().find("amx = never") != std::string::npos);
}

TEST_CASE("a session says what it is and costs") {
  Stage stage(tiny_path("q4_1"), small_options(), 2);
  const SessionFacts& facts = stage.session->facts();
  CHECK(facts.context == 100);
  CHECK(facts.kv_blocks == 14);
  // 2 layers × K and V × 1 head of 32 × 16 positions × 2 bytes
  CHECK(facts.kv_bytes >= 14 * 2 * 2 * 32 * 16 * 2);
  CHECK(facts.decode_launches == 2 + 5 * 2 + 1);  // embed, head, sample; five a layer
  CHECK(facts.prefill_launches >= facts.decode_launches);
  CHECK(facts.decode_launches == stage.session->program(Mode::Decode).launches.size());
  CHECK(facts.weight_bytes >= facts.decode_weight_bytes);
  CHECK(facts.decode_weight_bytes > 0);
  CHECK(facts.arena_bytes > 0);
  CHECK(facts.scratch_bytes > 0);
  CHECK(!facts.kernel_set.empty());
  SessionOptions wide = small_options();
  wide.context = 0;
  CHECK(Stage(tiny_path("q4_1"), wide).session->facts().context == 256);
}

TEST_CASE("packing stops when told to") {
  auto team = must(Team::create(2));
  const Model model = must(Model::open(tiny_path("q4_1"), LoadMode::Map));
  auto no = [](void*, u64, u64) { return false; };
  auto session = Session::create(model, *team, small_options(), {no, nullptr}, nullptr);
  REQUIRE(!session.ok());
  CHECK(session.error().reason() == Reason::cancelled);
}

TEST_CASE("the host's rounding and flushing change no byte, and stay as they were") {
  auto logits = [] {
    Stage stage(tiny_path("q4_1"), small_options(), 2);  // its helper inherits the environment
    auto sequence = stage.start();
    must(sequence->prefill(tiny_tokens(40), LogitsOf::All, nullptr, {}));
    must(sequence->decode(5, nullptr));
    return logits_of(*sequence);
  };
  const std::vector<float> expected = logits();
  std::fenv_t before;
  std::fegetenv(&before);
  std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);  // flush results and operands to zero
#endif
  const std::vector<float> got = logits();
  const int rounding = std::fegetround();
  volatile float smallest = std::numeric_limits<float>::min();
  const bool flushed = smallest / 2 == 0;
  std::fesetenv(&before);
  CHECK(same_bytes(got, expected));
  CHECK(rounding == FE_UPWARD);
#if defined(__x86_64__)
  CHECK(flushed);
#endif
}

TEST_CASE("several sessions of one model, each with its own policy, at once") {
  const Model model = must(Model::open(tiny_path("q4_1"), LoadMode::Map));
  auto team = must(Team::create(2));
  const std::vector<TokenId> tokens = tiny_tokens(40);
  auto logits_with = [&](Session& session) {
    auto sequence = must(session.start());
    must(sequence->prefill(tokens, LogitsOf::Last, nullptr, {}));
    return logits_of(*sequence);
  };
  SessionOptions options = small_options();
  auto fast = must(Session::create(model, *team, options, {}, nullptr));
  options.policy = Policy::Reference;
  auto reference = must(Session::create(model, *team, options, {}, nullptr));
  const std::vector<float> want_fast = logits_with(*fast), want_reference = logits_with(*reference);
  CHECK(!same_bytes(want_fast, want_reference));
  std::atomic<i32> wrong{0};
  auto repeat = [&](Session& session, const std::vector<float>& want) {
    for (int i = 0; i < 10; ++i) {
      auto sequence = session.start();
      if (!sequence.ok() || !(*sequence)->prefill(tokens, LogitsOf::Last, nullptr, {}).ok() ||
          !same_bytes(*(*sequence)->logits(), want)) {
        ++wrong;
      }
    }
  };
  std::thread other([&] { repeat(*reference, want_reference); });
  repeat(*fast, want_fast);
  other.join();
  CHECK(wrong == 0);
}

TEST_CASE("several sequences of one session, each on its own thread") {
  SessionOptions options = small_options();
  options.sequences = 4;
  Stage stage(tiny_path("q4_1"), options, 2);
  const std::vector<TokenId> tokens = tiny_tokens(80);
  std::vector<std::vector<float>> want(4), got(4);
  auto play = [&](size_t which, std::vector<float>* out) {
    auto sequence = stage.session->start();
    if (!sequence.ok()) return;
    const std::span<const TokenId> own = std::span(tokens).subspan(which * 5, 40);
    if (!(*sequence)->prefill(own, LogitsOf::Last, nullptr, {}).ok()) return;
    for (size_t i = 0; i < 10; ++i) {
      if (!(*sequence)->decode(tokens[which + i], nullptr).ok()) return;
    }
    const std::span<const float> logits = *(*sequence)->logits();
    out->assign(logits.begin(), logits.end());
  };
  for (size_t i = 0; i < 4; ++i) play(i, &want[i]);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; ++i) threads.emplace_back([&, i] { play(i, &got[i]); });
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < 4; ++i) {
    CHECK(!want[i].empty());
    CHECK(same_bytes(got[i], want[i]));
  }
}
