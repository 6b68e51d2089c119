// Proves that steps get what they ask for, turn by turn, that nobody's thread waits for an effect,
// and that what a run with steps yields does not depend on when and where effects end.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "unit/run/rendezvous.hpp"
#include "unit/run/step_ops.hpp"
#include "unit/sanitized.hpp"

namespace soma {

namespace {

using fixture::AskOnce;
using fixture::Desk;
using fixture::PlanBuilder;
using fixture::StepOps;
using fixture::steps_side_by_side;

AskOnce ask_once;

void end(Effect* effect) {
  effect->complete(effect->payload());
  effect->release();
}

std::string all_of(u32 count, std::string_view value) {
  std::string out = "{";
  for (u32 i = 0; i < count; ++i) out += text("{}\"s{}\":{}", i > 0 ? "," : "", i, value);
  return out + "}";
}

}  // namespace

TEST_CASE("a step asks in turns, sees what came of it in order, and yields") {
  std::vector<std::string> keys;
  auto twice = [&](Effect& effect) {
    keys.push_back(effect.key());
    CHECK_FALSE(effect.is_retry());
    CHECK(effect.is_wanted());
    CHECK(effect.complete(Value::integer(2 * effect.payload().integer())));
    CHECK_FALSE(effect.complete(Value()));
    CHECK_FALSE(effect.fail(fail(Reason::run_input, "late")));
  };
  auto step = [](StepCall& call) -> Status {
    switch (call.turn()) {
      case 0:
        CHECK(call.results().empty());
        call.done(Value());  // the last one counts
        call.await({{"twice", call.input()}, {"twice", Value::integer(10)}});
        break;
      case 1:
        CHECK(call.results().size() == 2);
        call.await({{"twice", call.results()[0]}});
        break;
      default:
        CHECK(call.history().size() == 2);
        CHECK(call.path() == "ask");
        call.done(Value::list({call.history()[0][0], call.history()[0][1], call.results()[0]}));
    }
    return {};
  };
  StepOps ops;
  ops.step("ask", step).effect("twice", twice);
  const Plan plan = PlanBuilder().step("ask", {}).close().take();
  CHECK(fixture::outcome(plan, ops, Value::integer(3)) == "[6,20,12]");
  CHECK(fixture::outcome(plan, ops, Value::integer(3)) == "[6,20,12]");
  REQUIRE(keys.size() == 6);
  const std::string_view ends[] = {":ask#0.0", ":ask#0.1", ":ask#1.0"};
  for (size_t i = 0; i < keys.size(); ++i) CHECK(keys[i].ends_with(ends[i % 3]));
  std::ranges::sort(keys);
  CHECK(std::ranges::adjacent_find(keys) == keys.end());  // no two runs share a key
}

TEST_CASE("a step hands over to one of its hand-offs, or to none") {
  auto route = [](StepCall& call) -> Status {
    if (call.input().is_null()) return {};
    call.hand_over(call.input().text(), Value::text("from the step"));
    return {};
  };
  StepOps ops;
  ops.step("route", route);
  PlanBuilder builder;
  builder.open(Variant::Sequence).step("route", {"left", "right"});
  builder.execute("left").node().op = "std.identity";
  builder.execute("right").node().op = "std.identity";
  builder.close().execute("all", {"route", "left", "right"}).node().op = "std.identity";
  builder.close().leaves({"all"});
  const Plan plan = builder.take();
  CHECK(fixture::outcome(plan, ops, Value::text("left")) ==
        R"({"route":"from the step","left":"from the step"})");
  CHECK(fixture::outcome(plan, ops, Value::text("right")) ==
        R"({"route":"from the step","right":"from the step"})");
  CHECK(fixture::outcome(plan, ops, Value()) == R"({"route":null})");
  CHECK(fixture::outcome(plan, ops, Value::text("up")) ==
        "run.node_failed: node 'route' failed: it hands over to 'up', which is none of its "
        "hand-offs ('left', 'right') (step.undeclared_handoff)");
}

TEST_CASE("what a step may not do") {
  auto nothing = [](StepCall& call) -> Status {
    call.await({});
    return {};
  };
  auto unknown = [](StepCall& call) -> Status {
    call.await({{"one", Value()}, {"known", Value()}, {"two", Value()}});
    return {};
  };
  auto endless = [](StepCall& call) -> Status {
    call.await({{"known", Value()}});
    return {};
  };
  u32 performed = 0;
  auto known = [&](Effect& effect) {
    ++performed;
    effect.complete(Value());
  };
  auto function = [](NodeCall&) -> Status { return {}; };
  StepOps ops;
  ops.step("nothing", nothing).step("unknown", unknown).step("endless", endless);
  ops.effect("known", known).function("function", function);
  const auto outcome_of = [&](const std::string& op, std::optional<i64> turns) {
    PlanBuilder builder;
    builder.step(op, {}).node().edit().max_turns = turns;
    return fixture::outcome(builder.close().take(), ops, Value());
  };
  CHECK(outcome_of("nothing", {}).ends_with("(step.no_effects)"));
  const std::string missing = outcome_of("unknown", {});
  CHECK(missing.ends_with("(step.no_handler)"));
  CHECK(missing.find("'one'") != missing.npos);
  CHECK(performed == 0);
  CHECK(outcome_of("endless", {}).ends_with("(step.turns)"));
  CHECK(performed == 24);
  performed = 0;
  CHECK(outcome_of("endless", 3).ends_with("(step.turns)"));
  CHECK(performed == 3);
  CHECK(outcome_of("function", {}).starts_with("run.unsupported"));
  PlanBuilder builder;
  builder.execute("a").node().op = "endless";
  CHECK(fixture::outcome(builder.take(), ops, Value()).starts_with("run.unsupported"));
  CHECK(ops.add(EffectHandler{"known", nullptr, nullptr, [](void*, Effect&) {},
                              InDoubt::Fail})
            .error()
            .id() == "ops.duplicate");
}

TEST_CASE("one thread has all branches' effects under way at the same time") {
  constexpr u32 many = fixture::is_sanitized ? 200 : 2000;
  for (const u32 threads : {0u, 1u, 4u}) {
    for (const LaunchMode launch : {LaunchMode::Adaptive, LaunchMode::Always}) {
      Desk desk;
      StepOps ops;
      ops.step("ask", ask_once).effect("ask", desk);
      const auto pool = threads > 0 ? fixture::pool_of(static_cast<i32>(threads)) : nullptr;
      const Plan plan = steps_side_by_side(many, "ask");
      auto run = Run::create(plan, ops, {.pool = pool.get(), .launch = launch}).value();
      std::mt19937 random(1);
      for (u32 again = 0; again < 3; ++again) {
        CHECK(run->start(Value::text("x"), nullptr).ok());
        // Answers come in any order, and only once all have asked.
        std::thread clerk([&] {
          CHECK(desk.holds(many));
          std::vector<Effect*> all = desk.take();
          std::shuffle(all.begin(), all.end(), random);
          for (Effect* effect : all) end(effect);
        });
        const std::string told = fixture::told(run->finish());
        clerk.join();
        REQUIRE(told == all_of(many, "\"x\""));
      }
    }
  }
}

TEST_CASE("a host that drives a run piece by piece waits for nothing") {
  Desk desk;
  StepOps ops;
  ops.step("ask", ask_once).effect("ask", desk);
  const auto pool = fixture::pool_of(2);
  const Plan plan = steps_side_by_side(3, "ask");
  for (Pool* used : {pool.get(), static_cast<Pool*>(nullptr)}) {
    auto run = Run::create(plan, ops, {.pool = used}).value();
    for (u32 again = 0; again < 3; ++again) {
      CHECK(run->start(Value::integer(7), nullptr).ok());
      u32 pieces = 0;
      while ((desk.size() < 3 || pieces < 5) && pieces < 1000) {
        REQUIRE_FALSE(run->step(0));
        ++pieces;
      }
      std::vector<Effect*> all = desk.take();
      CHECK(all.size() == 3);
      for (Effect* effect : all) end(effect);
      u32 more = 0;
      while (!run->step(0) && more < 1000) ++more;
      CHECK(fixture::told(run->finish()) == all_of(3, "7"));
    }
  }
}

TEST_CASE("no branch is lost whose effect ends while its strand goes on, or pauses") {
  constexpr u32 rounds = fixture::is_sanitized ? 20 : 200;
  Desk desk;
  std::atomic<bool> closing{false};
  std::thread clerk([&] {
    while (!closing) {
      for (Effect* effect : desk.take()) end(effect);
    }
  });
  StepOps ops;
  ops.step("ask", ask_once).effect("ask", desk);
  PlanBuilder builder;
  builder.open(Variant::Parallel);
  for (u32 i = 0; i < 3; ++i) {
    builder.open(Variant::Sequence).step(text("s{}", i), {}).node().op = "ask";
    builder.close();
    std::string before = text("s{}", i);
    for (u32 k = 0; k < 5; ++k) {
      const std::string id = text("n{}{}", i, k);
      builder.execute(id, {before}).node().op = "std.identity";
      before = id;
    }
    builder.close();
  }
  builder.close();
  const Plan plan = builder.take();
  for (u32 round = 0; round < rounds; ++round) {
    auto run = Run::create(plan, ops, {}).value();
    CHECK(run->start(Value::integer(7), nullptr).ok());
    const i64 deadline = now_ns() + 20 * fixture::second_ns;
    bool has_ended = false;
    while (!has_ended && now_ns() < deadline) has_ended = run->step(0);
    REQUIRE(has_ended);
    REQUIRE(fixture::told(run->finish()) == R"({"n04":7,"n14":7,"n24":7})");
  }
  closing = true;
  clerk.join();
}

TEST_CASE("steps in waves in loops in waves, with effects that end anywhere at any time") {
  constexpr u32 rounds = fixture::is_sanitized ? 20 : 100;
  // A clerk's thread ends what is asked, in a random order.
  Desk desk;
  std::atomic<bool> closing{false};
  std::thread clerk([&] {
    std::mt19937 random(5);
    while (!closing) {
      std::vector<Effect*> some = desk.take();
      std::shuffle(some.begin(), some.end(), random);
      for (Effect* effect : some) end(effect);
      std::this_thread::yield();
    }
  });
  std::atomic<u32> asked{0};
  auto often = [&](StepCall& call) -> Status {
    if (call.turn() < 3) {
      asked.fetch_add(1);
      call.await({{"ask", Value::integer(i64{call.turn()})}, {"now", Value::text(call.path())}});
      return {};
    }
    CHECK(call.results()[0] == Value::integer(2));
    call.done(Value::text(text("{} in {}", call.path(), call.history()[1][1].text())));
    return {};
  };
  auto now = [](Effect& effect) { effect.complete(effect.payload()); };
  StepOps ops;
  ops.step("often", often).effect("ask", desk).effect("now", now);
  PlanBuilder builder;
  builder.open(Variant::Parallel);
  for (u32 i = 0; i < 3; ++i) {
    builder.loop(text("loop{}", i), 2, "", text("end{}", i)).open(Variant::Sequence);
    builder.open(Variant::Parallel);
    for (u32 j = 0; j < 3; ++j) {
      builder.open(Variant::Sequence).step(text("a{}{}", i, j), {});
      builder.node().op = "often";
      builder.close().execute(text("b{}{}", i, j), {text("a{}{}", i, j)}).node().op =
          "std.identity";
      builder.close();
    }
    builder.close();
    builder.execute(text("end{}", i), {text("b{}0", i), text("b{}1", i), text("b{}2", i)});
    builder.node().op = "std.identity";
    builder.close().close();
  }
  builder.close();
  const Plan plan = builder.take();
  const auto pool = fixture::pool_of(3);
  std::string expected;
  for (u32 round = 0; round < rounds; ++round) {
    for (const LaunchMode launch : {LaunchMode::Adaptive, LaunchMode::Always}) {
      RunOptions options = {.pool = round % 2 == 0 ? pool.get() : nullptr, .launch = launch};
      const std::string told = fixture::outcome(plan, ops, Value(), options);
      if (expected.empty()) expected = told;
      REQUIRE(told == expected);
    }
  }
  CHECK(expected.find("loop2[2]/a21 in loop2[2]/a21") != expected.npos);
  CHECK(asked == rounds * 2 * 3 * 2 * 3 * 3);
  closing = true;
  clerk.join();
}

TEST_CASE("the first declared failure is the run's, and later branches' effects are not wanted") {
  Desk desk;
  StepOps ops;
  ops.step("ask", ask_once).effect("ask", desk);
  const Plan plan = steps_side_by_side(3, "ask");
  const auto pool = fixture::pool_of(3);
  for (Pool* used : {pool.get(), static_cast<Pool*>(nullptr)}) {
    auto run = Run::create(plan, ops, {.pool = used}).value();
    CHECK(run->start(Value(), nullptr).ok());
    std::thread clerk([&] {
      CHECK(desk.holds(3));
      std::vector<Effect*> all = desk.take();
      std::ranges::sort(all, {}, &Effect::key);
      CHECK(all[1]->fail(fail(Reason::run_input, "the second")));
      // Somebody must tell the third; the first is still wanted, whatever comes of it.
      const i64 deadline = now_ns() + 20 * fixture::second_ns;
      while (all[2]->is_wanted() && now_ns() < deadline) std::this_thread::yield();
      CHECK_FALSE(all[2]->is_wanted());
      CHECK(all[0]->is_wanted());
      CHECK(all[2]->complete(Value()));  // nobody hears it
      CHECK(all[0]->fail(fail(Reason::run_input, "the first")));
      for (Effect* effect : all) effect->release();
    });
    const Error error = run->finish().error();
    clerk.join();
    CHECK(error.id() == "run.node_failed");
    CHECK(error.message() == "node 's0' failed: effect 'ask': the first (run.input)");
  }
}

TEST_CASE("a run that waits is cancelled, and ends at its deadline") {
  Desk desk;
  StepOps ops;
  ops.step("ask", ask_once).effect("ask", desk);
  const auto pool = fixture::pool_of(2);
  for (const u32 branches : {1u, 3u}) {
    const Plan plan = steps_side_by_side(branches, "ask");
    for (Pool* used : {pool.get(), static_cast<Pool*>(nullptr)}) {
      auto run = Run::create(plan, ops, {.pool = used}).value();
      Cancel cancel;
      CHECK(run->start(Value(), &cancel).ok());
      std::thread other([&] {
        CHECK(desk.holds(branches));
        cancel.request();
      });
      CHECK(run->finish().error().id() == "cancelled");
      other.join();
      for (Effect* effect : desk.take()) {
        CHECK_FALSE(effect->is_wanted());
        end(effect);
      }
      Cancel late;
      late.set_deadline(now_ns() + fixture::second_ns / 20);
      CHECK(run->start(Value(), &late).ok());
      CHECK(run->finish().error().id() == "deadline");
      for (Effect* effect : desk.take()) end(effect);
    }
  }
}

TEST_CASE("an execution that is abandoned while it waits leaves nobody in the waves of the next") {
  Desk desk;
  StepOps ops;
  ops.step("ask", ask_once).effect("ask", desk);
  const auto pool = fixture::pool_of(2);
  const Plan plan = steps_side_by_side(3, "ask");
  for (Pool* used : {pool.get(), static_cast<Pool*>(nullptr)}) {
    auto run = Run::create(plan, ops, {.pool = used, .launch = LaunchMode::Always}).value();
    CHECK(run->start(Value(), nullptr).ok());
    for (u32 i = 0; i < 10; ++i) CHECK_FALSE(run->step(0));
    run->abandon();
    for (Effect* effect : desk.take()) end(effect);
    Cancel late;
    late.set_deadline(now_ns() + 20 * fixture::second_ns);
    CHECK(run->start(Value::integer(7), &late).ok());
    std::thread clerk([&desk] {
      if (!desk.holds(3)) return;
      for (Effect* effect : desk.take()) end(effect);
    });
    CHECK(fixture::told(run->finish()) == all_of(3, "7"));
    clerk.join();
  }
}

TEST_CASE("a run is thrown away while it waits") {
  Desk desk;
  StepOps ops;
  ops.step("ask", ask_once).effect("ask", desk);
  const auto pool = fixture::pool_of(2);
  const Plan plan = steps_side_by_side(3, "ask");
  for (Pool* used : {pool.get(), static_cast<Pool*>(nullptr)}) {
    auto run = Run::create(plan, ops, {.pool = used}).value();
    CHECK(run->start(Value(), nullptr).ok());
    for (u32 i = 0; i < 10; ++i) CHECK_FALSE(run->step(0));
    run.reset();
    for (Effect* effect : desk.take()) {
      CHECK_FALSE(effect->is_wanted());
      end(effect);
    }
  }
}

}  // namespace soma
