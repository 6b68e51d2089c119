// Proves that values are shared, released once and without recursion, and compared exactly.
#include "value/value.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "unit/base/failing_memory.hpp"
#include "value/describe.hpp"

namespace soma {

namespace {

void count_release(void* object) { ++*static_cast<int*>(object); }

// [[[…[innermost]…]]], or the same of maps.
Value nested(size_t depth, Value innermost, bool maps = false) {
  for (size_t i = 0; i < depth; ++i) {
    if (maps) {
      std::vector<Member> members;
      members.push_back({"k", std::move(innermost)});
      innermost = Value::map(std::move(members));
    } else {
      std::vector<Value> elements;
      elements.push_back(std::move(innermost));
      innermost = Value::list(std::move(elements));
    }
  }
  return innermost;
}

Value integer(i64 number) { return Value::integer(number); }
Value number(double worth) { return Value::number(worth); }

}  // namespace

TEST_CASE("each kind gives back what it was made of") {
  CHECK(Value().is_null());
  CHECK(Value::boolean(true).truth());
  CHECK_FALSE(Value::boolean(false).truth());
  CHECK(integer(std::numeric_limits<i64>::min()).integer() == std::numeric_limits<i64>::min());
  CHECK(number(0.5).number() == 0.5);
  CHECK(Value::text("é").text() == "é");
  const Value bytes = Value::bytes({1, 0, 255});
  CHECK(bytes.bytes().size() == 3);
  CHECK(bytes.bytes()[2] == 255);
  const Value list = Value::list({integer(1), Value::text("two"), Value()});
  CHECK(list.list().size() == 3);
  CHECK(list.list()[1].text() == "two");
  const Value map = Value::map({{"a", integer(1)}, {"b", list}});
  CHECK(map.map()[1].key == "b");
  CHECK(map.find("a")->integer() == 1);
  CHECK(map.find("b")->list().data() == list.list().data());
  CHECK(map.find("c") == nullptr);
  int object = 0;
  CHECK(Value::opaque(&object, nullptr).opaque() == &object);

  const Value all[] = {Value(), Value::boolean(true), integer(1), number(1), Value::text(""),
                       Value::bytes({}), Value::list({}), Value::map({}),
                       Value::opaque(nullptr, nullptr)};
  std::string names;
  for (const Value& value : all) names += std::string(value_kind_name(value.kind())) + " ";
  CHECK(names == "null bool integer number text bytes list map opaque ");
}

TEST_CASE("an opaque value is released once, with its last reference") {
  int released = 0;
  {
    Value a = Value::opaque(&released, count_release);
    Value b = a;
    Value c = Value::list({a, b, a});
    CHECK(c.list()[2] == a);
    Value d = std::move(a);
    CHECK(a.is_null());  // NOLINT(bugprone-use-after-move): what a move leaves is promised
    b = Value();
    d = c;
    c = Value::text("gone");
    CHECK(released == 0);
    CHECK(d.list().size() == 3);
  }
  CHECK(released == 1);
}

TEST_CASE("assignment survives itself, and its own parts") {
  int released = 0;
  Value value = Value::list({Value::list({Value::opaque(&released, count_release)})});
  Value& alias = value;
  value = alias;
  value = std::move(alias);
  REQUIRE(value.is(ValueKind::List));
  value = value.list()[0];
  CHECK(released == 0);
  value = value.list()[0];
  CHECK(value.is(ValueKind::Opaque));
  value = {};
  CHECK(released == 1);
}

TEST_CASE("the sole owner is known") {
  Value a = Value::text("shared");
  CHECK(a.is_sole_owner());
  {
    const Value b = a;  // NOLINT(performance-unnecessary-copy-initialization): the copy is the test
    CHECK_FALSE(a.is_sole_owner());
    CHECK_FALSE(b.is_sole_owner());
  }
  CHECK(a.is_sole_owner());
  CHECK(integer(3).is_sole_owner());
  CHECK(Value().is_sole_owner());
}

TEST_CASE("values are shared by threads, and the last one releases") {
  int released = 0;
  Value shared = Value::list({Value::opaque(&released, count_release), Value::text("x")});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([own = shared] {
      for (int turn = 0; turn < 10000; ++turn) {
        Value copy = own;
        Value part = copy.list()[1];
        copy = std::move(part);
      }
    });
  }
  shared = Value();
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  CHECK(released == 1);
}

TEST_CASE("values nest a million deep") {
  constexpr size_t depth = 1000000;
  for (const bool maps : {false, true}) {
    int released = 0;
    {
      Value a = nested(depth, Value::opaque(&released, count_release), maps);
      const Value b = nested(depth, Value::opaque(&released, nullptr), maps);
      const Value other = nested(depth, integer(1), maps);
      CHECK(a == b);
      CHECK_FALSE(a == other);
      CHECK_FALSE(a == nested(depth + 1, integer(1), maps));
      const Value inner = maps ? a.map()[0].value : a.list()[0];
      a = Value();
      CHECK(released == 0);
    }
    CHECK(released == 1);
  }
}

TEST_CASE("integers and numbers are compared by their worth, exactly") {
  constexpr i64 edge = i64{1} << 53;
  constexpr i64 most = std::numeric_limits<i64>::max(), least = std::numeric_limits<i64>::min();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double not_a_number = std::nan("");
  struct Row {
    Value a, b;
    std::partial_ordering order;
  };
  const auto less = std::partial_ordering::less, equal = std::partial_ordering::equivalent;
  const auto unordered = std::partial_ordering::unordered;
  const Row table[] = {
      {integer(1), number(1), equal},
      {integer(0), number(-0.0), equal},
      {integer(-3), integer(4), less},
      {integer(1), number(1.5), less},
      {number(0.5), integer(1), less},
      {integer(-2), number(-1.5), less},
      {number(-1.5), integer(-1), less},
      {integer(edge), number(9007199254740992.0), equal},
      {number(9007199254740992.0), integer(edge + 1), less},
      {integer(-edge - 1), number(-9007199254740992.0), less},
      {integer(most), number(9223372036854775808.0), less},
      {number(9223372036854774784.0), integer(most), less},
      {integer(least), number(-9223372036854775808.0), equal},
      {number(-9223372036854777856.0), integer(least), less},
      {integer(most), number(infinity), less},
      {number(-infinity), integer(least), less},
      {integer(0), number(5e-324), less},
      {number(-5e-324), integer(0), less},
      {integer(0), number(not_a_number), unordered},
      {number(not_a_number), number(not_a_number), unordered},
      {integer(0), Value::text("0"), unordered},
      {Value(), integer(0), unordered},
  };
  for (const Row& row : table) {
    CAPTURE(describe(row.a));
    CAPTURE(describe(row.b));
    CHECK(bool(order_of_numbers(row.a, row.b) == row.order));
    CHECK(bool(order_of_numbers(row.b, row.a) == (0 <=> row.order)));
    CHECK((row.a == row.b) == bool(row.order == equal));
    CHECK((row.b == row.a) == bool(row.order == equal));
  }
}

TEST_CASE("other values are equal in kind and content") {
  int object = 0, another = 0;
  const Value different[] = {
      Value(),
      Value::boolean(false),
      Value::boolean(true),
      integer(0),
      number(0.5),
      Value::text(""),
      Value::text("a"),
      Value::text(std::string("a\0", 2)),
      Value::bytes({}),
      Value::bytes({'a'}),
      Value::list({}),
      Value::list({Value()}),
      Value::list({Value(), Value()}),
      Value::list({Value::list({}), Value()}),
      Value::list({Value(), Value::list({})}),
      Value::map({}),
      Value::map({{"a", integer(1)}}),
      Value::map({{"b", integer(1)}}),
      Value::map({{"a", integer(2)}}),
      Value::map({{"a", integer(1)}, {"b", integer(2)}}),
      Value::map({{"b", integer(2)}, {"a", integer(1)}}),
      Value::map({{"a", Value::list({})}}),
      Value::opaque(&object, nullptr),
      Value::opaque(&another, nullptr),
  };
  for (const Value& a : different) {
    for (const Value& b : different) {
      CAPTURE(describe(a));
      CAPTURE(describe(b));
      CHECK((a == b) == (&a == &b));
    }
  }
  CHECK(Value::map({{"a", Value::list({integer(1), Value::text("x")})}}) ==
        Value::map({{"a", Value::list({number(1), Value::text("x")})}}));
  CHECK(Value::opaque(&object, nullptr) == Value::opaque(&object, nullptr));
}

TEST_CASE("a value is described in a few words") {
  CHECK(describe(Value()) == "null");
  CHECK(describe(Value::boolean(true)) == "true");
  CHECK(describe(integer(-3)) == "the integer -3");
  CHECK(describe(number(0.1)) == "the number 0.1");
  CHECK(describe(Value::text("a\x1b")) == "the text 'a\\x1b'");
  CHECK(describe(Value::text(std::string(1000, 'x'))).size() < 100);
  CHECK(describe(Value::bytes({1, 2})) == "2 bytes");
  CHECK(describe(Value::list({Value()})) == "a list of 1");
  CHECK(describe(Value::map({})) == "an empty map");
  CHECK(describe(Value::map({{"a", Value()}, {"b", Value()}})) == "a map of 'a', 'b'");
  std::vector<Member> many;
  for (int i = 0; i < 10; ++i) many.push_back({std::to_string(i), Value()});
  CHECK(describe(Value::map(many)) == "a map of '0', '1', '2', '3', '4', '5', '6', '7' and 2 more");
  CHECK(describe(Value::opaque(nullptr, nullptr)) == "an opaque value");
}

TEST_SUITE_BEGIN("own new");

TEST_CASE("without memory nothing is leaked, and what was handed over is released") {
  int released = 0, made = 0;
  const int failures = fixture::run_out_of_memory([&] {
    ++made;
    std::vector<Value> elements;
    elements.reserve(2);
    elements.push_back(Value::opaque(&released, count_release));
    elements.push_back(Value::text("a text that is longer than a short one"));
    const Value list = Value::list(std::move(elements));
    const Value map = Value::map({{"k", list}, {"a key that is longer than a short one", list}});
    (void)(map == Value::map({{"k", list}, {"a key that is longer than a short one", list}}));
  });
  CHECK(failures > 5);
  // The first failure came before there was anything to release.
  CHECK(released == made - 1);
}

TEST_SUITE_END();

}  // namespace soma
