// Proves that the exact form gives every value back, kind and bits, and refuses what is none.
#include "value/exact_json.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "base/json.hpp"

namespace soma {

namespace {

// Equal in kind too, and in the bits of numbers.
bool is_same(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case ValueKind::Number: {
      const bool are_nan = std::isnan(a.number()) && std::isnan(b.number());
      return are_nan || std::bit_cast<u64>(a.number()) == std::bit_cast<u64>(b.number());
    }
    case ValueKind::List: return std::ranges::equal(a.list(), b.list(), is_same);
    case ValueKind::Map:
      return std::ranges::equal(a.map(), b.map(), [](const Member& one, const Member& other) {
        return one.key == other.key && is_same(one.value, other.value);
      });
    case ValueKind::Null:
    case ValueKind::Bool:
    case ValueKind::Integer:
    case ValueKind::Text:
    case ValueKind::Bytes:
    case ValueKind::Opaque: break;
  }
  return a == b;
}

std::string come_back(const Value& value) {
  const std::string json = exact_json(value).value();
  CAPTURE(json);
  CHECK(Json::parse(json).ok());
  const Result<Value> back = value_of_exact_json(json);
  REQUIRE(back.ok());
  CHECK(is_same(*back, value));
  return json;
}

std::string nul_text() { return std::string("a\0b", 3); }

Value nested(u32 depth) {
  Value value;
  for (u32 i = 0; i < depth; ++i) {
    std::vector<Value> one;
    one.push_back(std::move(value));
    value = Value::list(std::move(one));
  }
  return value;
}

using Random = std::mt19937_64;

Value random_value(Random& random, u32 depth) {
  const auto below = [&random](u64 end) { return random() % end; };
  static const std::string texts[] = {"", "$bytes", "$map", "$", "é€😀", nul_text(), "a"};
  const auto text = [&] { return texts[below(std::size(texts))]; };
  switch (below(depth > 0 ? 8 : 6)) {
    case 0: return below(2) == 0 ? Value() : Value::boolean(below(2) == 0);
    case 1: return Value::integer(static_cast<i64>(random()) >> below(64));
    case 2: return Value::number(std::bit_cast<double>(random()));
    case 3: return Value::number(static_cast<double>(static_cast<i64>(random()) >> below(64)));
    case 4: return Value::text(text());
    case 5: return Value::bytes(std::vector<u8>(below(9), static_cast<u8>(random())));
    case 6: {
      std::vector<Value> list;
      for (u64 i = below(4); i > 0; --i) list.push_back(random_value(random, depth - 1));
      return Value::list(std::move(list));
    }
    default: {
      std::vector<Member> map;
      for (u64 i = below(3); i > 0; --i) {
        std::string key = text();
        const auto is_key = [&key](const Member& member) { return member.key == key; };
        if (std::ranges::any_of(map, is_key)) continue;
        map.push_back({std::move(key), random_value(random, depth - 1)});
      }
      return Value::map(std::move(map));
    }
  }
}

}  // namespace

TEST_CASE("what JSON says is written as it is") {
  CHECK(come_back(Value()) == "null");
  CHECK(come_back(Value::boolean(true)) == "true");
  CHECK(come_back(Value::integer(-3)) == "-3");
  CHECK(come_back(Value::integer(i64{1} << 53)) == "9007199254740992");
  CHECK(come_back(Value::number(0.1)) == "0.1");
  CHECK(come_back(Value::text("é\n")) == R"("é\n")");
  CHECK(come_back(Value::list({Value::integer(1), Value()})) == "[1,null]");
  CHECK(come_back(Value::map({{"b", Value::integer(1)}, {"$a", Value()}})) ==
        R"({"b":1,"$a":null})");
}

TEST_CASE("what it does not is an object that says so") {
  CHECK(come_back(Value::integer(std::numeric_limits<i64>::min())) ==
        R"({"$integer":"-9223372036854775808"})");
  CHECK(come_back(Value::number(3)) == R"({"$number":"3"})");
  CHECK(come_back(Value::number(-0.0)) == R"({"$number":"-0"})");
  CHECK(come_back(Value::number(1e300)) == R"({"$number":"1e+300"})");
  CHECK(come_back(Value::number(-std::numeric_limits<double>::infinity())) ==
        R"({"$number":"-inf"})");
  CHECK(come_back(Value::number(-std::nan("1"))) == R"({"$number":"nan"})");
  CHECK(come_back(Value::bytes({0, 255})) == R"({"$bytes":"AP8="})");
  CHECK(come_back(Value::text(nul_text())) == R"({"$text":"YQBi"})");
  CHECK(come_back(Value::map({{"$bytes", Value::text("AP8=")}})) ==
        R"({"$map":["$bytes","AP8="]})");
  CHECK(come_back(Value::map({{nul_text(), Value::integer(1)}, {"k", Value()}})) ==
        R"({"$map":[{"$text":"YQBi"},1,"k",null]})");
}

TEST_CASE("random values come back") {
  Random random(7);
  for (u32 round = 0; round < 20'000; ++round) come_back(random_value(random, 4));
}

TEST_CASE("as deep as the limit says, and no deeper") {
  come_back(nested(exact_json_depth_max));
  CHECK(exact_json(nested(exact_json_depth_max + 1)).error().id() == "value.no_json");
  Value pairs;
  for (u32 i = 0; i < exact_json_depth_max; ++i) pairs = Value::map({{"$", std::move(pairs)}});
  come_back(pairs);
  CHECK(exact_json(Value::list({Value::opaque(nullptr, nullptr)})).error().id() ==
        "value.no_json");
}

TEST_CASE("what is no exact form is refused") {
  const auto refusal = [](std::string_view json) {
    const Result<Value> value = value_of_exact_json(json);
    CAPTURE(json);
    REQUIRE_FALSE(value.ok());
    return std::string(value.error().id());
  };
  for (const std::string_view json :
       {R"({"$number":3})", R"({"$number":"3x"})", R"({"$integer":"1.5"})", R"({"$bytes":"?"})",
        R"({"$text":"/w=="})", R"({"$map":["a"]})", R"({"$map":[1,2]})",
        R"({"$map":["a",1,"a",2]})", R"({"$map":{}})", R"({"$other":"x"})", R"({"$":null})"}) {
    CHECK(refusal(json) == "document.type");
  }
  CHECK(refusal("[1") == "document.syntax");
  CHECK(refusal(R"({"a":1,"a":2})") == "document.duplicate_key");
}

}  // namespace soma
