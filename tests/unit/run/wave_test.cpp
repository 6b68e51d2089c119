// Proves that branches which wait for each other meet, that a branch stays on its thread, that
// bounds hold, and that the caller can always finish alone.
#include <doctest/doctest.h>

#include <filesystem>

#include "unit/plan/plan_builder.hpp"
#include "unit/run/rendezvous.hpp"
#include "unit/sanitized.hpp"

namespace soma {

namespace {

using fixture::PlanBuilder;
using fixture::Rendezvous;

// first → (b0 | b1 | …, each a sequence of nodes) → last. Node i of branch b is "b.i".
Plan fan(u32 branches, u32 length, std::string_view op, bool waits = false) {
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("first");
  builder.node().op = "std.identity";
  builder.open(Variant::Parallel);
  PlanBuilder::Texts ends;
  for (u32 b = 0; b < branches; ++b) {
    builder.open(Variant::Sequence);
    for (u32 i = 0; i < length; ++i) {
      const std::string before = i == 0 ? "first" : text("{}/{}", b, i - 1);
      builder.execute(text("{}/{}", b, i), {before});
      builder.node().op = op;
      builder.node().waits = waits;
    }
    builder.close();
    ends.push_back(text("{}/{}", b, length - 1));
  }
  builder.close().execute("last", ends);
  builder.node().op = "std.identity";
  builder.close();
  return builder.take();
}

bool all_true(const std::string& outcome) {
  return outcome.find("true") != outcome.npos && outcome.find("false") == outcome.npos &&
         outcome.starts_with("{");
}

size_t threads_now() {
  size_t count = 0;
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  for ([[maybe_unused]] const auto& task : tasks) ++count;
  return count;
}

}  // namespace

TEST_CASE("branches declared as waiting meet, beyond the bound, again and again") {
  for (const u32 branches : {2u, 3u, 8u}) {
    for (const i32 threads : {1, 2, 4}) {
      for (const LaunchMode launch : {LaunchMode::Adaptive, LaunchMode::Always}) {
        Rendezvous meet(branches);
        fixture::TestOps ops;
        ops.function("meet", meet);
        const Plan plan = fan(branches, 1, "meet", true);
        const auto pool = fixture::pool_of(threads);
        auto run = Run::create(plan, ops, {.pool = pool.get(), .launch = launch}).value();
        for (u32 again = 0; again < 20; ++again) {
          meet.reset();
          CHECK(run->start(Value(), nullptr).ok());
          CHECK(all_true(fixture::told(run->finish())));
        }
      }
    }
  }
}

TEST_CASE("branches that wait although nobody said so are late, and meet") {
  for (const u32 branches : {2u, 3u, 5u}) {
    for (const LaunchMode launch : {LaunchMode::Adaptive, LaunchMode::Always}) {
      Rendezvous meet(branches);
      fixture::TestOps ops;
      ops.function("meet", meet);
      const auto pool = fixture::pool_of(2);
      const RunOptions options = {.pool = pool.get(), .launch = launch};
      CHECK(all_true(fixture::outcome(fan(branches, 1, "meet"), ops, Value(), options)));
    }
  }
}

TEST_CASE("branches that ask again and again for what another one does, get it in the end") {
  std::atomic<bool> is_there{false};
  auto ask = [&is_there](NodeCall& call) -> Status {
    call.output() = Value::boolean(is_there.load());
    return {};
  };
  auto pause = [](NodeCall&) -> Status {
    std::this_thread::yield();
    return {};
  };
  auto bring = [&is_there](NodeCall&) -> Status {
    is_there.store(true);
    return {};
  };
  fixture::TestOps ops;
  ops.function("ask", ask).function("pause", pause).function("bring", bring);
  PlanBuilder builder;
  builder.open(Variant::Parallel);
  for (const std::string id : {"a", "b"}) {
    builder.loop(id, 0, id + "_ask", "").open(Variant::Sequence);
    builder.execute(id + "_ask").node().op = "ask";
    builder.execute(id + "_pause").node().op = "pause";
    builder.close().close();
  }
  builder.execute("bring").close();
  const Plan plan = builder.take();
  const auto pool = fixture::pool_of(2);   // both are busy asking
  auto run = Run::create(plan, ops, {.pool = pool.get()}).value();
  CHECK(run->start(Value(), nullptr).ok());
  CHECK(run->finish().ok());
}

TEST_CASE("nodes that wait, deep within branches of branches") {
  Rendezvous meet(4);
  fixture::TestOps ops;
  ops.function("meet", meet);
  PlanBuilder builder;
  builder.open(Variant::Parallel);
  for (const std::string_view outer : {"a", "b"}) {
    builder.open(Variant::Sequence).execute(text("{}", outer)).node().op = "std.identity";
    builder.open(Variant::Parallel);
    for (const std::string_view inner : {"x", "y"}) {
      builder.execute(text("{}{}", outer, inner)).node().op = "meet";
    }
    builder.close().close();
  }
  builder.close();
  Plan plan = builder.take();
  const auto pool = fixture::pool_of(2);
  SUBCASE("said") {
    for (PlanNode& node : plan.nodes) node.waits = node.op == "meet";
    CHECK(all_true(fixture::outcome(plan, ops, Value(), {.pool = pool.get()})));
  }
  SUBCASE("not said") {
    CHECK(all_true(fixture::outcome(plan, ops, Value(), {.pool = pool.get()})));
  }
  SUBCASE("in a loop's passes") {
    PlanBuilder looped;
    looped.loop("loop", 5, "", "").open(Variant::Parallel);
    looped.execute("x").node().op = "meet";
    looped.execute("y").node().op = "meet";
    looped.close().close();
    Plan passes = looped.take();
    for (PlanNode& node : passes.nodes) node.waits = true;
    Rendezvous meet_two(2);
    fixture::TestOps others;
    others.function("meet", meet_two);
    CHECK(fixture::outcome(passes, others, Value(), {.pool = pool.get()}) == "null");
  }
}

TEST_CASE("a branch stays on its thread, and each has one of its own") {
  for (const bool waits : {false, true}) {
    fixture::Threads threads;
    fixture::TestOps ops;
    ops.function("note", threads);
    const auto pool = fixture::pool_of(3);
    const RunOptions options = {.pool = pool.get(),
                                .launch = waits ? LaunchMode::Adaptive : LaunchMode::Always};
    Plan plan = fan(3, 4, "note", waits);
    plan.nodes.front().op = plan.nodes.back().op = "note";
    auto run = Run::create(plan, ops, options).value();
    for (u32 again = 0; again < 50; ++again) {
      CHECK(run->start(Value(), nullptr).ok());
      CHECK(run->finish().ok());
      CHECK(threads.different() == 3);
      for (u32 b = 0; b < 3; ++b) {
        for (u32 i = 1; i < 4; ++i) {
          CHECK(threads.of(text("{}/{}", b, i)) == threads.of(text("{}/0", b)));
        }
      }
      CHECK(threads.of("first") == std::this_thread::get_id());
      CHECK(threads.of("last") == std::this_thread::get_id());
    }
  }
}

TEST_CASE("no more branches at once than the bound") {
  for (const i32 bound : {1, 2, 3}) {
    std::atomic<i32> inside{0}, most{0};
    auto work = [&](NodeCall&) -> Status {
      const i32 now = inside.fetch_add(1) + 1;
      i32 before = most.load();
      while (now > before && !most.compare_exchange_weak(before, now)) {
      }
      const i64 end = now_ns() + 200'000;
      while (now_ns() < end) std::this_thread::yield();
      inside.fetch_sub(1);
      return {};
    };
    fixture::TestOps ops;
    ops.function("work", work);
    const auto pool = fixture::pool_of(8);
    const Plan plan = fan(20, 1, "work");
    const RunOptions options = {.pool = pool.get(), .threads = bound, .launch = LaunchMode::Always};
    auto run = Run::create(plan, ops, options).value();
    // Where no branch ends for 10 ms, as the machine is busy with other things, one more is let in:
    // only shorter runs are bound for sure.
    u32 short_runs = 0;
    for (u32 again = 0; again < 200 && short_runs < 5; ++again) {
      most = 0;
      const i64 begun_ns = now_ns();
      CHECK(run->start(Value(), nullptr).ok());
      CHECK(run->finish().ok());
      if (now_ns() - begun_ns > 10'000'000) continue;
      ++short_runs;
      CHECK(most.load() <= bound);
    }
    CHECK((short_runs > 0 || fixture::is_sanitized));
  }
}

TEST_CASE("no thread is made where nothing is parallel") {
  const size_t before = threads_now();
  const fixture::TestOps ops;
  const auto pool = fixture::pool_of(8);
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("a").execute("b", {"a"}).close();
  Plan plan = builder.take();
  for (PlanNode& node : plan.nodes) node.op = "std.identity";
  for (const LaunchMode launch : {LaunchMode::Adaptive, LaunchMode::Always}) {
    CHECK(fixture::outcome(plan, ops, Value::integer(1), {.pool = pool.get(), .launch = launch}) ==
          "1");
  }
  CHECK(threads_now() == before);
}

TEST_CASE("nodes of the caller's run on the caller's thread, whatever else there is") {
  for (const LaunchMode launch : {LaunchMode::Adaptive, LaunchMode::Always}) {
    fixture::Threads own, others;
    fixture::TestOps ops;
    ops.function("others", others);
    NodeOp op;
    op.name = "own";
    op.user = &own;
    op.caller_only = true;
    op.forward = [](void* user, NodeCall& call) -> Status {
      return (*static_cast<fixture::Threads*>(user))(call);
    };
    REQUIRE(ops.add(std::move(op)).ok());
    const auto pool = fixture::pool_of(4);
    Plan plan = fan(6, 3, "others");
    for (PlanNode& node : plan.nodes) {
      if (node.id.view().ends_with("/1") && node.id.view()[0] % 2 == 0) node.op = "own";
    }
    auto run = Run::create(plan, ops, {.pool = pool.get(), .launch = launch}).value();
    for (u32 again = 0; again < 50; ++again) {
      CHECK(run->start(Value(), nullptr).ok());
      CHECK(run->finish().ok());
      CHECK(own.different() == 1);
      CHECK(own.of("0/1") == std::this_thread::get_id());
    }
  }
}

TEST_CASE("what can't run at the same time is refused before the run") {
  Rendezvous meet(2);
  fixture::TestOps ops;
  ops.function("meet", meet);
  NodeOp own;
  own.name = "own";
  own.caller_only = true;
  own.forward = [](void*, NodeCall&) -> Status { return {}; };
  REQUIRE(ops.add(std::move(own)).ok());
  const auto pool = fixture::pool_of(2);
  const Plan waiting = fan(2, 1, "meet", true);
  CHECK(fixture::outcome(waiting, ops, Value())
            .starts_with("run.threads: branches that may wait for each other need 2 threads"));
  Plan both = fan(2, 2, "meet", true);
  for (PlanNode& node : both.nodes) {
    if (node.id.view().ends_with("/1")) node.op = "own";
  }
  CHECK(fixture::outcome(both, ops, Value(), {.pool = pool.get()})
            .starts_with("run.threads: the branches from '0/0' and from '1/0' may wait"));
}

TEST_CASE("one branch of the caller's that waits for another") {
  Rendezvous meet(2);
  fixture::TestOps ops;
  ops.function("meet", meet);
  NodeOp own;
  own.name = "own";
  own.user = &meet;
  own.caller_only = true;
  own.waits = true;
  own.forward = [](void* user, NodeCall& call) -> Status {
    return (*static_cast<Rendezvous*>(user))(call);
  };
  REQUIRE(ops.add(std::move(own)).ok());
  Plan plan = fan(2, 1, "meet");
  plan.nodes[2].op = "own";
  const auto pool = fixture::pool_of(1);
  CHECK(all_true(fixture::outcome(plan, ops, Value(), {.pool = pool.get()})));
}

TEST_CASE("a host's threads instead of ours") {
  struct Host {
    std::mutex mutex;
    std::vector<std::thread> threads;
    static void submit(void* user, void (*task)(void*), void* argument) {
      auto* host = static_cast<Host*>(user);
      const std::lock_guard lock(host->mutex);
      host->threads.emplace_back(task, argument);
    }
    ~Host() {
      for (std::thread& thread : threads) thread.join();
    }
  } host;
  Pool::Host table;
  table.user = &host;
  table.submit = Host::submit;
  table.parallelism = 2;
  const auto pool = Pool::create(table).value();
  for (const u32 branches : {2u, 3u}) {
    Rendezvous meet(branches);
    fixture::TestOps ops;
    ops.function("meet", meet);
    for (u32 again = 0; again < 10; ++again) {
      meet.reset();
      CHECK(all_true(fixture::outcome(fan(branches, 1, "meet", true), ops, Value(),
                                      {.pool = pool.get()})));
    }
  }
  Rendezvous never(4);
  fixture::TestOps ops;
  ops.function("meet", never);
  CHECK(fixture::outcome(fan(4, 1, "meet", true), ops, Value(), {.pool = pool.get()})
            .starts_with("run.threads: branches that may wait for each other need 4 threads at the "
                         "same time, and there can be 3"));
}

TEST_CASE("a part that is no wave of waves overlaps where its edges allow it") {
  // a → c, a → d, b → d: a and b meet, then c and d.
  for (const bool waits : {true, false}) {
    Rendezvous first(2), second(2);
    fixture::TestOps ops;
    ops.function("first", first).function("second", second);
    PlanBuilder builder;
    builder.dataflow({{}, {}, {0}, {0, 1}});
    builder.execute("a").node().op = "first";
    builder.execute("b").node().op = "first";
    builder.execute("c", {"a"}).node().op = "second";
    builder.execute("d", {"a", "b"}).node().op = "second";
    builder.close();
    Plan plan = builder.take();
    for (PlanNode& node : plan.nodes) node.waits = waits;
    const auto pool = fixture::pool_of(2);
    CHECK(all_true(fixture::outcome(plan, ops, Value(), {.pool = pool.get()})));
  }
}

TEST_CASE("a host that drives piece by piece still gets branches that wait for each other") {
  Rendezvous meet(3);
  fixture::TestOps ops;
  ops.function("meet", meet);
  const auto pool = fixture::pool_of(1);
  const Plan plan = fan(3, 1, "meet", true);
  auto run = Run::create(plan, ops, {.pool = pool.get()}).value();
  CHECK(run->start(Value(), nullptr).ok());
  while (!run->step(1000)) {
  }
  CHECK(all_true(fixture::told(run->finish())));
}

TEST_CASE("cancelled while branches are at work, from another thread") {
  for (const LaunchMode launch : {LaunchMode::Adaptive, LaunchMode::Always}) {
    Cancel cancel;
    std::atomic<u32> begun{0};
    auto wait = [&](NodeCall& call) -> Status {
      if (begun.fetch_add(1) + 1 == 2) cancel.request();
      while (call.check().ok()) std::this_thread::yield();
      return call.check();
    };
    fixture::TestOps ops;
    ops.function("wait", wait);
    const auto pool = fixture::pool_of(2);
    const Plan plan = fan(2, 1, "wait");
    const std::string outcome = fixture::outcome(
        plan, ops, Value(), {.pool = pool.get(), .launch = launch}, &cancel);
    CHECK(outcome == "cancelled: the caller asked to stop");
  }
}

TEST_CASE("a run may go in the middle of it") {
  fixture::Signal begun;
  std::atomic<bool> ended{false};
  auto wait = [&](NodeCall& call) -> Status {
    begun.set();
    while (call.check().ok()) std::this_thread::yield();
    ended = true;
    return {};
  };
  auto look = [&](NodeCall&) -> Status {
    begun.wait();
    return {};
  };
  fixture::TestOps ops;
  ops.function("wait", wait).function("look", look);
  const auto pool = fixture::pool_of(2);
  Plan plan = fan(2, 1, "wait", true);
  plan.nodes[1].op = "look";
  plan.nodes[1].waits = false;
  auto run = Run::create(plan, ops, {.pool = pool.get()}).value();
  CHECK(run->start(Value(), nullptr).ok());
  CHECK_FALSE(run->step(0));  // first
  CHECK_FALSE(run->step(0));  // look
  run.reset();
  CHECK(ended);
}

TEST_CASE("a wave of a hundred thousand branches, all of them at work") {
  auto square = [](NodeCall& call) -> Status {
    call.output() = Value::integer(call.index() * i64{call.index()});
    return {};
  };
  auto sum = [](NodeCall& call) -> Status {
    i64 all = 0;
    for (const Member& member : call.input().map()) all += member.value.integer();
    call.output() = Value::integer(all);
    return {};
  };
  fixture::TestOps ops;
  ops.function("square", square).function("sum", sum);
  Plan plan = fan(100'000, 1, "square");
  plan.nodes.back().op = "sum";
  i64 expected = 0;
  for (i64 i = 1; i <= 100'000; ++i) expected += i * i;
  const auto pool = fixture::pool_of(4);
  for (const LaunchMode launch : {LaunchMode::Adaptive, LaunchMode::Always}) {
    auto run = Run::create(plan, ops, {.pool = pool.get(), .launch = launch}).value();
    for (u32 again = 0; again < 3; ++again) {
      CHECK(run->start(Value(), nullptr).ok());
      CHECK(run->finish().value() == Value::integer(expected));
    }
  }
}

}  // namespace soma
