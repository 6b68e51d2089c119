// Proves that values come from JSON and go into it unchanged, and that what has no JSON form is
// named by its place.
#include "value/value_json.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "unit/base/failing_memory.hpp"
#include "value/describe.hpp"

namespace soma {

namespace {

Value read(std::string_view text) {
  const Result<Json> json = Json::parse(text);
  CAPTURE(text);
  REQUIRE(json.ok());
  return value_of(json->root());
}

std::string written(const Value& value) { return value_json(value).value(); }

std::string refusal(const Value& value) {
  const Result<std::string> json = value_json(value);
  REQUIRE_FALSE(json.ok());
  CHECK(json.error().id() == "value.no_json");
  return json.error().message();
}

using Random = std::mt19937_64;
size_t below(Random& random, size_t end) { return static_cast<size_t>(random() % end); }

double random_double(Random& random) {
  for (;;) {
    const u64 bits = random();
    double out = 0;
    std::memcpy(&out, &bits, sizeof out);
    if (below(random, 2) == 0) out = std::ldexp(static_cast<double>(bits >> 11), 1);
    if (std::isfinite(out)) return out;
  }
}

Value random_value(Random& random, int depth) {
  static const std::string texts[] = {"", "a", "é€😀", "\"\\\n\x1f", "9007199254740993"};
  switch (below(random, depth > 0 ? 8 : 6)) {
    case 0: return Value();
    case 1: return Value::boolean(below(random, 2) == 0);
    case 2: return Value::integer(static_cast<i64>(random()) >> 10);
    case 3: return Value::integer(static_cast<i64>(below(random, 10)) - 5);
    case 4: return Value::number(random_double(random));
    case 5: return Value::text(texts[below(random, 5)]);
    case 6: {
      std::vector<Value> elements;
      for (size_t i = below(random, 5); i > 0; --i) {
        elements.push_back(random_value(random, depth - 1));
      }
      return Value::list(std::move(elements));
    }
    default: {
      std::vector<Member> members;
      for (size_t i = below(random, 5); i > 0; --i) {
        members.push_back({std::to_string(i) + texts[i], random_value(random, depth - 1)});
      }
      return Value::map(std::move(members));
    }
  }
}

}  // namespace

TEST_CASE("documents become values of the kinds they look like") {
  const Value value = read(R"({"null":null,"yes":true,"whole":3,"also":3.0,"big":1e3,"half":0.5,
      "zero":0,"minus":-0,"far":1e300,"over":9007199254740994.0,"edge":-9007199254740992,
      "text":"é","list":[1,[],{}],"map":{"b":1,"a":2}})");
  std::string kinds;
  for (const Member& member : value.map()) {
    kinds += member.key + ":" + std::string(value_kind_name(member.value.kind())) + " ";
  }
  CHECK(kinds ==
        "null:null yes:bool whole:integer also:integer big:integer half:number zero:integer "
        "minus:number far:number over:number edge:integer text:text list:list map:map ");
  CHECK(value.find("big")->integer() == 1000);
  CHECK(value.find("list")->list()[1].is(ValueKind::List));
  CHECK(value.find("list")->list()[2].is(ValueKind::Map));
  CHECK(value.find("map")->map()[0].key == "b");
  CHECK(std::signbit(value.find("minus")->number()));
}

TEST_CASE("values become documents") {
  struct Row {
    Value value;
    std::string_view json;
  };
  constexpr i64 edge = i64{1} << 53;
  const Row table[] = {
      {Value(), "null"},
      {Value::boolean(false), "false"},
      {Value::integer(-7), "-7"},
      {Value::integer(edge), "9007199254740992"},
      {Value::integer(edge + 1), "\"9007199254740993\""},
      {Value::integer(std::numeric_limits<i64>::min()), "\"-9223372036854775808\""},
      {Value::number(0.1), "0.1"},
      {Value::number(-0.0), "-0"},
      {Value::number(3), "3"},
      {Value::number(9007199254740994.0), "9.007199254740994e+15"},
      {Value::number(-9500000000000000.0), "-9.5e+15"},
      {Value::number(1e16), "1e+16"},
      {Value::number(1e-7), "1e-07"},
      {Value::text("a\"\n"), "\"a\\\"\\n\""},
      {Value::bytes({}), R"({"bytes":""})"},
      {Value::bytes({0, 255, 16}), R"({"bytes":"AP8Q"})"},
      {Value::bytes({0, 255}), R"({"bytes":"AP8="})"},
      {Value::list({}), "[]"},
      {Value::map({}), "{}"},
      {Value::list({Value(), Value::list({Value::integer(1)}), Value::integer(2)}),
       "[null,[1],2]"},
      {Value::map({{"b", Value::map({{"", Value()}})}, {"a", Value::list({Value()})}}),
       R"({"b":{"":null},"a":[null]})"},
  };
  for (const Row& row : table) {
    CAPTURE(row.json);
    CHECK(written(row.value) == row.json);
    JsonWriter writer;
    writer.array();
    CHECK(write_value(writer, row.value).ok());
    writer.value(1).close();
    CHECK(std::move(writer).take() == "[" + std::string(row.json) + ",1]");
  }
}

TEST_CASE("what was written reads as the same value, in the same bytes") {
  Random random(1);
  for (int turn = 0; turn < 10000; ++turn) {
    const Value value = random_value(random, 4);
    const std::string text = written(value);
    CAPTURE(text);
    const Value again = read(text);
    CHECK(again == value);
    CHECK(written(again) == text);
  }
}

TEST_CASE("what has no form is named by its place") {
  const Value infinite = Value::number(std::numeric_limits<double>::infinity());
  CHECK(refusal(infinite) ==
        "it: expected a value that has a JSON form, got the number inf: leave it out, or turn it "
        "into a text");
  CHECK(refusal(Value::number(std::nan(""))).find("the number nan") != std::string::npos);
  const Value opaque = Value::opaque(nullptr, nullptr);
  const Value inner = Value::map({{"a b", Value::list({Value(), opaque})}, {"c", infinite}});
  CHECK(refusal(Value::map({{"x", Value::list({inner})}})).starts_with("it.x[0][\"a b\"][1]: "));

  Value deep = opaque;
  for (int i = 0; i < 1000; ++i) deep = Value::list({std::move(deep)});
  const std::string message = refusal(deep);
  CHECK(message.starts_with("it[0][0]"));
  CHECK(message.find("…: expected") != std::string::npos);
  CHECK(message.size() < 500);
}

TEST_CASE("values nest deeper in JSON than the stack goes") {
  constexpr size_t depth = 200000;
  Value value;
  for (size_t i = 0; i < depth; ++i) value = Value::list({std::move(value)});
  const std::string text = written(value);
  CHECK(text.size() == 2 * depth + 4);
  CHECK(text.starts_with("[[["));
}

TEST_SUITE_BEGIN("own new");

TEST_CASE("without memory neither way leaks") {
  const Json json =
      Json::parse(R"({"a":[1,"a text that is longer than a short one"],"b":{}})").value();
  CHECK(fixture::run_out_of_memory([&] {
          const Value value = value_of(json.root());
          (void)value_json(value);
        }) > 10);
}

TEST_SUITE_END();

TEST_CASE("what no reader takes is not written") {
  const std::string with_nul("a\0b", 3);
  CHECK(refusal(Value::text(with_nul)) ==
        "it: the text holds the character NUL, which texts in JSON may not: take it out, or make "
        "it bytes");
  CHECK(refusal(Value::list({Value::text("a"), Value::map({{with_nul, Value()}})}))
            .starts_with("it[1][\"a\\u0000b\"]: the key holds the character NUL"));
  CHECK(value_json(Value::bytes({'a', 0})).ok());
}

}  // namespace soma
