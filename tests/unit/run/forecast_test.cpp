// Proves what is said of how long a run still takes, by a clock of the test's own: right where all
// is known, and nothing where something is not.
#include "run/forecast.hpp"

#include <doctest/doctest.h>

#include "unit/plan/plan_builder.hpp"

namespace soma {

namespace {

using fixture::PlanBuilder;
using Kind = Event::Kind;

// A run of which nothing is real. A node whose id ends in digits declares so many milliseconds.
// What happens takes no time; the clock goes on by itself.
class Pretended {
 public:
  explicit Pretended(Plan plan, u64 threads = 1)
      : plan_(with_costs(std::move(plan))), forecast_(plan_, threads) {
    forecast_.begin(false);
  }

  Pretended& begin(bool has_journal = false) {
    forecast_.begin(has_journal);
    return *this;
  }
  Pretended& at(i64 ms) {
    now_ms_ = ms;
    return *this;
  }
  Pretended& starts(std::string_view id) { return tell(Kind::NodeStarted, id); }
  Pretended& ends(std::string_view id) { return tell(Kind::NodeFinished, id); }
  Pretended& tell(Kind kind, std::string_view id) {
    Event event;
    event.kind = kind;
    event.node = index_of(id);
    event.at_ns = now_ms_ * 1'000'000;
    forecast_.hear(event);
    return *this;
  }
  Pretended& pass(std::string_view id, u64 pass, Event::Ended ended = Event::Ended::No) {
    Event event;
    event.kind = Kind::PassFinished;
    event.node = index_of(id);
    event.pass = pass;
    event.ended = ended;
    forecast_.hear(event);
    return *this;
  }
  // In milliseconds; -1: nothing is said.
  i64 eta() {
    const std::optional<i64> eta_ns = forecast_.eta_ns(now_ms_ * 1'000'000);
    return eta_ns ? *eta_ns / 1'000'000 : -1;
  }

 private:
  static Plan with_costs(Plan plan) {
    for (PlanNode& node : plan.nodes) {
      const std::string id = node.id.str();
      const size_t digits = id.find_first_of("0123456789");
      if (digits != id.npos) node.edit().cost_us = 1000 * std::stod(id.substr(digits));
    }
    return plan;
  }
  u32 index_of(std::string_view id) const {
    for (u32 index = 0; index < plan_.nodes.size(); ++index) {
      if (plan_.nodes[index].id == id) return index;
    }
    FAIL("no such node");
    return no_node;
  }

  const Plan plan_;
  Forecast forecast_;
  i64 now_ms_ = 0;
};

}  // namespace

TEST_CASE("a chain has what it has not done yet, and of a running node what it should still take") {
  Pretended run(fixture::tree("s[a1000 b2000 c3000]"));
  CHECK(run.eta() == 6000);
  CHECK(run.starts("a1000").at(400).eta() == 5600);
  CHECK(run.at(1000).ends("a1000").starts("b2000").eta() == 5000);
  // It was slower than it said, which is known only when it has ended.
  CHECK(run.at(3500).eta() == 3000);
  CHECK(run.at(4000).ends("b2000").starts("c3000").eta() == 3000);
  CHECK(run.at(6500).eta() == 500);
  CHECK(run.at(7000).ends("c3000").eta() == 0);
}

TEST_CASE("what is unknown is never nothing") {
  Pretended run(fixture::tree("s[a1000 b c3000]"));
  CHECK(run.eta() == -1);
  CHECK(run.starts("a1000").at(1000).ends("a1000").starts("b").eta() == -1);
  CHECK(run.at(1200).ends("b").eta() == 3000);
  // Now it is known: the next execution has something to go by.
  CHECK(run.begin().at(9000).eta() == 4200);
}

TEST_CASE("a node that takes more than twice as long as it should is unknown until it ends") {
  Pretended run(fixture::tree("s[a1000 b500]"));
  run.starts("a1000");
  CHECK(run.at(1500).eta() == 500);
  CHECK(run.at(2001).eta() == -1);
  CHECK(run.at(9000).eta() == -1);
  CHECK(run.ends("a1000").at(9100).eta() == 500);
  // Next to nothing may take next to nothing more.
  Pretended small(fixture::tree("s[a0 b500]"));
  CHECK(small.starts("a0").at(100).eta() == 500);
  CHECK(small.at(300).eta() == -1);
}

TEST_CASE("between two looks the time that has passed is taken off, and events are not looked at") {
  Pretended run(fixture::tree("s[a1000 b2000]"));
  CHECK(run.starts("a1000").eta() == 3000);
  CHECK(run.at(50).ends("a1000").eta() == 2950);
  CHECK(run.at(100).eta() == 2000);
}

TEST_CASE("what nodes took goes before what they declare, and is their op's for others") {
  Plan plan = fixture::tree("s[a b c7 d]");
  for (PlanNode& node : plan.nodes) node.op = "work";
  Pretended run(std::move(plan));
  CHECK(run.starts("a").at(100).ends("a").starts("b").eta() == 207);
  CHECK(run.at(400).ends("b").starts("c7").eta() == 207);   // 100 and 300, so d's 200
  run.at(500).ends("c7").starts("d").at(600).ends("d");
  CHECK(run.begin().at(1000).eta() == 100 + 300 + 100 + 100);
}

TEST_CASE("what was found, skipped or read in a journal says nothing of how long it takes") {
  Plan plan = fixture::tree("s[a b c]");
  for (PlanNode& node : plan.nodes) node.op = "work";
  plan.nodes[2].kind = NodeKind::Step;
  Pretended run(std::move(plan));
  run.starts("a").tell(Kind::CacheHit, "a").ends("a").starts("b").tell(Kind::NodeSkipped, "b");
  CHECK(run.ends("b").eta() == -1);
  run.begin(true).at(1000).starts("a").at(2000).ends("a").starts("b").at(3000).ends("b");
  CHECK(run.starts("c").at(3001).ends("c").begin(true).at(4000).eta() == 3000);
  // An effect that is performed takes the time that it takes.
  run.starts("a").at(5000).ends("a").starts("b").at(6000).ends("b").starts("c");
  run.tell(Kind::EffectStarted, "c").at(11'000).ends("c");
  CHECK(run.begin(true).at(20'000).eta() == 7000);
}

TEST_CASE("a wave has its longest branch, or as much as its threads have to do") {
  const char* const wave = "s[p[a1000 s[b500 c2000] d4000] e100]";
  CHECK(Pretended(fixture::tree(wave), 0).eta() == 4100);
  CHECK(Pretended(fixture::tree(wave), 1).eta() == 7600);
  CHECK(Pretended(fixture::tree(wave), 2).eta() == 4100);
  Pretended run(fixture::tree(wave), 2);
  run.starts("d4000").starts("b500").at(500).ends("b500").starts("c2000");
  CHECK(run.eta() == 3600);
  CHECK(run.at(2500).ends("c2000").starts("a1000").eta() == 1600);
  CHECK(run.at(3500).ends("a1000").at(4000).ends("d4000").starts("e100").eta() == 100);
}

TEST_CASE("a stream is timed as a whole: its stages overlap, and wait for each other") {
  const auto chain = [](const char* b, const char* c) {
    PlanBuilder builder;
    builder.open(Variant::Sequence).execute("a100");
    builder.stream(8).execute(b, {"a100"}).execute(c, {b}).close();
    return builder.execute("e100", {c}).close().take();
  };
  CHECK(Pretended(chain("b3000", "c1000"), 1).eta() == 4200);
  CHECK(Pretended(chain("b3000", "c1000"), 2).eta() == 3200);
  CHECK(Pretended(chain("b", "c1000"), 2).eta() == -1);

  Pretended run(chain("b3000", "c1000"), 2);
  run.starts("a100").at(100).ends("a100").starts("b3000").at(1100).starts("c1000");
  CHECK(run.eta() == 2100);
  CHECK(run.at(5100).ends("b3000").eta() == 100);       // the other should have ended as well
  CHECK(run.at(6200).eta() == -1);                      // more than twice as long
  CHECK(run.at(6300).ends("c1000").starts("e100").eta() == 100);
  run.at(6400).ends("e100");

  // What it took goes before what its stages declare, also where one declares nothing.
  CHECK(run.begin().at(10'000).eta() == 6400);
  run.starts("a100").at(10'100).ends("a100").starts("b3000").at(11'100);
  CHECK(run.eta() == 5300);
  run.starts("c1000").tell(Kind::CacheHit, "c1000").at(11'200).ends("b3000").ends("c1000");
  CHECK(run.begin().at(20'000).eta() == 6400);          // a stage that was found says nothing

  Pretended unknown(chain("b", "c1000"), 2);
  unknown.starts("a100").ends("a100").starts("b").starts("c1000").at(700).ends("b").ends("c1000");
  CHECK(unknown.starts("e100").at(800).ends("e100").begin().eta() == 800);
}

TEST_CASE("of a branch's arms the dearest counts, until one is taken") {
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("b500").branch("b500", {"it", "else"});
  builder.execute("y1000").execute("n3000").close().execute("z200").close();
  Pretended run(builder.take());
  CHECK(run.eta() == 3700);
  CHECK(run.starts("b500").at(500).ends("b500").starts("y1000").eta() == 1200);
}

TEST_CASE("of a step's hand-offs the dearest counts, until it has ended") {
  const auto plan = [] {
    PlanBuilder builder;
    builder.open(Variant::Sequence).step("s500", {"h1000", "i2000"}).execute("h1000");
    return builder.execute("i2000").close().execute("z200").close().take();
  };
  Pretended one(plan());
  CHECK(one.eta() == 2700);
  CHECK(one.starts("s500").at(500).ends("s500").starts("h1000").eta() == 1200);
  Pretended none(plan());
  CHECK(none.starts("s500").at(500).ends("s500").eta() == 200);
}

TEST_CASE("a loop has the passes that its bound leaves; one with a signal may end at any time") {
  PlanBuilder builder;
  builder.open(Variant::Sequence).loop("l", 3, "", "q500").open(Variant::Sequence);
  builder.execute("p1000").execute("q500", {"p1000"}).close().close().execute("z200").close();
  Pretended run(builder.take());
  CHECK(run.eta() == 4700);
  CHECK(run.starts("l").starts("p1000").at(1000).ends("p1000").starts("q500").eta() == 3700);
  CHECK(run.at(1500).ends("q500").pass("l", 1).starts("p1000").eta() == 3200);
  CHECK(run.at(2500).ends("p1000").starts("q500").at(3000).ends("q500").pass("l", 2).eta() == 1700);
  CHECK(run.starts("p1000").at(4000).ends("p1000").starts("q500").at(4500).eta() == 200);
  run.ends("q500").pass("l", 3, Event::Ended::ByBound);
  CHECK(run.at(4600).eta() == 200);
  CHECK(run.ends("l").starts("z200").at(4700).eta() == 100);

  PlanBuilder open;
  open.open(Variant::Sequence).loop("l", 9, "p1000", "p1000").execute("p1000").close();
  Pretended signal(open.execute("z200").close().take());
  CHECK(signal.eta() == -1);
  CHECK(signal.starts("l").starts("p1000").at(1000).ends("p1000").eta() == -1);
  signal.pass("l", 1, Event::Ended::BySignal).ends("l");
  CHECK(signal.at(1100).eta() == 200);
}

TEST_CASE("loops within loops begin anew in each pass") {
  PlanBuilder builder;
  builder.loop("o", 2, "", "").open(Variant::Sequence).loop("i", 3, "", "").execute("a100").close();
  builder.execute("b50").close().close();
  Pretended run(builder.take());
  CHECK(run.eta() == 700);
  i64 now = 0, left = 700;
  for (u64 outer = 1; outer <= 2; ++outer) {
    if (outer == 1) run.starts("o");
    run.starts("i");
    for (u64 inner = 1; inner <= 3; ++inner, left -= 100) {
      run.starts("a100");
      CHECK(run.eta() == left);
      run.at(now += 100).ends("a100").pass("i", inner, inner < 3 ? Event::Ended::No
                                                                 : Event::Ended::ByBound);
    }
    run.ends("i").starts("b50").at(now += 50).ends("b50");
    left -= 50;
    run.pass("o", outer, outer < 2 ? Event::Ended::No : Event::Ended::ByBound);
    run.at(now += 100);
    CHECK(run.eta() == left);
  }
}

TEST_CASE("parts that run by counting take their longest way") {
  PlanBuilder builder;
  builder.dataflow({{}, {}, {0}, {0, 1}}).execute("a100").execute("b500").execute("c100", {"a100"});
  Pretended run(builder.execute("d200", {"a100", "b500"}).close().take(), 0);
  CHECK(run.eta() == 700);
  run.starts("a100").starts("b500").at(100).ends("a100").starts("c100").at(200).ends("c100");
  CHECK(run.eta() == 500);
  CHECK(run.at(500).ends("b500").starts("d200").at(600).eta() == 100);
}

TEST_CASE("times without end are no times, and depth takes no stack") {
  PlanBuilder builder;
  constexpr u32 depth = 100'000;
  for (u32 i = 0; i < depth; ++i) builder.loop(text("l{}x", i), u64{1} << 50, "", "");
  builder.execute("p");
  for (u32 i = 0; i < depth; ++i) builder.close();
  Pretended run(builder.take());
  run.starts("p").at(1).ends("p");
  CHECK(run.at(1000).eta() == -1);
  Plan empty;
  empty.items.push_back({Variant::Empty, no_node, 1, 0});
  CHECK(Pretended(std::move(empty)).eta() == 0);
}

}  // namespace soma
