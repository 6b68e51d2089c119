// Proves that a run with a journal does nothing twice and loses nothing, wherever it breaks off;
// that it waits for answers; and that what is asked differently the next time is refused.
#include <algorithm>
#include <map>

#include "journal/memory_store.hpp"
#include "unit/run/rendezvous.hpp"
#include "unit/run/step_ops.hpp"
#include "unit/sanitized.hpp"

namespace soma {

namespace {

using fixture::AskOnce;
using fixture::Desk;
using fixture::PlanBuilder;
using fixture::StepOps;
using fixture::told;

const RunIdentity identity = {"nightly", "plan", "input"};

// The disk breaks at one append: before it wrote anything, or right after.
struct Break {
  u64 at = ~u64{0};
  bool wrote = false;
};

class BreakingStore final : public JournalStore {
 public:
  BreakingStore(std::unique_ptr<JournalStore> inner, Break where, u64& appends)
      : inner_(std::move(inner)), where_(where), appends_(appends) {}
  Result<std::optional<RunIdentity>> identity() override { return inner_->identity(); }
  Status bind(const RunIdentity& identity) override { return inner_->bind(identity); }
  Status load(Take take, void* user) override { return inner_->load(take, user); }
  Status append(std::span<const Record> records) override {
    if (appends_++ != where_.at) return inner_->append(records);
    if (where_.wrote) SOMA_TRY(inner_->append(records));
    return fail(Reason::journal_full, "no room is left");
  }

 private:
  std::unique_ptr<JournalStore> inner_;
  const Break where_;
  u64& appends_;
};

// What a plan yields with what is in a journal, and how often the store was written to.
struct Life {
  std::string outcome;
  u64 appends = 0;
};

Life live(const Plan& plan, const Ops& ops, JournalMemory& memory, Break where = {},
          RunOptions options = {}, Value input = {}) {
  Life life;
  auto store = std::make_unique<BreakingStore>(memory.open().value(), where, life.appends);
  const auto journal = Journal::open(std::move(store), identity).value();
  auto run = Run::create(plan, ops, options).value();
  REQUIRE(run->start(std::move(input), nullptr, journal.get()).ok());
  life.outcome = told(run->finish());
  return life;
}

void answer(JournalMemory& memory, const std::string& path, u32 index, Value value) {
  const auto journal = Journal::open(memory.open().value()).value();
  Record question;
  for (const Record& record : journal->waiting()) {
    if (record.site.path == path && record.site.index == index) question = record;
  }
  REQUIRE(question.site.path == path);
  REQUIRE(journal->append({answer_record(question.site, value).value()}).ok());
}

std::vector<std::string> waiting(JournalMemory& memory) {
  const auto journal = Journal::open(memory.open().value()).value();
  std::vector<std::string> out;
  for (const Record& record : journal->waiting()) {
    out.push_back(text("{}: {}", site_text(record.site), record.content));
  }
  return out;
}

// The world outside: how often each effect took place, by its key.
class World {
 public:
  void operator()(Effect& effect) {
    const u32 times = ++begun[effect.key()];
    if (effect.is_retry()) ++retries;
    if (times > 1) CHECK(effect.is_retry());
    effect.complete(Value::list({effect.payload(), Value::number(2)}));
  }
  std::map<std::string, u32> begun;
  u32 retries = 0;
};

// Three turns: two effects, then one, then what came of all.
struct Ask {
  Status operator()(StepCall& call) const {
    switch (call.turn()) {
      case 0: call.await({{"world", call.input()}, {"world", Value::text("b")}}); break;
      case 1: call.await({{"world", call.results()[1]}}); break;
      default: call.done(Value::list({call.history()[0][0], call.results()[0]}));
    }
    return {};
  }
} ask;

// Two branches and a loop of two passes, all with effects, and a node that yields another value
// each time.
Plan busy_plan() {
  PlanBuilder builder;
  builder.open(Variant::Sequence).open(Variant::Parallel);
  builder.step("left", {}).node().op = "ask";
  builder.close().step("right", {}).node().op = "ask";
  builder.close().close();
  builder.execute("dice", {"left", "right"}).node().deterministic = false;
  builder.loop("loop", 2, "", "again", {"dice"});
  builder.step("again", {}).node().op = "ask";
  builder.close().close().close();
  return builder.take();
}

}  // namespace

TEST_CASE("wherever a run breaks off, it goes on there and does nothing twice") {
  World world;
  i64 thrown = 0;
  auto dice = [&](NodeCall& call) -> Status {
    call.output() = Value::list({call.input(), Value::integer(++thrown)});
    return {};
  };
  StepOps ops;
  ops.step("ask", ask).effect("world", world, InDoubt::Retry).function("dice", dice);
  const Plan plan = busy_plan();
  JournalMemory whole;
  const Life first = live(plan, ops, whole);
  CHECK(world.begun.size() == 12);
  CHECK(first.appends > 10);
  CHECK(first.outcome.find(",1]") != first.outcome.npos);

  for (u64 at = 0; at < first.appends + 2; ++at) {
    for (const bool wrote : {false, true}) {
      CAPTURE(at);
      CAPTURE(wrote);
      world = {};
      thrown = 0;
      JournalMemory memory;
      const Life broken = live(plan, ops, memory, {at, wrote});
      const auto begun_before = world.begun;
      // With more appends than that it came through.
      if (broken.appends <= at) CHECK(broken.outcome == first.outcome);
      else CHECK(broken.outcome.find("journal.full") != broken.outcome.npos);
      const i64 thrown_before = thrown;
      const Life resumed = live(plan, ops, memory);
      // Another throw of the dice, if the first was not recorded.
      if (thrown == thrown_before) CHECK(resumed.outcome.find(",1]") != resumed.outcome.npos);
      for (const auto& [key, times] : world.begun) CHECK(times <= 2);
      CHECK(world.begun.size() == 12);
      CHECK(world.retries <= 4);  // those of one moment
      // A third time it only says what it yielded.
      world = {};
      const Life again = live(plan, ops, memory);
      CHECK(again.outcome == resumed.outcome);
      CHECK(world.begun.empty());
      CHECK(again.appends == 0);
    }
  }
}

TEST_CASE("what is in doubt is tried again, refused or asked about, as its policy says") {
  for (const InDoubt policy : {InDoubt::Retry, InDoubt::Fail, InDoubt::Ask}) {
    for (const bool by_request : {false, true}) {
      World world;
      StepOps ops;
      auto step = [&](StepCall& call) -> Status {
        std::optional<InDoubt> own;
        if (by_request) own = policy;
        if (call.turn() == 0) call.await({{"world", Value::integer(7), own}});
        else call.done(call.results()[0]);
        return {};
      };
      const InDoubt handlers = by_request ? InDoubt::Retry : policy;
      ops.step("ask", step).effect("world", world, handlers);
      PlanBuilder builder;
      builder.step("s", {}).node().op = "ask";
      const Plan plan = builder.close().take();
      JournalMemory memory;
      live(plan, ops, memory, {1, false});  // the intent is there, the result is not
      const Life life = live(plan, ops, memory);
      if (policy == InDoubt::Retry) {
        CHECK(life.outcome == "[7,2]");
        CHECK(world.begun.at("nightly:s#0.0") == 2);
        continue;
      }
      const std::string_view expected =
          policy == InDoubt::Ask ? "run.suspended: 's' waits for an answer (turn 0): "
                                 : "run.node_failed: node 's' failed: effect 'world' of turn 0 was "
                                   "begun before the run broke off";
      CHECK(life.outcome.starts_with(expected));
      CHECK(waiting(memory) == std::vector<std::string>{
          R"('s' (turn 0, effect 0): {"in_doubt":"world","payload":7})"});
      CHECK(live(plan, ops, memory).outcome.starts_with(expected));  // and goes on asking
      CHECK(world.begun.at("nightly:s#0.0") == 1);
      answer(memory, "s", 0, Value::text("it did"));
      CHECK(live(plan, ops, memory).outcome == "\"it did\"");
      CHECK(world.begun.at("nightly:s#0.0") == 1);
    }
  }
}

TEST_CASE("several effects of a turn in doubt are answered one by one") {
  World world;
  auto step = [](StepCall& call) -> Status {
    if (call.turn() == 0) {
      call.await({{"world", Value::integer(1)}, {"world", Value::integer(2)}});
    } else {
      call.done(Value::list({call.results()[0], call.results()[1]}));
    }
    return {};
  };
  StepOps ops;
  ops.step("ask", step).effect("world", world, InDoubt::Ask);
  PlanBuilder builder;
  builder.step("s", {}).node().op = "ask";
  const Plan plan = builder.close().take();
  JournalMemory memory;
  live(plan, ops, memory, {1, false});
  CHECK(live(plan, ops, memory).outcome.starts_with("run.suspended"));
  const auto give = [&](std::string_view place, std::string_view content) {
    const auto journal = Journal::open(memory.open().value()).value();
    return answer_journal(*journal, place, std::string(content));
  };
  const Status unclear = give("s", "0");
  REQUIRE_FALSE(unclear.ok());
  CHECK(unclear.error().message().find("'s#0.0', 's#0.1'") != std::string::npos);
  CHECK(give("s#0.1", "20").ok());
  CHECK(live(plan, ops, memory).outcome.starts_with("run.suspended"));
  CHECK(give("s", "10").ok());
  CHECK(live(plan, ops, memory).outcome == "[10,20]");
}

TEST_CASE("what somebody was asked about may be tried again all the same, once the policy is so") {
  World world;
  AskOnce once;
  PlanBuilder builder;
  builder.step("s", {}).node().op = "ask";
  const Plan plan = builder.close().take();
  JournalMemory memory;
  const auto live_with = [&](InDoubt policy, Break where) {
    StepOps ops;
    ops.step("ask", once).effect("ask", world, policy);
    return live(plan, ops, memory, where, {}, Value::integer(7)).outcome;
  };
  live_with(InDoubt::Ask, {1, false});
  CHECK(live_with(InDoubt::Ask, {}).starts_with("run.suspended"));
  live_with(InDoubt::Retry, {1, false});
  CHECK(waiting(memory).empty());
  CHECK(live_with(InDoubt::Retry, {}) == "[7,2]");
  CHECK(world.begun.at("nightly:s#0.0") == 3);
  CHECK(world.retries == 2);
}

TEST_CASE("a failed effect is asked for again when the run is resumed, the others are not") {
  World world;
  bool is_down = true;
  auto flaky = [&](Effect& effect) {
    if (is_down) effect.fail(fail(Reason::run_input, "it is down"));
    else world(effect);
  };
  auto step = [](StepCall& call) -> Status {
    if (call.turn() == 0) call.await({{"world", Value()}, {"flaky", Value()}});
    else call.done(Value::list({call.results()[0], call.results()[1]}));
    return {};
  };
  StepOps ops;
  ops.step("ask", step).effect("world", world).effect("flaky", flaky);
  PlanBuilder builder;
  builder.step("s", {}).node().op = "ask";
  const Plan plan = builder.close().take();
  JournalMemory memory;
  CHECK(live(plan, ops, memory).outcome ==
        "run.node_failed: node 's' failed: effect 'flaky': it is down (run.input)");
  is_down = false;
  CHECK(live(plan, ops, memory).outcome == "[[null,2],[null,2]]");
  CHECK(world.begun == std::map<std::string, u32>{{"nightly:s#0.0", 1}, {"nightly:s#0.1", 1}});
}

TEST_CASE("a suspended step waits for its answer; other branches go as far as they can") {
  auto human = [](StepCall& call) -> Status {
    if (call.turn() == 0) call.suspend(Value::map({{"may I", call.input()}}));
    else call.done(call.results()[0]);
    return {};
  };
  World world;
  StepOps ops;
  ops.step("human", human).step("ask", ask).effect("world", world);
  PlanBuilder builder;
  builder.open(Variant::Sequence).open(Variant::Parallel);
  builder.loop("loop", 2, "", "a", {});
  builder.step("a", {}).node().op = "human";
  builder.close().close().step("b", {}).node().op = "human";
  builder.close().step("c", {}).node().op = "ask";
  builder.close().close().execute("all", {"loop", "b", "c"}).node().op = "std.identity";
  builder.close().leaves({"all"});
  const Plan plan = builder.take();
  const auto pool = fixture::pool_of(3);
  for (Pool* used : {static_cast<Pool*>(nullptr), pool.get()}) {
    world = {};
    JournalMemory memory;
    const auto next = [&] {
      return live(plan, ops, memory, {}, {.pool = used}, Value::integer(5)).outcome;
    };
    CHECK(next() == "run.suspended: 'loop[1]/a' waits for an answer (turn 0): '{\"may I\":5}'; "
                    "answer, and run it again under the same id");
    CHECK(world.begun.size() == 3);
    CHECK(waiting(memory).size() == 2);
    answer(memory, "loop[1]/a", 0, Value::text("yes"));
    CHECK(next().starts_with("run.suspended: 'loop[2]/a' waits"));
    answer(memory, "b", 0, Value::integer(3));
    CHECK(next().starts_with("run.suspended: 'loop[2]/a' waits"));
    CHECK(waiting(memory) == std::vector<std::string>{
        R"('loop[2]/a' (turn 0, effect 0): {"may I":"yes"})"});
    answer(memory, "loop[2]/a", 0, Value::text("certainly"));
    CHECK(next() == R"({"loop":"certainly","b":3,"c":[[5,2],[["b",2],2]]})");
    CHECK(world.begun.size() == 3);
    for (const auto& [key, times] : world.begun) CHECK(times == 1);
  }
}

TEST_CASE("in a Dataflow only what comes after a suspended branch waits with it") {
  auto human = [](StepCall& call) -> Status {
    if (call.turn() == 0) call.suspend(Value::text("?"));
    else call.done(call.results()[0]);
    return {};
  };
  std::vector<std::string> ran;
  auto note = [&](NodeCall& call) -> Status {
    ran.push_back(call.path());
    return {};
  };
  StepOps ops;
  ops.step("human", human).function("note", note);
  const std::string_view graph =
      R"("nodes":[{"id":"h","kind":"step","op":"human"},{"id":"a","kind":"function","op":"note"},
         {"id":"b","kind":"function","op":"note"},{"id":"c","kind":"function","op":"note"},
         {"id":"d","kind":"function","op":"note"}],
         "edges":[{"from":"h","to":"b"},{"from":"a","to":"b"},{"from":"a","to":"c"},
                  {"from":"b","to":"d"}])";
  CompileOptions options;
  options.parallelize_dag = true;
  const Plan plan = fixture::compiled(graph, options).value();
  REQUIRE(plan.display().find("Dataflow") != std::string::npos);
  JournalMemory memory;
  CHECK(live(plan, ops, memory).outcome.starts_with("run.suspended: 'h' waits"));
  CHECK(ran == std::vector<std::string>{"a", "c"});
  answer(memory, "h", 0, Value());
  ran.clear();
  CHECK(live(plan, ops, memory).outcome.find("error") == std::string::npos);
  std::ranges::sort(ran);
  CHECK(ran == std::vector<std::string>{"a", "b", "c", "d"});
}

TEST_CASE("a failure counts more than a branch that waits; without a journal nobody can answer") {
  auto human = [](StepCall& call) -> Status {
    call.suspend(Value::text("?"));
    return {};
  };
  auto broken = [](NodeCall&) -> Status { return fail(Reason::run_input, "it broke"); };
  StepOps ops;
  ops.step("human", human).function("broken", broken);
  PlanBuilder builder;
  builder.open(Variant::Parallel).step("h", {}).node().op = "human";
  builder.close().execute("b").node().op = "broken";
  builder.close();
  const Plan plan = builder.take();
  JournalMemory memory;
  CHECK(live(plan, ops, memory).outcome ==
        "run.node_failed: node 'b' failed: it broke (run.input)");
  CHECK(waiting(memory).size() == 1);
  CHECK(fixture::outcome(plan, ops, Value()) ==
        "run.node_failed: node 'h' failed: it waits for an answer ('\"?\"'), and the run has no "
        "journal that would keep one: give it one (run.suspended)");
}

TEST_CASE("a step that asks for something else than before is told what") {
  World world;
  std::string word = "one";
  auto step = [&](StepCall& call) -> Status {
    if (call.turn() == 0) call.await({{"world", Value::text(word)}});
    return {};
  };
  StepOps ops;
  ops.step("ask", step).effect("world", world);
  PlanBuilder builder;
  builder.step("s", {}).node().op = "ask";
  const Plan plan = builder.close().take();
  JournalMemory memory;
  live(plan, ops, memory, {1, true});
  word = "two";
  const std::string outcome = live(plan, ops, memory).outcome;
  CHECK(outcome.ends_with("(journal.divergence)"));
  CHECK(outcome.find("'\"one\"'") != outcome.npos);
  CHECK(outcome.find("'\"two\"'") != outcome.npos);
}

TEST_CASE("a step that asks for less or for more than before is told what") {
  World world;
  u32 asks = 3;
  bool is_down = true, asks_twice = true;
  auto down = [&](Effect& effect) {
    if (is_down) effect.fail(fail(Reason::run_input, "it is down"));
    else effect.complete(Value());
  };
  auto step = [&](StepCall& call) -> Status {
    std::vector<EffectRequest> requests(asks, {"world", Value()});
    if (call.turn() == 0) call.await(std::move(requests));
    else if (call.turn() == 1 && asks_twice) call.await({{"down", Value()}});
    return {};
  };
  StepOps ops;
  ops.step("ask", step).effect("world", world).effect("down", down);
  PlanBuilder builder;
  builder.step("s", {}).node().op = "ask";
  const Plan plan = builder.close().take();
  JournalMemory memory;
  CHECK(live(plan, ops, memory).outcome.ends_with("(run.input)"));
  const auto outcome_with = [&](u32 now) {
    asks = now;
    return live(plan, ops, memory).outcome;
  };
  const std::string fewer = outcome_with(2);
  CHECK(fewer.find("at 's' (turn 0, effect 2) the journal has the effect 'world'") != fewer.npos);
  CHECK(fewer.ends_with("(journal.divergence)"));
  const std::string more = outcome_with(4);
  CHECK(more.find("asks for more in the turn before there") != more.npos);
  asks_twice = false;
  const std::string early = outcome_with(3);
  CHECK(early.find("(turn 1, effect 0) the journal has the effect 'down'") != early.npos);
  CHECK(early.find("is done there") != early.npos);
  is_down = false;
  asks_twice = true;
  CHECK(outcome_with(3) == "null");
  CHECK(world.begun.size() == 3);
}

TEST_CASE("what can't be recorded fails, and says where") {
  auto opaque = [](Effect& effect) { effect.complete(Value::opaque(nullptr, nullptr)); };
  auto dice = [](NodeCall& call) -> Status {
    call.output() = Value::opaque(nullptr, nullptr);
    return {};
  };
  StepOps ops;
  AskOnce once;
  ops.step("ask", once).effect("ask", opaque).function("dice", dice);
  PlanBuilder steps;
  steps.step("s", {}).node().op = "ask";
  const Plan plan = steps.close().take();
  JournalMemory memory;
  CHECK(live(plan, ops, memory).outcome.find(
            "at 's' (turn 0, effect 0) what came of an effect can't be recorded") !=
        std::string::npos);
  JournalMemory other;
  CHECK(live(plan, ops, other, {}, {}, Value::opaque(nullptr, nullptr))
            .outcome.ends_with("(journal.opaque)"));
  PlanBuilder builder;
  builder.execute("dice").node().deterministic = false;
  const Plan chance = builder.take();
  JournalMemory third;
  CHECK(live(chance, ops, third).outcome.ends_with("(journal.opaque)"));
  CHECK(run_identity("r", "p", Value::opaque(nullptr, nullptr)).error().id() == "journal.opaque");
  CHECK(run_identity("", "p", Value()).error().id() == "journal.run_id");
}

TEST_CASE("an output is recorded with the time when it was there, which may take long") {
  Record record = output_record({"n", 0, 0}, "op", Value());
  const i64 asked_ns = record.at_ns;
  while (wall_clock_ns() == asked_ns) continue;
  REQUIRE(set_output(record, Value::integer(1)).ok());
  CHECK(record.at_ns > asked_ns);
}

TEST_CASE("a run whose value has no exact form ends all the same, and is walked again") {
  u32 calls = 0;
  auto opaque = [&](NodeCall& call) -> Status {
    ++calls;
    call.output() = Value::opaque(nullptr, nullptr);
    return {};
  };
  StepOps ops;
  ops.function("opaque", opaque);
  PlanBuilder builder;
  builder.execute("opaque");
  const Plan plan = builder.take();
  JournalMemory memory;
  for (u32 round = 1; round <= 3; ++round) {
    const Life life = live(plan, ops, memory);
    CHECK(life.outcome.starts_with("value.no_json"));
    CHECK(life.appends == (round == 1 ? 1 : 0));
    CHECK(calls == round);
  }
}

TEST_CASE("many effects that end at once are recorded in few writes") {
  constexpr u32 many = fixture::is_sanitized ? 100 : 1000;
  Desk desk;
  AskOnce once;
  StepOps ops;
  ops.step("ask", once).effect("ask", desk);
  const Plan plan = fixture::steps_side_by_side(many, "ask");
  JournalMemory memory;
  u64 appends = 0;
  auto store = std::make_unique<BreakingStore>(memory.open().value(), Break{}, appends);
  const auto journal = Journal::open(std::move(store), identity).value();
  auto run = Run::create(plan, ops, {}).value();
  CHECK(run->start(Value::integer(1), nullptr, journal.get()).ok());
  std::thread clerk([&] {
    CHECK(desk.holds(many));
    for (Effect* effect : desk.take()) {
      effect->complete(effect->payload());
      effect->release();
    }
  });
  CHECK(run->finish().ok());
  clerk.join();
  CHECK(journal->result().has_value());
  CHECK(appends <= 2 * many + 1);
  MESSAGE((2 * many + 1), " records in ", appends, " writes");
}

TEST_CASE("a run that is dropped while its journal writes is told nothing any more") {
  Desk desk;
  AskOnce once;
  StepOps ops;
  ops.step("ask", once).effect("ask", desk);
  const Plan plan = fixture::steps_side_by_side(3, "ask");
  for (u32 round = 0; round < 200; ++round) {
    JournalMemory memory;
    const auto journal = Journal::open(memory.open().value(), identity).value();
    {
      auto run = Run::create(plan, ops, {}).value();
      CHECK(run->start(Value(), nullptr, journal.get()).ok());
      for (u32 pieces = round % 7; pieces > 0; --pieces) CHECK_FALSE(run->step(0));
    }
    for (Effect* effect : desk.take()) {
      CHECK_FALSE(effect->is_wanted());
      effect->complete(Value());
      effect->release();
    }
  }
}

}  // namespace soma
