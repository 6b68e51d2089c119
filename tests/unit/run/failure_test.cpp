// Proves that which error a run ends with does not depend on the clock, and that a failing branch
// stops those behind it and no other.
#include <doctest/doctest.h>

#include "unit/plan/plan_builder.hpp"
#include "unit/run/rendezvous.hpp"

namespace soma {

namespace {

using fixture::PlanBuilder;

// Branches of one node each; their ops are their ids.
Plan wave(const PlanBuilder::Texts& ids, bool waits) {
  PlanBuilder builder;
  builder.open(Variant::Parallel);
  for (const std::string& id : ids) {
    builder.execute(id);
    builder.node().waits = waits;
  }
  builder.close();
  return builder.take();
}

// Says when a node has failed.
struct Failures {
  const Plan& plan;
  std::string_view id;
  fixture::Signal failed;
  static void notify(void* user, const Event& event) {
    auto* self = static_cast<Failures*>(user);
    if (event.kind == Event::Kind::NodeFailed && self->plan.nodes[event.node].id == self->id) {
      self->failed.set();
    }
  }
};

}  // namespace

TEST_CASE("the first declared failure is the run's, though it provably comes last") {
  for (const LaunchMode launch : {LaunchMode::Adaptive, LaunchMode::Always}) {
    for (const std::string_view late : {"a", "b"}) {
      const Plan plan = wave({"a", "b"}, true);
      Failures failures{plan, late == "a" ? "b" : "a", {}};
      auto fails = [&](NodeCall& call) -> Status {
        if (call.node().id == late && !failures.failed.wait()) {
          return fail(Reason::internal, "the other did not fail");
        }
        return fail(Reason::run_input, "no");
      };
      fixture::TestOps ops;
      ops.function("a", fails).function("b", fails);
      const auto pool = fixture::pool_of(2);
      RunOptions options = {.pool = pool.get(), .launch = launch};
      options.observer = {Failures::notify, &failures};
      auto run = Run::create(plan, ops, options).value();
      for (u32 again = 0; again < 500; ++again) {
        failures.failed.reset();
        REQUIRE(run->start(Value(), nullptr).ok());
        const std::string outcome = fixture::told(run->finish());
        if (late == "a") {
          REQUIRE(outcome == "run.node_failed: node 'a' failed: no (run.input)");
        } else {
          REQUIRE(outcome == "run.node_failed: node 'a' failed: no (run.input)");
        }
      }
    }
  }
}

TEST_CASE("an exception ranks like an error") {
  const Plan plan = wave({"throws", "fails"}, true);
  Failures failures{plan, "fails", {}};
  auto throws = [&](NodeCall&) -> Status {
    if (!failures.failed.wait()) return fail(Reason::internal, "the other did not fail");
    throw std::runtime_error("last, and first");
  };
  auto fails = [](NodeCall&) -> Status { return fail(Reason::run_input, "no"); };
  fixture::TestOps ops;
  ops.function("throws", throws).function("fails", fails);
  const auto pool = fixture::pool_of(2);
  RunOptions options = {.pool = pool.get()};
  options.observer = {Failures::notify, &failures};
  CHECK(fixture::outcome(plan, ops, Value(), options) ==
        "run.exception: node 'throws' ended with an exception: 'last, and first'");
}

TEST_CASE("an exception behind branches that were walked through, in a part opened meanwhile") {
  // One thread walks through a and b; its call of c throws once another has begun d.
  fixture::Signal begun;
  auto pass = [](NodeCall&) -> Status { return {}; };
  auto burst = [&begun](NodeCall&) -> Status {
    if (!begun.wait()) return fail(Reason::internal, "nobody has come");
    throw std::runtime_error("burst");
  };
  auto come = [&begun](NodeCall&) -> Status {
    begun.set();
    return {};
  };
  fixture::TestOps ops;
  ops.function("pass", pass).function("burst", burst).function("come", come);
  for (const bool is_dataflow : {false, true}) {
    PlanBuilder builder;
    if (is_dataflow) builder.dataflow({{}, {}, {}, {}});
    else builder.open(Variant::Parallel);
    for (const auto& [id, op] : {std::pair("a", "pass"), {"b", "pass"}, {"c", "burst"},
                                 {"d", "come"}}) {
      builder.execute(id).node().op = op;
    }
    builder.close();
    const Plan plan = builder.take();
    const auto pool = fixture::pool_of(2);
    const auto run = Run::create(plan, ops, {.pool = pool.get()}).value();
    for (u32 again = 0; again < 3; ++again) {  // the first two are measured, node by node
      begun.reset();
      REQUIRE(run->start(Value(), nullptr).ok());
      CHECK(fixture::told(run->finish()) ==
            "run.exception: node 'c' ended with an exception: 'burst'");
    }
  }
}

TEST_CASE("a failure stops later branches, in the middle of a call and between two nodes") {
  for (const bool in_call : {true, false}) {
    fixture::Signal begun;
    auto fails = [&](NodeCall&) -> Status {
      if (!begun.wait()) return fail(Reason::internal, "the other did not begin");
      return fail(Reason::run_input, "no");
    };
    auto goes_on = [&](NodeCall& call) -> Status {
      begun.set();
      while (in_call && call.check().ok()) std::this_thread::yield();
      call.output() = Value::boolean(false);
      return {};
    };
    fixture::TestOps ops;
    ops.function("fails", fails).function("goes_on", goes_on);
    PlanBuilder builder;
    builder.open(Variant::Parallel).execute("fails");
    builder.node().waits = true;
    builder.loop("loop", 0, "goes_on", "").execute("goes_on");  // for ever
    builder.node().waits = true;
    builder.close().close();
    const auto pool = fixture::pool_of(2);
    CHECK(fixture::outcome(builder.take(), ops, Value(), {.pool = pool.get()}) ==
          "run.node_failed: node 'fails' failed: no (run.input)");
  }
}

TEST_CASE("a failure lets earlier branches run to their own end") {
  fixture::Signal failed;
  const Plan plan = [] {
    PlanBuilder builder;
    builder.open(Variant::Parallel).open(Variant::Sequence).execute("waits");
    builder.node().waits = true;
    builder.execute("ends", {"waits"}).close().execute("fails");
    builder.node().waits = true;
    builder.close();
    return builder.take();
  }();
  Failures failures{plan, "fails", {}};
  bool did_end = false;
  auto waits = [&](NodeCall& call) -> Status {
    if (!failures.failed.wait()) return fail(Reason::internal, "the other did not fail");
    return call.check();
  };
  auto ends = [&](NodeCall&) -> Status {
    did_end = true;
    return {};
  };
  auto fails = [](NodeCall&) -> Status { return fail(Reason::run_input, "no"); };
  fixture::TestOps ops;
  ops.function("waits", waits).function("ends", ends).function("fails", fails);
  const auto pool = fixture::pool_of(2);
  RunOptions options = {.pool = pool.get()};
  options.observer = {Failures::notify, &failures};
  CHECK(fixture::outcome(plan, ops, Value(), options) ==
        "run.node_failed: node 'fails' failed: no (run.input)");
  CHECK(did_end);
}

TEST_CASE("failures in waves within waves") {
  // outer [ a [ a0, a1 ], b ]: b fails first, then a1, then a0: a0's it is.
  PlanBuilder builder;
  builder.open(Variant::Parallel).open(Variant::Sequence).execute("a");
  builder.open(Variant::Parallel);
  for (const std::string id : {"a0", "a1"}) {
    builder.execute(id, {"a"});
    builder.node().waits = true;
  }
  builder.close().close().execute("b");
  builder.node().waits = true;
  builder.close();
  const Plan plan = builder.take();
  Failures b{plan, "b", {}}, a1{plan, "a1", {}};
  struct Both {
    Failures &b, &a1;
  } both{b, a1};
  auto after = [](fixture::Signal* signal) -> Status {
    if (signal && !signal->wait()) return fail(Reason::internal, "the other did not fail");
    return fail(Reason::run_input, "no");
  };
  auto run_a = [](NodeCall&) -> Status { return {}; };
  auto run_a0 = [&](NodeCall&) -> Status { return after(&a1.failed); };
  auto run_a1 = [&](NodeCall&) -> Status { return after(&b.failed); };
  auto run_b = [&](NodeCall&) -> Status { return after(nullptr); };
  fixture::TestOps ops;
  ops.function("a", run_a).function("a0", run_a0).function("a1", run_a1).function("b", run_b);
  const auto pool = fixture::pool_of(3);
  RunOptions options = {.pool = pool.get()};
  options.observer = {[](void* user, const Event& event) {
                        auto* self = static_cast<Both*>(user);
                        Failures::notify(&self->b, event);
                        Failures::notify(&self->a1, event);
                      },
                      &both};
  auto run = Run::create(plan, ops, options).value();
  for (u32 again = 0; again < 200; ++again) {
    b.failed.reset();
    a1.failed.reset();
    REQUIRE(run->start(Value(), nullptr).ok());
    REQUIRE(fixture::told(run->finish()) == "run.node_failed: node 'a0' failed: no (run.input)");
  }
}

TEST_CASE("a node that was told to stop counts no more, whatever it returns") {
  fixture::Signal begun;
  bool yields = true;
  auto until_told = [&](NodeCall& call) -> Status {
    begun.set();
    const i64 limit = now_ns() + 20 * fixture::second_ns;
    while (call.check().ok() && now_ns() < limit) std::this_thread::yield();
    call.output() = Value::text("half");
    if (yields) return {};
    return fail(Reason::run_input, "it was told to stop");
  };
  fixture::TestOps ops;
  ops.function("until_told", until_told);
  PlanBuilder builder;
  builder.execute("last").node().op = "until_told";
  const Plan plan = builder.take();
  for (const bool by_deadline : {false, true}) {
    for (const bool with_result : {true, false}) {
      yields = with_result;
      begun.reset();
      Cancel cancel;
      auto run = Run::create(plan, ops, {}).value();
      CHECK(run->start(Value(), &cancel).ok());
      std::thread other([&] {
        CHECK(begun.wait());
        if (by_deadline) {
          cancel.set_deadline(now_ns() + 1'000'000);
        } else {
          cancel.request();
        }
      });
      const Error error = run->finish().error();
      other.join();
      CHECK(error.id() == (by_deadline ? "deadline" : "cancelled"));
    }
  }
}

TEST_CASE("a deadline that is set while a run goes on is kept, one that is taken back is not") {
  for (const bool keeps : {true, false}) {
    Cancel cancel;
    auto sets = [&](NodeCall&) -> Status {
      cancel.set_deadline(keeps ? now_ns() : now_ns() + 3600 * fixture::second_ns);
      if (!keeps) cancel.set_deadline(0);
      return {};
    };
    u32 called = 0;
    auto counts = [&](NodeCall&) -> Status {
      ++called;
      return {};
    };
    fixture::TestOps ops;
    ops.function("sets", sets).function("counts", counts);
    PlanBuilder builder;
    builder.open(Variant::Sequence).execute("sets");
    builder.execute("a").node().op = "counts";
    builder.execute("b").node().op = "counts";
    builder.close();
    const std::string told = fixture::outcome(builder.take(), ops, Value(), {}, &cancel);
    if (keeps) {
      CHECK(told.starts_with("deadline: "));
    } else {
      CHECK(told.starts_with("{"));
    }
    CHECK(called == (keeps ? 0 : 2));
  }
}

TEST_CASE("without threads for all that wait for each other, none of them begins") {
  struct Host {
    std::vector<std::pair<void (*)(void*), void*>> tasks;
  } host;
  Pool::Host table;
  table.user = &host;
  table.parallelism = 2;
  table.submit = [](void* user, void (*task)(void*), void* argument) {
    static_cast<Host*>(user)->tasks.push_back({task, argument});
  };
  const auto pool = Pool::create(table).value();
  Pool::Work nothing;
  nothing.help = [](void*) { return false; };
  nothing.serve = [](void*) {};
  Pool::Job* others = pool->employ(nothing);
  pool->open(others);
  CHECK(pool->summon(others, 1, Pool::Summon::AllOrNone) == 1);  // one of the host's two

  u32 called = 0;
  auto counts = [&](NodeCall&) -> Status {
    ++called;
    return {};
  };
  fixture::TestOps ops;
  for (const char* id : {"a", "b", "c"}) ops.function(id, counts);
  const std::string told = fixture::outcome(wave({"a", "b", "c"}, true), ops, Value(),
                                            {.pool = pool.get()});
  CHECK(told.starts_with("run.threads: "));
  CHECK(called == 0);
  pool->close(others);
  for (const auto& [task, argument] : host.tasks) task(argument);
}

}  // namespace soma
