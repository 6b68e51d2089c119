// Proves that a run's probe is told what its observer is told, of each thread in order, and of
// several threads at once.
#include <doctest/doctest.h>

#include <algorithm>

#include "unit/run/random_run.hpp"
#include "unit/run/rendezvous.hpp"
#include "unit/sanitized.hpp"

namespace soma {

namespace {

using fixture::PlanBuilder;

// All of an event but times and what only observers are told.
std::string line_of(const Event& event) {
  std::string line = text("{} {}", event_name(event.kind), event.path);
  if (event.kind == Event::Kind::PassFinished) {
    line += text(" {} {}", event.pass, static_cast<int>(event.ended));
  }
  if (event.kind == Event::Kind::ArmChosen) line += text(" {}", event.arm);
  if (event.chunks > 0) line += text(" {}/{}", event.chunk, event.chunks);
  if (event.error) line += text(" {}", event.error->message());
  return line + '\n';
}

// What one was told, of all threads.
class Told {
 public:
  Observer to() { return {note, this}; }
  std::string take() { return std::exchange(lines_, {}); }
  bool in_order() const { return in_order_; }

 private:
  static void note(void* user, const Event& event) {
    auto& self = *static_cast<Told*>(user);
    const std::string line = line_of(event);
    const std::lock_guard lock(self.mutex_);
    self.lines_ += line;
    if (event.thread >= self.last_ns_.size()) self.last_ns_.resize(event.thread + 1);
    i64& last_ns = self.last_ns_[event.thread];
    self.in_order_ = self.in_order_ && event.at_ns >= last_ns;
    last_ns = event.at_ns;
  }

  std::mutex mutex_;
  std::string lines_;
  std::vector<i64> last_ns_;      // by thread
  bool in_order_ = true;
};

std::string sorted(const std::string& lines) {
  std::vector<std::string_view> each;
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = lines.find('\n', begin) + 1;
    each.push_back(std::string_view(lines).substr(begin, end - begin));
    begin = end;
  }
  std::sort(each.begin(), each.end());
  std::string out;
  for (const std::string_view line : each) out += line;
  return out;
}

}  // namespace

TEST_CASE("alone or beside an observer, a probe is told the same, on random plans") {
  auto mix = [](NodeCall& call) -> Status {
    const bool in_stream = call.node().stream_mode != StreamMode::None;
    if (in_stream) call.output() = Value::list(std::vector<Value>(5));
    return {};
  };
  auto fails = [](NodeCall& call) -> Status { return fail(Reason::run_input, "{}", call.path()); };
  fixture::TestOps ops;
  ops.function("mix", mix).function("fail", fails);
  constexpr u32 plans = fixture::is_sanitized ? 30 : 150;
  size_t lines = 0;
  for (u32 seed = 0; seed < plans; ++seed) {
    INFO("seed ", seed);
    Plan plan = fixture::RandomPlan(seed).make();
    for (PlanNode& node : plan.nodes) node.waits = false;
    Told observed, probed;
    auto run = Run::create(plan, ops, {.probe = probed.to()}).value();
    const auto tell = [&run] {
      CHECK(run->start(Value(), nullptr).ok());
      [[maybe_unused]] const Result<Value> ended = run->finish();
    };
    tell();
    const std::string alone = probed.take();
    REQUIRE(run->observe(observed.to()).ok());
    tell();
    REQUIRE(probed.take() == alone);
    REQUIRE(observed.take() == alone);
    REQUIRE(run->probe({}).ok());
    tell();
    REQUIRE(observed.take() == alone);
    CHECK(probed.take().empty());
    CHECK(probed.in_order());
    lines += static_cast<size_t>(std::count(alone.begin(), alone.end(), '\n'));
  }
  CHECK(lines > plans * 10);
}

TEST_CASE("on many threads each node begins and ends once, and each thread is told in order") {
  auto nothing = [](NodeCall&) -> Status { return {}; };
  fixture::TestOps ops;
  ops.function("nothing", nothing);
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("first").open(Variant::Parallel);
  for (u32 i = 0; i < 50; ++i) {
    builder.open(Variant::Sequence).execute(text("a{}", i)).execute(text("b{}", i)).close();
  }
  builder.close().execute("last").close();
  Plan plan = builder.take();
  for (PlanNode& node : plan.nodes) node.op = "nothing";
  Told alone, probed;
  auto serial = Run::create(plan, ops, {.probe = alone.to()}).value();
  CHECK(serial->start(Value(), nullptr).ok());
  CHECK(serial->finish().ok());
  const std::string expected = sorted(alone.take());
  const auto pool = fixture::pool_of(4);
  auto run = Run::create(plan, ops, {.probe = probed.to(), .pool = pool.get(),
                                     .launch = LaunchMode::Always}).value();
  for (u32 again = 0; again < 20; ++again) {
    CHECK(run->start(Value(), nullptr).ok());
    CHECK(run->finish().ok());
    REQUIRE(sorted(probed.take()) == expected);
  }
  CHECK(probed.in_order());
}

TEST_CASE("several threads are in a probe at once") {
  struct Meeting {
    std::atomic<u32> inside{0}, met{0};
    static void note(void* user, const Event& event) {
      auto& self = *static_cast<Meeting*>(user);
      if (event.kind != Event::Kind::NodeStarted) return;
      self.inside.fetch_add(1);
      const i64 until_ns = now_ns() + 20 * fixture::second_ns;
      while (self.inside.load() < 2 && now_ns() < until_ns) std::this_thread::yield();
      self.met.fetch_add(self.inside.load() == 2 ? 1 : 0);
    }
  } meeting;
  auto nothing = [](NodeCall&) -> Status { return {}; };
  fixture::TestOps ops;
  ops.function("nothing", nothing);
  PlanBuilder builder;
  builder.open(Variant::Parallel).execute("a").execute("b").close();
  Plan plan = builder.take();
  for (PlanNode& node : plan.nodes) {
    node.op = "nothing";
    node.waits = true;
  }
  const auto pool = fixture::pool_of(2);
  auto run = Run::create(plan, ops, {.probe = {Meeting::note, &meeting}, .pool = pool.get()});
  REQUIRE(run.ok());
  CHECK((*run)->start(Value(), nullptr).ok());
  CHECK((*run)->finish().ok());
  CHECK(meeting.met == 2);
}

TEST_CASE("a node begins when the one before it has ended, by the system's clock") {
  struct Times {
    std::vector<i64> begun_ns = {}, ended_ns = {};
    static void note(void* user, const Event& event) {
      auto& self = *static_cast<Times*>(user);
      if (event.kind == Event::Kind::NodeStarted) self.begun_ns.push_back(event.at_ns);
      if (event.kind == Event::Kind::NodeFinished) self.ended_ns.push_back(event.at_ns);
    }
  } times;
  constexpr i64 body_ns = 2'000;
  auto spin = [](NodeCall&) -> Status {
    for (const i64 until_ns = now_ns() + body_ns; now_ns() < until_ns;) {
    }
    return {};
  };
  fixture::TestOps ops;
  ops.function("spin", spin);
  PlanBuilder builder;
  builder.open(Variant::Sequence);
  for (u32 i = 0; i < 5; ++i) builder.execute(text("n{}", i)).node().op = "spin";
  const Plan plan = builder.close().take();
  auto run = Run::create(plan, ops, {}).value();
  CHECK(run->probe({Times::note, &times}).ok());
  const i64 before_ns = now_ns();
  CHECK(run->start(Value(), nullptr).ok());
  CHECK(run->probe({}).error().id() == "object.busy");
  CHECK(run->finish().ok());
  const i64 after_ns = now_ns();
  REQUIRE(times.begun_ns.size() == 5);
  REQUIRE(times.ended_ns.size() == 5);
  constexpr i64 error_ns = 1'000;   // ten times what is promised
  for (size_t i = 0; i < 5; ++i) {
    CHECK(times.ended_ns[i] - times.begun_ns[i] >= body_ns - error_ns);
    if (i > 0) CHECK(times.begun_ns[i] == times.ended_ns[i - 1]);
  }
  CHECK(times.begun_ns.front() >= before_ns - error_ns);
  CHECK(times.ended_ns.back() <= after_ns + error_ns);
}

TEST_CASE("a node that was told to stop has not finished, whatever it returns") {
  Cancel cancel;
  auto until_told = [&cancel](NodeCall& call) -> Status {
    cancel.request();
    CHECK_FALSE(call.check().ok());
    return {};
  };
  fixture::TestOps ops;
  ops.function("until_told", until_told);
  PlanBuilder builder;
  builder.execute("last").node().op = "until_told";
  const Plan plan = builder.take();
  Told told;
  auto run = Run::create(plan, ops, {.probe = told.to()}).value();
  CHECK(run->start(Value(), &cancel).ok());
  CHECK(run->finish().error().id() == "cancelled");
  CHECK(told.take() ==
        "run_started \nnode_started last\nnode_failed last the caller asked to stop\n"
        "run_failed  the caller asked to stop\n");
}

}  // namespace soma
