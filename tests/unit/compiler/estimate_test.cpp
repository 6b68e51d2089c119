// Proves how times of nodes add up to that of a plan, and that what is unknown is never nothing.
#include "compiler/estimate.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "unit/plan/plan_builder.hpp"

namespace soma {

namespace {

using fixture::PlanBuilder;

// Each node whose id ends in digits takes that many µs: a10, b250.
Plan with_costs(Plan plan) {
  for (PlanNode& node : plan.nodes) {
    const std::string id = node.id.str();
    const size_t digits = id.find_first_of("0123456789");
    if (digits != id.npos) node.edit().cost_us = std::stod(id.substr(digits));
  }
  return plan;
}

std::string shown(const PlanEstimate& estimate) {
  return text("{} known {} path {} work {}",
              estimate.total_us ? text("{}", *estimate.total_us) : "unknown", estimate.known_us,
              estimate.critical_path_us, estimate.work_us);
}

std::string time_of(Plan plan, u64 threads = 0, const std::vector<MeasuredTime>& measured = {}) {
  return shown(estimate(with_costs(std::move(plan)), measured, threads));
}

}  // namespace

TEST_CASE("nodes, sequences and waves") {
  CHECK(time_of(fixture::tree("a10")) == "10 known 10 path 10 work 10");
  CHECK(time_of(fixture::tree("s[a10 b20 c30]")) == "60 known 60 path 60 work 60");
  CHECK(time_of(fixture::tree("s[a10 p[b20 s[c30 d40]] e5]")) == "85 known 85 path 85 work 105");
  CHECK(time_of(fixture::tree("c[a10 b20]")) == "30 known 30 path 30 work 30");
  Plan empty;
  empty.items.push_back({Variant::Empty, no_node, 1, 0});
  CHECK(time_of(empty) == "0 known 0 path 0 work 0");
}

TEST_CASE("a wave needs its work's threads") {
  CHECK(time_of(fixture::tree("p[a10 b10 c10 d10]"), 0) == "10 known 10 path 10 work 40");
  CHECK(time_of(fixture::tree("p[a10 b10 c10 d10]"), 1) == "40 known 40 path 10 work 40");
  CHECK(time_of(fixture::tree("p[a10 b10 c10 d10]"), 2) == "20 known 20 path 10 work 40");
  CHECK(time_of(fixture::tree("p[a10 b10 c10 d30]"), 3) == "30 known 30 path 30 work 60");
  CHECK(time_of(fixture::tree("p[s[p[a10 b10] c5] d15]"), 2) == "20 known 20 path 15 work 40");
}

TEST_CASE("what is unknown stays unknown, beside a lower bound") {
  Plan plan = with_costs(fixture::tree("s[a10 p[b d40] e]"));
  const PlanEstimate partly = estimate(plan, {}, 0);
  CHECK(shown(partly) == "unknown known 50 path 50 work 50");
  REQUIRE(partly.unknown.size() == 2);
  CHECK(plan.nodes[partly.unknown[0]].id == "b");
  CHECK(plan.nodes[partly.unknown[1]].id == "e");
}

TEST_CASE("what was measured: a node's own time before its op's, and a declared one before both") {
  Plan plan = fixture::tree("s[a b c7]");
  for (PlanNode& node : plan.nodes) node.op = "std.sleep";
  const std::vector<MeasuredTime> measured = {{MeasuredTime::Of::Op, "std.sleep", 100},
                                              {MeasuredTime::Of::Node, "b", 20},
                                              {MeasuredTime::Of::Node, "c7", 1}};
  CHECK(time_of(plan, 0, measured) == "127 known 127 path 127 work 127");
  // An op without a name of its own is the node's id; what is no time is passed over.
  CHECK(time_of(fixture::tree("a"), 0, {{MeasuredTime::Of::Op, "a", 3}}) ==
        "3 known 3 path 3 work 3");
  CHECK(time_of(fixture::tree("a"), 0, {{MeasuredTime::Of::Node, "a", std::nan("")}}) ==
        "unknown known 0 path 0 work 0");
  CHECK(time_of(fixture::tree("a"), 0, {{MeasuredTime::Of::Node, "a", -1}}) ==
        "unknown known 0 path 0 work 0");
}

TEST_CASE("loops count their bound, and without one nobody knows") {
  PlanBuilder bounded;
  bounded.loop("l", 4, "q20", "q20").open(Variant::Sequence).execute("p10");
  bounded.execute("q20", {"p10"}).close().close();
  CHECK(time_of(bounded.take()) == "120 known 120 path 120 work 120");

  PlanBuilder open;
  open.loop("l", 0, "q20", "q20").execute("q20").close();
  Plan plan = with_costs(open.take());
  const PlanEstimate estimated = estimate(plan, {}, 0);
  CHECK(shown(estimated) == "unknown known 20 path 20 work 20");
  REQUIRE(estimated.unknown.size() == 1);
  CHECK(plan.nodes[estimated.unknown[0]].id == "l");
}

TEST_CASE("a branch costs its dearest arm, behind the node that decides; a step its hand-off") {
  PlanBuilder branch;
  branch.open(Variant::Sequence).execute("b5").branch("b5", {"it", "else"});
  branch.execute("y10").execute("n30").close().close();
  CHECK(time_of(branch.take()) == "35 known 35 path 35 work 35");

  PlanBuilder unknown;
  unknown.open(Variant::Sequence).execute("b5").branch("b5", {"it", "else"});
  unknown.execute("y").execute("n30").close().close();
  CHECK(time_of(unknown.take()) == "unknown known 35 path 35 work 35");

  PlanBuilder step;
  step.step("s5", {"h", "i"}).execute("h10").execute("i20").close();
  CHECK(time_of(step.take()) == "25 known 25 path 25 work 25");
}

TEST_CASE("parts that run by counting take their longest way, or their work's threads") {
  // a -> c, a -> d, b -> d
  const auto flow = [] {
    PlanBuilder builder;
    builder.dataflow({{}, {}, {0}, {0, 1}}).execute("a10").execute("b50").execute("c10", {"a10"});
    return builder.execute("d20", {"a10", "b50"}).close().take();
  };
  CHECK(time_of(flow(), 0) == "70 known 70 path 70 work 90");
  CHECK(time_of(flow(), 1) == "90 known 90 path 70 work 90");
}

TEST_CASE("streams and slices cost what is in them, and a subgraph's own node nothing") {
  PlanBuilder stream;
  stream.stream(8).execute("a10").execute("b20", {"a10"}).close();
  CHECK(time_of(stream.take()) == "30 known 30 path 30 work 30");
  PlanBuilder remote;
  remote.remote({Target::Kind::Tag, "gpu"}).execute("a10").close();
  CHECK(time_of(remote.take()) == "10 known 10 path 10 work 10");
  PlanBuilder subgraph;
  subgraph.open(Variant::Sequence).execute("p10").execute("g", {"p10"}, NodeKind::Subgraph).close();
  CHECK(time_of(subgraph.take()) == "10 known 10 path 10 work 10");
}

TEST_CASE("no estimate is infinite, and loops nested 100,000 deep take no stack") {
  PlanBuilder builder;
  constexpr u32 depth = 100'000;
  for (u32 i = 0; i < depth; ++i) builder.loop(text("l{}", i), u64{1} << 50, "", "");
  builder.execute("p1");
  for (u32 i = 0; i < depth; ++i) builder.close();
  Plan plan = builder.take();
  plan.nodes.back().edit().cost_us = 1;
  const PlanEstimate estimated = estimate(plan, {}, 4);
  REQUIRE(estimated.total_us);
  CHECK(std::isfinite(*estimated.total_us));
  CHECK(*estimated.total_us > 1e300);
}

}  // namespace soma
