// Proves that a stream yields what its nodes yield of the whole value, whatever the chunks, the
// threads and the barriers; that stages overlap, few chunks wait, and errors know no clock.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "cache/cache.hpp"
#include "journal/memory_store.hpp"
#include "run/recording.hpp"
#include "run/streams.hpp"
#include "unit/base/failing_memory.hpp"
#include "unit/plan/plan_builder.hpp"
#include "unit/run/rendezvous.hpp"
#include "unit/sanitized.hpp"

namespace soma {

namespace {

using fixture::PlanBuilder;
using fixture::Rendezvous;
using fixture::Signal;

using Modes = std::vector<std::pair<std::string, StreamMode>>;  // by op

// A stream of nodes "0", "1", … behind nothing and before nothing.
Plan chain(const Modes& modes, u32 rows) {
  PlanBuilder builder;
  builder.stream(rows);
  for (size_t at = 0; at < modes.size(); ++at) {
    PlanBuilder::Texts from;
    if (at > 0) from.push_back(text("{}", at - 1));
    builder.execute(text("{}", at), from);
    builder.node().op = modes[at].first;
    builder.node().stream_mode = modes[at].second;
  }
  builder.close();
  return builder.take();
}

Value numbers(i64 count) {
  std::vector<Value> rows;
  for (i64 i = 0; i < count; ++i) rows.push_back(Value::integer(i));
  return Value::list(std::move(rows));
}

// Functions of lists that do not mind how these are cut.
class StreamOps : public fixture::TestOps {
 public:
  StreamOps() {
    function("twice", twice_).function("odd", odd_).function("both", both_).function("sum", sum_);
    function("reverse", reverse_).function("letters", letters_).function("last", last_);
  }

 private:
  template <typename Change>
  struct Rows {
    Change change;
    Status operator()(NodeCall& call) {
      std::vector<Value> out;
      for (const Value& row : call.input().list()) change(row.integer(), out);
      call.output() = Value::list(std::move(out));
      return {};
    }
  };
  template <typename Change>
  Rows(Change) -> Rows<Change>;

  static void put(std::vector<Value>& out, i64 number) { out.push_back(Value::integer(number)); }
  static constexpr auto put_twice = [](i64 n, std::vector<Value>& out) { put(out, 2 * n); };
  static constexpr auto put_odd = [](i64 n, std::vector<Value>& out) {
    if (n % 2 != 0) put(out, n);
  };
  static constexpr auto put_both = [](i64 n, std::vector<Value>& out) {
    put(out, n);
    put(out, n + 1);
  };

  // The sum of all rows so far, in place of each.
  struct Sum {
    Status operator()(NodeCall& call) {
      i64 sum = call.state().is_null() ? 0 : call.state().integer();
      std::vector<Value> out;
      for (const Value& row : call.input().list()) {
        sum += row.integer();
        out.push_back(Value::integer(sum));
      }
      call.output() = Value::list(std::move(out));
      return call.set_state(Value::integer(sum));
    }
  };
  // All rows, from the last to the first: knows them all at once, or keeps them until it does.
  struct Reverse {
    Status operator()(NodeCall& call) {
      const std::span<const Value> rows = call.input().list();
      call.output() = Value::list({rows.rbegin(), rows.rend()});
      return {};
    }
  };
  // A text, which can be joined but is no rows.
  struct Letters {
    Status operator()(NodeCall& call) {
      std::string out;
      for (const Value& row : call.input().list()) {
        out += static_cast<char>('a' + row.integer() % 26);
      }
      call.output() = Value::text(std::move(out));
      return {};
    }
  };
  // Nothing, and at the end how many rows there were.
  struct Last {
    Status operator()(NodeCall& call) {
      const i64 before = call.state().is_null() ? 0 : call.state().integer();
      const i64 rows = before + static_cast<i64>(call.input().list().size());
      std::vector<Value> out;
      if (call.chunk().is_last()) out.push_back(Value::integer(rows));
      call.output() = Value::list(std::move(out));
      return call.set_state(Value::integer(rows));
    }
  };

  Rows<decltype(put_twice)> twice_{put_twice};
  Rows<decltype(put_odd)> odd_{put_odd};
  Rows<decltype(put_both)> both_{put_both};
  Sum sum_;
  Reverse reverse_;
  Letters letters_;
  Last last_;
};

Modes random_modes(std::mt19937& random) {
  static const Modes all = {{"twice", StreamMode::Stateless}, {"odd", StreamMode::Stateless},
                            {"both", StreamMode::Stateless},  {"sum", StreamMode::Stateful},
                            {"last", StreamMode::Stateful},   {"reverse", StreamMode::Barrier},
                            {"twice", StreamMode::Barrier}};
  Modes out;
  for (u64 left = 1 + random() % 6; left > 0; --left) out.push_back(all[random() % all.size()]);
  if (random() % 4 == 0) out.emplace_back("letters", StreamMode::Stateless);
  return out;
}

// The same nodes one after the other, each once.
Plan unstreamed(const Plan& plan) {
  Plan out = plan;
  out.items[0].variant = plan.nodes.size() == 1 ? Variant::Execute : Variant::Sequence;
  out.items[0].detail = 0;
  if (plan.nodes.size() == 1) out.items = {{Variant::Execute, 0, 1, 0}};
  return out;
}

}  // namespace

TEST_CASE("streams yield what their nodes yield of the whole") {
  std::mt19937 random(20);
  StreamOps ops;
  const auto pool = fixture::pool_of(3);
  const u32 rounds = fixture::is_sanitized ? 150 : 1500;
  for (u32 round = 0; round < rounds; ++round) {
    const Modes modes = random_modes(random);
    const auto rows = static_cast<i64>(random() % 40);
    const Plan plan = chain(modes, 1 + static_cast<u32>(random() % 12));
    REQUIRE(plan.verify().ok());
    const Plan whole = unstreamed(plan);
    REQUIRE(whole.verify().ok());
    const std::string expected = fixture::outcome(whole, ops, numbers(rows));
    for (const LaunchMode launch : {LaunchMode::Adaptive, LaunchMode::Always}) {
      const RunOptions shared = {.pool = pool.get(), .launch = launch};
      for (const RunOptions& options : {RunOptions(), shared}) {
        const std::string outcome = fixture::outcome(plan, ops, numbers(rows), options);
        if (outcome != expected) FAIL(plan.display(), "\n", rows, "\n", outcome, "\n", expected);
      }
    }
  }
}

TEST_CASE("what is cut, and what is joined") {
  StreamOps ops;
  auto copy = [](NodeCall& call) -> Status {
    call.output() = call.input();
    return {};
  };
  auto size = [](NodeCall& call) -> Status {
    const Value& input = call.input();
    const bool is_list = input.is(ValueKind::List);
    call.output() = Value::integer(static_cast<i64>(is_list ? input.list().size() : 1));
    return {};
  };
  auto odd = [](NodeCall& call) -> Status {
    const std::string chunk = text("{}/{}", call.chunk().index, call.chunk().count);
    if (call.chunk().index == 1) call.output() = Value::list({Value::text(chunk)});
    else call.output() = Value::text(chunk);
    return {};
  };
  ops.function("copy", copy).function("size", size).function("odd kinds", odd);
  const auto of = [&](const std::string& op, u32 rows, std::string_view input) {
    return fixture::outcome(chain({{op, StreamMode::Stateless}}, rows), ops,
                            fixture::value_from(input));
  };
  CHECK(of("copy", 2, "[1,[2],null,\"x\",5]") == "[1,[2],null,\"x\",5]");
  CHECK(of("copy", 2, "[]") == "[]");
  CHECK(of("copy", 2, "null") == "null");
  CHECK(of("copy", 1, "{\"a\":[1,2]}") == "{\"a\":[1,2]}");
  CHECK(of("copy", 1, "\"text\"") == "\"text\"");
  CHECK(of("size", 4, "[1,2,3,4]") == "4");
  CHECK(of("size", 1, "7") == "1");
  CHECK(of("size", 2, "[1,2,3]").starts_with(
      "run.node_failed: node '0' failed: chunk 0: it yielded the integer 2 for one of 2 chunks: "
      "for several chunks it yields lists, bytes or texts, all of one kind, to be joined"));
  CHECK(of("odd kinds", 1, "[1,2]").starts_with(
      "run.node_failed: node '0' failed: chunk 1: it yielded a list of 1 for one of 2 chunks, and "
      "before that text values: "));
  CHECK(of("odd kinds", 2, "[1,2]") == "\"0/1\"");
  const Plan bytes = chain({{"copy", StreamMode::Stateless}, {"copy", StreamMode::Barrier}}, 3);
  auto run = Run::create(bytes, ops, {}).value();
  CHECK(run->start(Value::bytes({1, 2, 3, 4, 5, 6, 7}), nullptr).ok());
  CHECK(run->finish().value() == Value::bytes({1, 2, 3, 4, 5, 6, 7}));
}

TEST_CASE("a state begins as declared, and anew each time; without a stream mode there is none") {
  fixture::TestOps ops;
  auto count = [](NodeCall& call) -> Status {
    const Value state = call.state();
    const std::span<const u8> bytes = state.bytes();
    const u8 number = bytes[0];
    call.output() = Value::list({Value::integer(number)});
    return call.set_state(Value::bytes({static_cast<u8>(number + 1)}));
  };
  ops.function("count", count);
  PlanBuilder builder;
  builder.loop("loop", 2, "", "row").stream(1).execute("row");
  builder.node().op = "count";
  builder.node().stream_mode = StreamMode::Stateful;
  builder.node().edit().state = {7};
  builder.close().close();
  const Plan plan = builder.take();
  CHECK(fixture::outcome(plan, ops, numbers(3)) == "[7,8,9]");
  PlanBuilder plain;
  plain.execute("alone").node().op = "count";
  plain.node().edit().state = {7};
  CHECK(fixture::outcome(plain.take(), ops, numbers(3)).starts_with(
      "run.node_failed: node 'alone' failed: the node keeps no state from call to call"));
}

TEST_CASE("stages overlap, and a fast one does not fill the memory before a slow one") {
  constexpr u64 most = 1 + Flow::waiting_max;  // in the second node, and before it
  fixture::TestOps ops;
  std::atomic<u64> begun{0}, ended{0}, lead{0};
  Signal is_full;
  bool was_full = false;
  auto fast = [&](NodeCall& call) -> Status {
    lead = std::max<u64>(lead, ++begun - ended);
    if (begun == most) is_full.set();
    call.output() = call.input();
    return {};
  };
  auto slow = [&](NodeCall& call) -> Status {
    if (call.chunk().index == 0) was_full = is_full.wait();
    ++ended;
    call.output() = call.input();
    return {};
  };
  ops.function("fast", fast).function("slow", slow);
  const Plan plan = chain({{"fast", StreamMode::Stateless}, {"slow", StreamMode::Stateless}}, 1);
  const auto pool = fixture::pool_of(2);
  for (const LaunchMode launch : {LaunchMode::Adaptive, LaunchMode::Always}) {
    begun = ended = lead = 0;
    is_full.reset();
    const RunOptions options = {.pool = pool.get(), .launch = launch};
    CHECK(fixture::outcome(plan, ops, numbers(200), options) == fixture::told(numbers(200)));
    CHECK(was_full);
    CHECK(lead == most);
  }
  // Alone, one chunk after the other goes through all nodes.
  lead = begun = ended = 0;
  is_full.set();
  CHECK(fixture::outcome(plan, ops, numbers(20)) == fixture::told(numbers(20)));
  CHECK(lead == 1);
}

TEST_CASE("the first chunk that fails is the error, 1,000 times") {
  fixture::TestOps ops;
  std::map<std::string, u64> failing;  // by node: the chunk
  auto node = [&](NodeCall& call) -> Status {
    const auto found = failing.find(call.node().id.str());
    if (found != failing.end() && call.chunk().index >= found->second) {
      if (call.chunk().index % 2 == 0) throw std::runtime_error("odd");
      return fail(Reason::run_node_failed, "it is ill");
    }
    call.output() = call.input();
    return {};
  };
  ops.function("node", node);
  const Modes modes(4, {"node", StreamMode::Stateless});
  const auto pool = fixture::pool_of(3);
  const u32 rounds = fixture::is_sanitized ? 100 : 1000;
  std::mt19937 random(4);
  for (u32 round = 0; round < rounds; ++round) {
    failing.clear();
    for (u32 at = 0; at < 4; ++at) {
      if (random() % 2 == 0) failing[text("{}", at)] = random() % 12;
    }
    Modes here = modes;
    if (random() % 3 == 0) here[1 + random() % 3].second = StreamMode::Barrier;
    const Plan plan = chain(here, 1);
    const std::string expected = fixture::outcome(plan, ops, numbers(12));
    const RunOptions options = {.pool = pool.get(), .launch = LaunchMode::Always};
    const std::string outcome = fixture::outcome(plan, ops, numbers(12), options);
    if (outcome != expected) FAIL(plan.display(), outcome, "\n", expected);
  }
  failing = {{"1", 3}, {"0", 5}};
  const Plan plan = chain(modes, 1);
  auto run = Run::create(plan, ops, {.pool = pool.get()}).value();
  CHECK(run->start(numbers(12), nullptr).ok());
  const Result<Value> value = run->finish();
  REQUIRE(!value.ok());
  CHECK(value.error().message() == "node '1' failed: chunk 3: it is ill");
  const std::span<const Detail> details = value.error().details();
  const auto chunk = std::ranges::find(details, "chunk", &Detail::key);
  REQUIRE(chunk != details.end());
  CHECK(chunk->value == "3");
}

TEST_CASE("a stream is stopped in the middle, and nothing of it is left") {
  std::atomic<i64> alive{0};
  const auto counted = [&alive] {
    ++alive;
    return Value::opaque(&alive, [](void* count) { --*static_cast<std::atomic<i64>*>(count); });
  };
  Cancel cancel;
  fixture::TestOps ops;
  auto make = [&](NodeCall& call) -> Status {
    call.output() = Value::list({counted(), counted()});
    return {};
  };
  auto pass = [&](NodeCall& call) -> Status {
    if (call.chunk().index == 5) cancel.request();
    call.output() = call.take_input();
    return {};
  };
  ops.function("make", make).function("pass", pass);
  const Plan plan = chain({{"make", StreamMode::Stateless}, {"pass", StreamMode::Stateless}}, 1);
  const auto pool = fixture::pool_of(2);
  for (const RunOptions& options :
       {RunOptions(), RunOptions{.pool = pool.get(), .launch = LaunchMode::Always}}) {
    auto run = Run::create(plan, ops, options).value();
    cancel.reset();
    CHECK(run->start(numbers(100), &cancel).ok());
    CHECK(fixture::told(run->finish()).starts_with("cancelled"));
    CHECK(alive == 0);
    // Piece by piece, then given up.
    cancel.reset();
    CHECK(run->start(numbers(100), nullptr).ok());
    for (u32 i = 0; i < 9; ++i) CHECK(!run->step(0));
    CHECK(alive > 0);
    run->abandon();
    CHECK(alive == 0);
    // And to the end.
    CHECK(run->start(numbers(4), nullptr).ok());
    u32 steps = 0;
    while (!run->step(0)) ++steps;
    CHECK(steps >= 7);
    CHECK(run->finish().value().list().size() == 8);
    CHECK(alive == 0);
  }
}

TEST_CASE("nodes for the caller's thread stay there") {
  fixture::TestOps ops;
  const std::thread::id here = std::this_thread::get_id();
  std::atomic<u32> elsewhere{0};
  auto pinned = [&](NodeCall& call) -> Status {
    if (std::this_thread::get_id() != here) ++elsewhere;
    call.output() = call.input();
    return {};
  };
  auto any = [](NodeCall& call) -> Status {
    call.output() = call.input();
    return {};
  };
  NodeOp op;
  op.name = "pinned";
  op.user = &pinned;
  op.forward = [](void* user, NodeCall& call) -> Status {
    return (*static_cast<decltype(pinned)*>(user))(call);
  };
  op.caller_only = true;
  REQUIRE(ops.add(op).ok());
  ops.function("any", any);
  const Plan plan = chain({{"any", StreamMode::Stateless},
                           {"pinned", StreamMode::Stateless},
                           {"any", StreamMode::Stateless},
                           {"pinned", StreamMode::Barrier},
                           {"any", StreamMode::Stateless}}, 1);
  const auto pool = fixture::pool_of(3);
  for (u32 again = 0; again < 20; ++again) {
    const RunOptions options = {.pool = pool.get(), .launch = LaunchMode::Always};
    CHECK(fixture::outcome(plan, ops, numbers(50), options) == fixture::told(numbers(50)));
  }
  CHECK(elsewhere == 0);
}

TEST_CASE("a branch that fails ends the streams of branches behind it") {
  StreamOps ops;
  Signal begun;
  auto wait = [&](NodeCall& call) -> Status {
    begun.set();
    while (call.check().ok()) std::this_thread::yield();
    return {};
  };
  auto ill = [&](NodeCall&) -> Status {
    CHECK(begun.wait());
    return fail(Reason::run_node_failed, "it is ill");
  };
  ops.function("wait", wait).function("ill", ill);
  PlanBuilder builder;
  builder.open(Variant::Parallel).execute("first").node().op = "ill";
  builder.stream(1).execute("a");
  builder.node().op = "twice";
  builder.node().stream_mode = StreamMode::Stateless;
  builder.execute("b", {"a"});
  builder.node().op = "wait";
  builder.node().stream_mode = StreamMode::Stateless;
  builder.close().close();
  const Plan plan = builder.take();
  const auto pool = fixture::pool_of(3);
  for (u32 again = 0; again < 10; ++again) {
    begun.reset();
    const RunOptions options = {.pool = pool.get(), .launch = LaunchMode::Always};
    CHECK(fixture::outcome(plan, ops, numbers(50), options) ==
          "run.node_failed: node 'first' failed: it is ill");
  }
}

TEST_CASE("events tell of chunks, and of each node once") {
  StreamOps ops;
  std::string told;
  const auto note = [](void* user, const Event& event) {
    auto& out = *static_cast<std::string*>(user);
    out += event_name(event.kind);
    if (!event.path.empty()) out += text(" {}", event.path);
    if (event.chunks > 0) out += text(" {}/{}", event.chunk, event.chunks);
    out += text(" {}\n", event.done);
  };
  const Plan plan = chain({{"twice", StreamMode::Stateless}, {"sum", StreamMode::Stateful}}, 2);
  auto run = Run::create(plan, ops, {.observer = {note, &told}}).value();
  CHECK(run->start(numbers(3), nullptr).ok());
  CHECK(run->finish().ok());
  CHECK(told ==
        "run_started 0\n"
        "node_started 0 0\nchunk_started 0 0/2 0\nchunk_finished 0 0/2 0\n"
        "node_started 1 0\nchunk_started 1 0/2 0\nchunk_finished 1 0/2 0\n"
        "chunk_started 0 1/2 0\nchunk_finished 0 1/2 0\nnode_finished 0 1\n"
        "chunk_started 1 1/2 1\nchunk_finished 1 1/2 1\nnode_finished 1 2\n"
        "run_finished 2\n");
}

TEST_CASE("a journal holds what each chunk yielded, and a resumed run goes on behind it") {
  fixture::TestOps ops;
  u32 throws = 0, failing = 3;
  auto dice = [&](NodeCall& call) -> Status {
    call.output() = Value::list({Value::integer(++throws), call.input().list()[0]});
    return {};
  };
  auto check = [&](NodeCall& call) -> Status {
    if (call.chunk().index == failing) return fail(Reason::run_node_failed, "it is ill");
    call.output() = call.input();
    return {};
  };
  ops.function("dice", dice).function("check", check);
  Plan plan = chain({{"dice", StreamMode::Stateless}, {"check", StreamMode::Stateless}}, 1);
  plan.nodes[0].deterministic = false;
  JournalMemory memory;
  const RunIdentity identity = run_identity("run", plan.digest(), numbers(5)).value();
  const auto live = [&] {
    const auto journal = Journal::open(memory.open().value(), identity).value();
    auto run = Run::create(plan, ops, {}).value();
    CHECK(run->start(numbers(5), nullptr, journal.get()).ok());
    return fixture::told(run->finish());
  };
  CHECK(live().starts_with("run.node_failed: node '1' failed: chunk 3: it is ill"));
  CHECK(throws == 4);
  failing = 100;
  CHECK(live() == "[1,0,2,1,3,2,4,3,5,4]");
  CHECK(throws == 5);
  CHECK(live() == "[1,0,2,1,3,2,4,3,5,4]");
  CHECK(throws == 5);
}

TEST_CASE("a resumed run knows the state of a node that is recorded") {
  fixture::TestOps ops;
  u32 failing = 2;
  auto sum = [](NodeCall& call) -> Status {
    const i64 before = call.state().is_null() ? 0 : call.state().integer();
    const Value total = Value::integer(before + call.input().list()[0].integer());
    call.output() = Value::list({total});
    return call.set_state(total);
  };
  auto check = [&](NodeCall& call) -> Status {
    if (call.chunk().index == failing) return fail(Reason::run_node_failed, "it is ill");
    call.output() = call.input();
    return {};
  };
  ops.function("sum", sum).function("check", check);
  Plan plan = chain({{"sum", StreamMode::Stateful}, {"check", StreamMode::Stateless}}, 1);
  plan.nodes[0].deterministic = false;
  JournalMemory memory;
  const RunIdentity identity = run_identity("run", plan.digest(), numbers(6)).value();
  for (const u32 chunk : {2u, 4u, 100u}) {
    failing = chunk;
    const auto journal = Journal::open(memory.open().value(), identity).value();
    auto run = Run::create(plan, ops, {}).value();
    CHECK(run->start(numbers(6), nullptr, journal.get()).ok());
    const std::string outcome = fixture::told(run->finish());
    CHECK((chunk == 100 ? outcome == "[0,1,3,6,10,15]" : outcome.starts_with("run.node_failed")));
  }
}

TEST_CASE("what is prepared for a stateless node depends on its chunk alone") {
  fixture::TestOps ops;
  auto add = [](NodeCall& call) -> Status {
    std::vector<Value> rows;
    for (const Value& row : call.input().list()) {
      rows.push_back(Value::integer(row.integer() + call.state().integer()));
    }
    call.output() = Value::list(std::move(rows));
    return {};
  };
  ops.function("add", add);
  const auto first = [](void*, NodeCall& call) -> Status {
    call.output() = call.input().list()[0];
    return {};
  };
  REQUIRE(ops.add_prepare("add", 0, first, nullptr, nullptr).ok());
  Plan plan = chain({{"add", StreamMode::Stateless}}, 2);
  plan.nodes[0].cacheable = true;
  Cache memory(CacheLimits{});
  for (const bool is_cached : {false, true}) {
    const RunOptions options = {.cache = is_cached ? &memory : nullptr};
    const auto of = [&](std::string_view input) {
      return fixture::outcome(plan, ops, fixture::value_from(input), options);
    };
    CHECK(of("[1,2,3,4]") == "[2,3,6,7]");
    CHECK(of("[9,9,3,4]") == "[18,18,6,7]");
  }
}

TEST_CASE("a cache keeps what stateless nodes yield of a chunk, and tells chunks from wholes") {
  StreamOps ops;
  u32 calls = 0;
  auto count = [&](NodeCall& call) -> Status {
    ++calls;
    call.output() = call.input();
    return {};
  };
  ops.function("count", count);
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("in").node().op = "count";
  builder.stream(2);
  for (u32 at = 0; at < 2; ++at) {
    builder.execute(text("{}", at), {at == 0 ? "in" : "0"});
    builder.node().op = at == 0 ? "count" : "sum";
    builder.node().stream_mode = at == 0 ? StreamMode::Stateless : StreamMode::Stateful;
  }
  builder.close().execute("out", {"1"}).node().op = "count";
  builder.close();
  Plan plan = builder.take();
  for (PlanNode& node : plan.nodes) node.cacheable = true;
  Cache memory(CacheLimits{});
  auto run = Run::create(plan, ops, {.cache = &memory}).value();
  const auto yields = [&](std::string_view input) {
    calls = 0;
    CHECK(run->start(fixture::value_from(input), nullptr).ok());
    return fixture::told(run->finish());
  };
  CHECK(yields("[1,2,3,4]") == "[1,3,6,10]");
  CHECK(calls == 4);
  CHECK(yields("[1,2,3,4]") == "[1,3,6,10]");
  CHECK(calls == 0);
  CHECK(yields("[9,9,3,4]") == "[9,18,21,25]");  // the last chunk is as before
  CHECK(calls == 3);
  CHECK(yields("[3,4]") == "[3,7]");            // what a function yields of a chunk it yields of
  CHECK(calls == 1);                            // the same rows as a whole
}

TEST_SUITE_BEGIN("own new");

TEST_CASE("the n-th allocation fails in a stream") {
  StreamOps ops;
  const Plan plan = chain({{"both", StreamMode::Stateless},
                           {"sum", StreamMode::Stateful},
                           {"reverse", StreamMode::Barrier},
                           {"letters", StreamMode::Stateless}}, 2);
  const std::string expected = fixture::outcome(plan, ops, numbers(7));
  const auto run_once = [&](Pool* pool) {
    auto run = Run::create(plan, ops, {.pool = pool, .launch = LaunchMode::Always}).value();
    for (u32 again = 0; again < 2; ++again) {
      if (!run->start(numbers(7), nullptr).ok()) FAIL("it has not ended");
      Result<Value> value = run->finish();
      if (!value.ok() && value.error().id() == "memory.exhausted") throw std::bad_alloc();
      const std::string outcome = fixture::told(std::move(value));
      if (outcome != expected) FAIL(outcome);
    }
  };
  CHECK(fixture::run_out_of_memory([&] { run_once(nullptr); }) > 50);
  CHECK(fixture::run_out_of_memory([&] {
          const auto pool = Pool::create(3).value();
          run_once(pool.get());
        }) > 50);
}

TEST_SUITE_END();

}  // namespace soma
