// Proves that a program gives the same bytes however it is fused, cut, threaded or vectorised, that
// nothing untrusted gets past binding and the checks before a step, and that steps stop when asked.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <thread>

#include "base/clock.hpp"
#include "base/cpu_features.hpp"
#include "base/memory.hpp"
#include "unit/backend/engine.hpp"

using namespace soma;
using namespace soma::test;

namespace {

// Tiles are there where the system grants them too, and says so only when asked.
std::vector<std::string> available_sets() {
  std::vector<std::string> names;
  for (const cpu::SetInfo& set : cpu::kernel_sets()) {
    if (!set.available || (set.name == "amx_int8" && !request_amx())) continue;
    names.emplace_back(set.name);
  }
  return names;
}

constexpr size_t token_count = 60;
const std::vector<size_t> mixed_steps = {37, 1, 1, 16, 2, 1, 2};

// The fallback program on one thread with scalar kernels, one token a step: the oracle.
std::vector<float> oracle(Setting setting) {
  setting.fused = false;
  setting.threads = 1;
  setting.isa = "scalar";
  Engine engine(setting);
  const std::vector<i32> tokens = some_tokens(token_count, engine.vocabulary());
  return engine.feed(tokens, 1, std::vector<size_t>(token_count, 1));
}

bool sane(const std::vector<float>& logits) {
  float largest = 0;
  for (const float logit : logits) {
    if (!std::isfinite(logit)) return false;
    largest = std::max(largest, std::fabs(logit));
  }
  return largest > 0.01F && largest < 1e6F;
}

void check_all_ways(const Setting& base) {
  const std::vector<float> expected = oracle(base);
  REQUIRE(sane(expected));
  for (const std::string& isa : available_sets()) {
    for (const i32 threads : {1, 2, 4}) {
      for (const bool fused : {false, true}) {
        CAPTURE(isa);
        CAPTURE(threads);
        CAPTURE(fused);
        Setting setting = base;
        setting.isa = isa;
        setting.threads = threads;
        setting.fused = fused;
        Engine engine(setting);
        const std::vector<i32> tokens = some_tokens(token_count, engine.vocabulary());
        CHECK(same_bytes(engine.feed(tokens, 1, mixed_steps), expected));
        if (fused) CHECK(same_bytes(engine.feed(tokens, 0, std::vector<size_t>(60, 1)), expected));
      }
    }
  }
}

Setting mixed_formats() {
  Setting setting;
  setting.sizes.adjacent = false;
  setting.sizes.tied = false;
  setting.sizes.embedding = Format::BF16;
  setting.sizes.by_role = {{"k", Format::Q5_0},    {"v", Format::Q5_1}, {"o", Format::F16},
                           {"gate", Format::Q4_0}, {"up", Format::Q8_0}, {"down", Format::F32},
                           {"head", Format::BF16}};
  return setting;
}

}  // namespace

TEST_CASE("fused or not, any chunks, threads and kernel set: the same bytes (fast)") {
  check_all_ways({});
}

TEST_CASE("fused or not, any chunks, threads and kernel set: the same bytes (reference)") {
  Setting setting;
  setting.policy = Policy::Reference;
  check_all_ways(setting);
}

TEST_CASE("the same with every weight format at once and rotation by halves") {
  check_all_ways(mixed_formats());
  Setting setting = mixed_formats();
  setting.policy = Policy::Reference;
  check_all_ways(setting);
}

TEST_CASE("the programs of these tests run every kernel of the catalogue") {
  std::set<std::string> run;
  std::vector<std::string> catalogue;
  for (const Policy policy : {Policy::Fast, Policy::Reference}) {
    for (const bool fused : {false, true}) {
      Setting setting;
      setting.policy = policy;
      setting.fused = fused;
      Engine engine(setting);
      for (const Program* program : {&engine.decode_program(), &engine.prefill_program()}) {
        for (const Launch& launch : program->launches) run.insert(launch.kernel);
      }
      catalogue = engine.backend().caps().catalogue.kernels;
    }
  }
  CHECK(std::vector<std::string>(run.begin(), run.end()) == catalogue);
}

TEST_CASE("rows of several sequences in one step are what they are alone") {
  Setting setting;
  setting.isa = available_sets().back();
  setting.threads = 2;
  Engine alone(setting), together(setting);
  const std::vector<i32> tokens = some_tokens(30, alone.vocabulary());
  std::vector<std::vector<float>> expected;
  for (u32 sequence = 0; sequence < Engine::sequences; ++sequence) {
    const std::span<const i32> own(&tokens[sequence], 20);
    expected.push_back(alone.feed(own, sequence, std::vector<size_t>{19, 1}));
    together.feed(own, sequence, std::vector<size_t>{17});
  }
  // Two rows of the first, one of the second, three of the third.
  const std::vector<std::pair<u32, i32>> rows = {{0, 17}, {0, 18}, {1, 17},
                                                 {2, 17}, {2, 18}, {2, 19}};
  std::vector<Engine::Row> step;
  for (const auto& [sequence, position] : rows) {
    step.push_back({tokens[sequence + static_cast<size_t>(position)], sequence, position});
  }
  std::vector<float> logits;
  std::vector<i32> chosen;
  REQUIRE(together.step(step, logits, chosen).ok());
  const auto width = static_cast<size_t>(alone.vocabulary());
  for (size_t i = 0; i < rows.size(); ++i) {
    const float* want = &expected[rows[i].first][static_cast<size_t>(rows[i].second) * width];
    CHECK(std::memcmp(&logits[i * width], want, width * sizeof(float)) == 0);
    const auto largest = std::max_element(want, want + width);
    CHECK(chosen[i] == largest - want);
  }
}

TEST_CASE("a step that can't be is refused before anything changes") {
  Setting setting;
  Engine engine(setting);
  const std::vector<i32> tokens = some_tokens(20, engine.vocabulary());
  const std::vector<float> before = engine.feed(tokens, 0, std::vector<size_t>{20});
  std::vector<float> logits;
  std::vector<i32> chosen;
  auto refused = [&](std::vector<Engine::Row> rows, Reason reason) {
    Status status = engine.step(rows, logits, chosen);
    REQUIRE(!status.ok());
    CHECK(status.error().reason() == reason);
  };
  const auto vocabulary = static_cast<i32>(engine.vocabulary());
  refused({{-1, 0, 5}}, Reason::argument_range);
  refused({{vocabulary, 0, 5}}, Reason::argument_range);
  refused({{1, 0, -1}}, Reason::argument_range);
  refused({{1, 0, 16 * static_cast<i32>(Engine::blocks_of_sequence)}}, Reason::argument_range);
  refused({{1, 0, 5}, {1, 0, 5}}, Reason::argument_range);
  refused({{1, 0, 5}, {1, 0, 4}}, Reason::argument_range);
  refused({}, Reason::program_limit);
  refused(std::vector<Engine::Row>(Engine::rows_max + 1), Reason::program_limit);

  // Position 19 again, over the same first 19: nothing of the above was stored.
  REQUIRE(engine.step(std::vector<Engine::Row>{{tokens[19], 0, 19}}, logits, chosen).ok());
  CHECK(std::memcmp(logits.data(), &before[19 * static_cast<size_t>(vocabulary)],
                    static_cast<size_t>(vocabulary) * 4) == 0);
}

TEST_CASE("KV blocks and logits rows that are none are refused") {
  Setting setting;
  Engine engine(setting);
  auto executable = engine.bind(engine.prefill_program());
  std::vector<float> logits(static_cast<size_t>(engine.vocabulary()) * 2);
  std::vector<i32> chosen(2);
  const std::vector<i32> tokens = {1, 2}, positions = {3, 4};
  const std::vector<u32> block_row = {0, 0};
  std::vector<u32> table = {0}, wanted = {0, 1};
  StepBatch batch;
  batch.rows = 2;
  batch.tokens = tokens.data();
  batch.positions = positions.data();
  batch.block_row = block_row.data();
  batch.block_tables = table.data();
  batch.block_stride = 1;
  batch.logit_rows = 2;
  batch.logit_row = wanted.data();
  auto run = [&] {
    return executable->run(batch, engine.kv(), logits.data(), chosen.data(), nullptr);
  };
  CHECK(run().ok());
  table[0] = Engine::sequences * Engine::blocks_of_sequence;
  CHECK(run().error().reason() == Reason::argument_range);
  table[0] = 0;
  wanted = {1, 1};
  batch.logit_row = wanted.data();
  CHECK(run().error().reason() == Reason::argument_range);
  wanted = {0, 2};
  batch.logit_row = wanted.data();
  CHECK(run().error().reason() == Reason::argument_range);
  batch.logit_rows = 1;
  CHECK(executable->run(batch, engine.kv(), nullptr, chosen.data(), nullptr).error().reason() ==
        Reason::argument_null);
  KvGeometry other = engine.geometry();
  other.layers = 1;
  auto kv = engine.backend().allocate_kv(other).value();
  CHECK(executable->run(batch, *kv, logits.data(), chosen.data(), nullptr).error().reason() ==
        Reason::program_binding);
}

TEST_CASE("binding reports every way in which a program does not fit") {
  Setting setting;
  Engine engine(setting);
  auto launch_of = [](Program& program, std::string_view kernel) -> Launch& {
    for (Launch& launch : program.launches) {
      if (launch.kernel == kernel) return launch;
    }
    throw std::runtime_error("no such launch");
  };
  auto arg_of = [](Launch& launch, std::string_view name) -> Arg& {
    return const_cast<Arg&>(*launch.find(name));
  };
  struct Case {
    std::string says;
    std::function<void(Program&)> spoil;
  };
  const char* down = "linear_add";
  const std::vector<Case> cases = {
      {"no kernel 'what'", [&](Program& p) { launch_of(p, down).kernel = "what"; }},
      {"'w' is missing", [&](Program& p) { arg_of(launch_of(p, down), "w").name = "v"; }},
      {"no argument 'v'", [&](Program& p) { arg_of(launch_of(p, down), "w").name = "v"; }},
      {"beyond the", [&](Program& p) { arg_of(launch_of(p, down), "x").offset = p.arena_bytes; }},
      {"beyond the", [&](Program& p) { p.request.rows_max = 1000; }},
      {"rows of", [&](Program& p) { arg_of(launch_of(p, down), "x").row_bytes = 8; }},
      {"not aligned", [&](Program& p) { arg_of(launch_of(p, down), "x").offset += 2; }},
      {"can't be i32", [&](Program& p) { arg_of(launch_of(p, down), "x").format = Format::I32; }},
      {"not written", [&](Program& p) { arg_of(launch_of(p, down), "out").written = false; }},
      {"another kind", [&](Program& p) { arg_of(launch_of(p, down), "w").kind = ArgKind::State; }},
      {"is weight", [&](Program& p) { arg_of(launch_of(p, down), "w").index = 10000; }},
      {"was not packed", [&](Program& p) { p.weights[1].tensor = "none"; }},
      {"was packed as", [&](Program& p) { p.weights[1].columns += 32; }},
      {"is a vector", [&](Program& p) {
         arg_of(launch_of(p, down), "w").index =
             launch_of(p, "norm_quant_qkv_rope_kv").find("norm")->index;
       }},
      {"other rows", [&](Program& p) { launch_of(p, down).grid.rows = RowsOf::Logits; }},
      {"grid is of another", [&](Program& p) { launch_of(p, down).grid.kind = GridKind::Rows; }},
      {"grid's extent", [&](Program& p) { launch_of(p, down).grid.extent += 16; }},
      {"is layer", [&](Program& p) { arg_of(launch_of(p, "attend_quant"), "kv").index = 2; }},
      {"is 0", [&](Program& p) { arg_of(launch_of(p, "attend_quant"), "heads").number = 0; }},
      {"not whole",
       [&](Program& p) { arg_of(launch_of(p, "attend_quant"), "heads").number = 1.5; }},
      {"no multiple", [&](Program& p) {
         arg_of(launch_of(p, "attend_quant"), "kv_heads").number = 4;
       }},
  };
  for (const Case& spoilt : cases) {
    CAPTURE(spoilt.says);
    Program program = engine.decode_program();
    spoilt.spoil(program);
    auto bound = engine.backend().bind(program, engine.weights());
    REQUIRE(!bound.ok());
    CHECK(fixture::all_messages(bound.error()).find(spoilt.says) != std::string::npos);
  }
  Program program = engine.decode_program();
  for (const Case& spoilt : cases) {
    const bool one_argument = spoilt.says == "rows of" || spoilt.says == "is layer" ||
                              spoilt.says == "not whole";
    if (one_argument) spoilt.spoil(program);
  }
  auto bound = engine.backend().bind(program, engine.weights());
  REQUIRE(!bound.ok());
  CHECK(bound.error().others().size() == 2);
}

TEST_CASE("a wish to stop ends a step within it") {
  Setting setting;
  setting.threads = 3;
  setting.sizes.layers = 12;
  Engine engine(setting);
  const std::vector<i32> tokens = some_tokens(Engine::rows_max, engine.vocabulary());
  std::vector<Engine::Row> rows;
  for (size_t i = 0; i < tokens.size(); ++i) rows.push_back({tokens[i], 0, static_cast<i32>(i)});
  std::vector<float> logits, expected;
  std::vector<i32> chosen;
  REQUIRE(engine.step(rows, expected, chosen).ok());

  Cancel requested;
  requested.request();
  CHECK(engine.step(rows, logits, chosen, &requested).error().reason() == Reason::cancelled);
  // At deadlines all over the step; each stopped step leaves an executable as good as new.
  for (const i64 after_ns : {0, 50'000, 200'000, 1'000'000, 3'000'000}) {
    Cancel late;
    late.set_deadline(now_ns() + after_ns);
    Status status = engine.step(rows, logits, chosen, &late);
    if (after_ns <= 200'000) REQUIRE(!status.ok());
    if (!status.ok()) CHECK(status.error().reason() == Reason::deadline);
  }
  // From another thread, while the step runs.
  for (int round = 0; round < 5; ++round) {
    Cancel cancel;
    std::thread other([&] { cancel.request(); });
    Status status = engine.step(rows, logits, chosen, &cancel);
    other.join();
    if (!status.ok()) CHECK(status.error().reason() == Reason::cancelled);
  }
  REQUIRE(engine.step(rows, logits, chosen).ok());
  CHECK(same_bytes(logits, expected));
}

TEST_CASE("a step allocates nothing" * doctest::test_suite("own new")) {
  for (const i32 threads : {1, 2}) {
    Setting setting;
    setting.threads = threads;
    Engine engine(setting);
    auto executable = engine.bind(engine.decode_program());
    const i32 token = 5, position = 0;
    const u32 block = 0, logit_row = 0;
    std::vector<float> logits(static_cast<size_t>(engine.vocabulary()));
    i32 chosen = 0;
    Sampling sampling;
    sampling.temperature = 1;
    sampling.top_k = 40;
    StepBatch batch;
    batch.rows = 1;
    batch.tokens = &token;
    batch.positions = &position;
    batch.block_row = &block;
    batch.block_tables = &block;
    batch.block_stride = 1;
    batch.logit_rows = 1;
    batch.logit_row = &logit_row;
    batch.sampling = &sampling;
    struct Counter {
      int calls = 0;
      static void* allocate(void* user, size_t size, size_t) {
        ++static_cast<Counter*>(user)->calls;
        return std::malloc(size);
      }
      static void release(void*, void* memory, size_t, size_t) { std::free(memory); }
    } counter;
    REQUIRE(executable->run(batch, engine.kv(), logits.data(), &chosen, nullptr).ok());
    Memory memory({Counter::allocate, Counter::release, &counter});
    {
      const MemoryScope scope(&memory);
      CHECK(executable->run(batch, engine.kv(), logits.data(), &chosen, nullptr).ok());
      CHECK(counter.calls == 0);
      const auto probe = std::make_unique<int>(1);
      CHECK(counter.calls == 1);
    }
  }
}
