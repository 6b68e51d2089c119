// Proves that steps begin other steps, wait for all or for the first of them, and that which of
// them fails or comes first does not change when a run is resumed.
#include "journal/memory_store.hpp"
#include "unit/run/rendezvous.hpp"
#include "unit/run/step_ops.hpp"

namespace soma {

namespace {

using fixture::Desk;
using fixture::PlanBuilder;
using fixture::StepOps;
using fixture::told;

ChildRequest child(std::string label, std::string op, Value input = {}) {
  ChildRequest request;
  request.label = std::move(label);
  request.op = std::move(op);
  request.input = std::move(input);
  return request;
}

// Begins these, and yields what they did.
struct Parent {
  std::vector<ChildRequest> children;
  ChildJoin join = ChildJoin::All;
  Status operator()(StepCall& call) const {
    if (call.turn() == 0) {
      call.spawn(children, join);
    } else {
      const std::span<const Value> results = call.results();
      call.done(Value::list({results.begin(), results.end()}));
    }
    return {};
  }
};

Plan one_step(const std::string& op) {
  PlanBuilder builder;
  builder.step("p", {}).node().op = op;
  return builder.close().take();
}

struct Echo {
  Status operator()(StepCall& call) const {
    if (call.turn() == 0) call.await({{"ask", call.input()}});
    else call.done(Value::text(text("{} of {}", call.results()[0].text(), call.path())));
    return {};
  }
} echo;

}  // namespace

TEST_CASE("children wait at the same time, and yield in the order in which they were begun") {
  Desk desk;
  StepOps ops;
  Parent parent{{child("a", "echo", Value::text("x")), child("b", "echo", Value::text("y"))}};
  ops.step("parent", parent).step("echo", echo).effect("ask", desk);
  const Plan plan = one_step("parent");
  auto run = Run::create(plan, ops, {}).value();
  CHECK(run->start(Value(), nullptr).ok());
  CHECK_FALSE(run->step(0));
  std::vector<Effect*> both = desk.take();
  REQUIRE(both.size() == 2);
  CHECK(both[1]->key().ends_with(":p/b#0.0"));
  for (const size_t i : {size_t{1}, size_t{0}}) {
    both[i]->complete(both[i]->payload());
    both[i]->release();
    if (i == 1) CHECK_FALSE(run->step(0));
  }
  CHECK(told(run->finish()) == R"(["x of p/a","y of p/b"])");
}

TEST_CASE("children have settings, turns and children of their own") {
  auto deep = [](StepCall& call) -> Status {
    const i64 left = call.input().integer();
    if (call.turn() > 0 || left == 0) {
      call.done(left == 0 ? Value::text(call.path()) : call.results()[0]);
    } else {
      call.spawn({child("c", "deep", Value::integer(left - 1))}, ChildJoin::All);
    }
    return {};
  };
  auto patient = [](StepCall& call) -> Status {
    call.await({{"now", call.node().config()}});
    return {};
  };
  auto now = [](Effect& effect) { effect.complete(effect.payload()); };
  ChildRequest limited = child("c", "patient");
  limited.config = Value::integer(3);
  limited.max_turns = 2;
  Parent parent{{limited}};
  StepOps ops;
  ops.step("deep", deep).step("patient", patient).step("parent", parent).effect("now", now);
  const Plan plan = one_step("deep");
  CHECK(fixture::outcome(plan, ops, Value::integer(0)) == "\"p\"");
  CHECK(fixture::outcome(plan, ops, Value::integer(8)) == "\"p/c/c/c/c/c/c/c/c\"");
  CHECK(fixture::outcome(plan, ops, Value::integer(9)).ends_with("(step.child)"));
  CHECK(fixture::outcome(one_step("parent"), ops, Value()) ==
        "run.node_failed: node 'p' failed: child 'c': it has not ended in 2 turns: raise "
        "max_turns, if it needs more (step.turns)");
}

TEST_CASE("what may not be a child is named, all at once") {
  auto function = [](NodeCall&) -> Status { return {}; };
  auto leave = [](StepCall& call) -> Status {
    call.hand_over("x", Value());
    return {};
  };
  StepOps ops;
  Parent bad{{child("a", "echo"), child("a", "echo"), child("b/c", "echo"), child("d", "nobody"),
              child("e", "function")}};
  Parent none, leaving{{child("a", "leave")}};
  ops.step("bad", bad).step("none", none).step("leaving", leaving).step("echo", echo);
  ops.step("leave", leave).function("function", function);
  const auto run = [&](const std::string& op) {
    const Plan plan = one_step(op);
    auto made = Run::create(plan, ops, {}).value();
    CHECK(made->start(Value(), nullptr).ok());
    return made->finish().error();
  };
  const Error error = run("bad");
  REQUIRE(error.others().size() == 1);
  CHECK(error.others()[0].id() == "step.child");
  CHECK(error.message().find("'a'") != std::string::npos);
  CHECK(run("none").message().ends_with("(step.no_effects)"));
  CHECK(run("leaving").message().find("it hands over to 'x'") != std::string::npos);
}

TEST_CASE("the first declared failure is the step's, and stops those declared later only") {
  Desk desk;
  StepOps ops;
  Parent parent{{child("a", "echo"), child("b", "echo"), child("c", "echo")}};
  ops.step("parent", parent).step("echo", echo).effect("ask", desk);
  const Plan plan = one_step("parent");
  auto run = Run::create(plan, ops, {}).value();
  CHECK(run->start(Value(), nullptr).ok());
  CHECK_FALSE(run->step(0));
  std::vector<Effect*> all = desk.take();
  REQUIRE(all.size() == 3);
  CHECK(all[1]->fail(fail(Reason::run_input, "the second")));
  CHECK_FALSE(run->step(0));
  CHECK(all[0]->is_wanted());
  CHECK_FALSE(all[2]->is_wanted());
  CHECK(all[0]->fail(fail(Reason::run_input, "the first")));
  CHECK(told(run->finish()) ==
        "run.node_failed: node 'p' failed: child 'a': effect 'ask': the first (run.input)");
  for (Effect* effect : all) effect->release();
}

TEST_CASE("the first that yields is chosen, for good") {
  Desk desk;
  StepOps ops;
  Parent parent{{child("a", "echo", Value::text("x")), child("b", "echo", Value::text("y"))},
                ChildJoin::First};
  ops.step("parent", parent).step("echo", echo).effect("ask", desk);
  const Plan plan = one_step("parent");
  JournalMemory memory;
  const RunIdentity identity = {"r", "p", "i"};
  const std::string expected = R"([{"child":"b","value":"y of p/b"}])";
  for (u32 round = 0; round < 2; ++round) {
    const auto journal = Journal::open(memory.open().value(), identity).value();
    auto run = Run::create(plan, ops, {}).value();
    CHECK(run->start(Value(), nullptr, journal.get()).ok());
    std::thread clerk([&] {
      if (round > 0 || !desk.holds(2)) return;
      std::vector<Effect*> both = desk.take();
      both[1]->complete(both[1]->payload());
      const i64 deadline = now_ns() + 20 * fixture::second_ns;
      while (both[0]->is_wanted() && now_ns() < deadline) std::this_thread::yield();
      CHECK_FALSE(both[0]->is_wanted());
      for (Effect* effect : both) effect->release();
    });
    CHECK(told(run->finish()) == expected);
    clerk.join();
    CHECK(desk.size() == 0);
  }
}

TEST_CASE("first: failures count only if all fail, and then the first declared one") {
  Desk desk;
  StepOps ops;
  Parent parent{{child("a", "echo"), child("b", "echo")}, ChildJoin::First};
  ops.step("parent", parent).step("echo", echo).effect("ask", desk);
  const Plan plan = one_step("parent");
  for (const bool one_is_good : {true, false}) {
    auto run = Run::create(plan, ops, {}).value();
    CHECK(run->start(Value(), nullptr).ok());
    CHECK_FALSE(run->step(0));
    std::vector<Effect*> both = desk.take();
    REQUIRE(both.size() == 2);
    CHECK(both[0]->fail(fail(Reason::run_input, "the first")));
    CHECK_FALSE(run->step(0));
    if (one_is_good) CHECK(both[1]->complete(Value::text("y")));
    else CHECK(both[1]->fail(fail(Reason::run_input, "the second")));
    const std::string outcome = told(run->finish());
    if (one_is_good) CHECK(outcome == R"([{"child":"b","value":"y of p/b"}])");
    else CHECK(outcome.find("child 'a': effect 'ask': the first") != outcome.npos);
    for (Effect* effect : both) effect->release();
  }
}

TEST_CASE("a child that waits for an answer suspends its parent, once the others are done") {
  auto human = [](StepCall& call) -> Status {
    if (call.turn() == 0) call.suspend(Value::text("well?"));
    else call.done(call.results()[0]);
    return {};
  };
  u32 asked = 0;
  auto now = [&](Effect& effect) {
    ++asked;
    effect.complete(effect.payload());
  };
  Parent parent{{child("a", "human"), child("b", "echo", Value::text("y"))}};
  StepOps ops;
  ops.step("parent", parent).step("echo", echo).step("human", human).effect("ask", now);
  const Plan plan = one_step("parent");
  JournalMemory memory;
  const auto next = [&] {
    const auto journal = Journal::open(memory.open().value(), {"r", "p", "i"}).value();
    auto run = Run::create(plan, ops, {}).value();
    CHECK(run->start(Value(), nullptr, journal.get()).ok());
    return told(run->finish());
  };
  CHECK(next().starts_with("run.suspended: 'p/a' waits for an answer (turn 0): '\"well?\"'"));
  CHECK(asked == 1);
  {
    const auto journal = Journal::open(memory.open().value()).value();
    CHECK(journal->append({answer_record({"p/a", 0, 0}, Value::integer(1)).value()}).ok());
  }
  CHECK(next() == R"([1,"y of p/b"])");
  CHECK(asked == 1);
}

}  // namespace soma
