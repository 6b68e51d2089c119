// Proves that measured times are read strictly, and what an estimate is printed as.
#include "compiler/measured.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "unit/plan/plan_builder.hpp"

namespace soma {

namespace {

std::string read(std::string_view json) {
  const Result<std::vector<MeasuredTime>> times = parse_measured(json);
  if (!times.ok()) return fixture::problems_of(times);
  std::string out;
  for (const MeasuredTime& time : *times) {
    out += text("{} {} {}\n", time.of == MeasuredTime::Of::Node ? "node" : "op", time.name,
                time.median_us);
  }
  return out;
}

size_t lines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("times are read") {
  CHECK(read("") == "");
  CHECK(read("{}") == "");
  CHECK(read(R"({"ops":{"std.add":2.5},"nodes":{"a":0,"nodes":1e9}})") ==
        "op std.add 2.5\nnode a 0\nnode nodes 1000000000\n");
}

TEST_CASE("everything wrong is said at once") {
  const std::string found = read(R"({"nodes":{"a":-1,"b":"2","c":3},"ops":[],"times":{}})");
  CHECK(lines(found) == 4);
  CHECK(found.find("nodes.a") != found.npos);
  CHECK(found.find("nodes.b") != found.npos);
  CHECK(found.find("nodes.c") == found.npos);
  CHECK(found.find("document.unknown_key") != found.npos);
  CHECK(read("[]").starts_with("document.type "));
  CHECK(read("{").starts_with("document.syntax "));
  CHECK(read(R"({"nodes":{"a":1,"a":1}})").starts_with("document.duplicate_key "));
}

TEST_CASE("an estimate is printed with what is not known") {
  Plan plan = fixture::tree("s[a p[b c]]");
  plan.nodes[0].edit().cost_us = 1.5;
  const auto shown = [&](const std::vector<MeasuredTime>& times, u64 threads) {
    return estimate_json(plan, estimate(plan, times, threads), threads);
  };
  CHECK(shown({}, 0) == R"({"total_us":null,"known_us":1.5,"critical_path_us":1.5,"work_us":1.5,)"
                        R"("threads":0,"unknown":["b","c"]})");
  CHECK(shown({{MeasuredTime::Of::Node, "b", 4}, {MeasuredTime::Of::Op, "c", 2}}, 1) ==
        R"({"total_us":7.5,"known_us":7.5,"critical_path_us":5.5,"work_us":7.5,)"
        R"("threads":1,"unknown":[]})");
}

}  // namespace soma
