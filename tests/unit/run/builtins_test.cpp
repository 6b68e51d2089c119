// Proves what each built-in op yields of which input, what it refuses, and that wrong settings are
// found before anything runs, also in plans that no compiler made.
#include <doctest/doctest.h>

#include "base/clock.hpp"
#include "unit/plan/plan_builder.hpp"
#include "unit/run/run_text.hpp"

namespace soma {

namespace {

using fixture::value_from;

Plan plan_of(std::string_view op, std::string_view config) {
  fixture::PlanBuilder builder;
  builder.execute("x");
  builder.node().op = op;
  builder.node().edit().config = value_from(config);
  return builder.take();
}

std::string yields(std::string_view op, std::string_view config, std::string_view input) {
  const fixture::TestOps ops;
  return fixture::outcome(plan_of(op, config), ops, value_from(input));
}

std::string fails(std::string_view message) {
  return text("run.node_failed: node 'x' failed: {}", message);
}

}  // namespace

TEST_CASE("std.identity and std.const") {
  CHECK(yields("std.identity", "null", R"({"a":[1,2]})") == R"({"a":[1,2]})");
  CHECK(yields("std.const", R"({"value":{"k":null}})", "7") == R"({"k":null})");
  CHECK(yields("std.const", R"({"value":null})", "7") == "null");
}

TEST_CASE("std.add") {
  CHECK(yields("std.add", R"({"value":2})", "3") == "5");
  CHECK(yields("std.add", R"({"value":0.5})", "3") == "3.5");
  CHECK(yields("std.add", R"({"value":1})", R"("3")") ==
        fails("std.add: expected a number, got the text '3' (run.input)"));
}

TEST_CASE("integers stay exact within 64 bits, and become numbers beyond") {
  const fixture::TestOps ops;
  const auto plus_one = [&](i64 number) {
    const Plan plan = plan_of("std.add", R"({"value":1})");
    auto run = Run::create(plan, ops, {}).value();
    CHECK(run->start(Value::integer(number), nullptr).ok());
    return run->finish().value();
  };
  CHECK(plus_one(INT64_MAX - 1) == Value::integer(INT64_MAX));
  CHECK(plus_one(INT64_MAX).is(ValueKind::Number));
  CHECK(plus_one(INT64_MAX) == Value::number(9223372036854775808.0));
}

TEST_CASE("std.sum") {
  CHECK(yields("std.sum", "null", "4") == "4");
  CHECK(yields("std.sum", "null", R"({"a":1,"b":2,"c":0.5})") == "3.5");
  CHECK(yields("std.sum", "{}", "{}") == "0");
  CHECK(yields("std.sum", "null", R"({"a":1,"b":"2"})") ==
        fails("std.sum: expected a number as member 'b', got the text '2' (run.input)"));
  CHECK(yields("std.sum", "null", "[1]") ==
        fails("std.sum: expected a number or a map of numbers, got a list of 1 (run.input)"));
}

TEST_CASE("std.concat") {
  CHECK(yields("std.concat", "null", R"({"b":"x","a":"y"})") == R"("xy")");
  CHECK(yields("std.concat", "null", R"({"a":[1],"b":[],"c":[[2]]})") == "[1,[2]]");
  CHECK(yields("std.concat", "null", R"("alone")") == R"("alone")");
  CHECK(yields("std.concat", "null", R"({"a":"x","b":[1]})") ==
        fails("std.concat: expected a text, as the others are, as member 'b', got a list of 1 "
              "(run.input)"));
  CHECK(yields("std.concat", "null", R"({"a":1})") ==
        fails("std.concat: expected a text or a list as member 'a', got the integer 1 "
              "(run.input)"));
  CHECK(yields("std.concat", "null", "{}") ==
        fails("std.concat: expected texts or lists, got an empty map (run.input)"));
}

TEST_CASE("std.get, std.test and std.format") {
  CHECK(yields("std.get", R"({"path":"a[-1].b"})", R"({"a":[0,{"b":"deep"}]})") == R"("deep")");
  CHECK(yields("std.get", R"({"path":"it"})", "5") == "5");
  CHECK(yields("std.get", R"({"path":"a.b"})", R"({"a":1})") ==
        fails("a.b: expected a to be a map with a member 'b', got the integer 1; has(…) asks for a "
              "member (run.predicate)"));
  CHECK(yields("std.test", R"({"predicate":"score > 0.8"})", R"({"score":0.9})") == "true");
  CHECK(yields("std.test", R"({"predicate":"else"})", "null") == "true");
  CHECK(yields("std.format", R"({"template":"{{{name}}} is {age}, {tags[\"a}b\"]}"})",
               R"({"name":"Ada","age":36,"tags":{"a}b":[1]}})") == R"("{Ada} is 36, [1]")");
}

TEST_CASE("std.fail says what it was told") {
  CHECK(yields("std.fail", R"({"message":"not today"})", "null") == fails("not today"));
}

TEST_CASE("std.sleep yields its input, and stops when asked to") {
  CHECK(yields("std.sleep", R"({"ms":1})", "3") == "3");
  const fixture::TestOps ops;
  Cancel cancel;
  cancel.set_deadline(now_ns() + 5'000'000);
  const std::string stopped = fixture::outcome(plan_of("std.sleep", R"({"ms":9000000000})"), ops,
                                               Value(), {}, &cancel);
  CHECK(stopped.starts_with("deadline: the caller's deadline passed"));
}

TEST_CASE("wrong settings are found before the run, all of them") {
  const auto broken = [](std::string_view op, std::string_view config) {
    return yields(op, config, "null");
  };
  CHECK(broken("std.get", "null") ==
        "graph.config: node 'x': config.path is missing: std.get takes a path as a text");
  CHECK(broken("std.get", R"({"path":"a..b"})").starts_with("graph.config: node 'x': config.path"));
  CHECK(broken("std.add", R"({"value":"1"})") ==
        "graph.config: node 'x': config.value: expected a number, got the text '1'");
  CHECK(broken("std.sleep", R"({"ms":-1})").starts_with("graph.config: node 'x': config.ms"));
  CHECK(broken("std.sum", R"({"extra":1})") ==
        "graph.config: node 'x': config: 'extra' is no setting of std.sum, which takes no "
        "settings");
  const fixture::TestOps ops;
  const Plan plan = plan_of("std.add", R"({"valeu":1})");
  const Error error = std::move(Run::create(plan, ops, {})).error();
  REQUIRE(error.others().size() == 1);
  CHECK(error.others()[0].message() ==
        "node 'x': config: 'valeu' is no setting of std.add, which takes value");
}

}  // namespace soma
