// Proves that values come back from their binary form bit by bit, that equal contents and no others
// have equal forms, and that everything else is refused without taking what it claims.
#include "value/value_binary.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "base/memory.hpp"
#include "unit/value/random_value.hpp"

namespace soma {

namespace {

std::string form_of(const Value& value) { return value_binary(value).value(); }

std::string number(u64 value) {
  std::string out(8, '\0');
  std::memcpy(out.data(), &value, 8);
  return out;
}

std::string tagged(char form, u64 value) { return std::string(1, form) + number(value); }

std::string refusal_of(std::string_view bytes) {
  const Result<Value> value = value_from_binary(bytes);
  return value.ok() ? "none" : std::string(value.error().id());
}

Value back(const Value& value) { return value_from_binary(form_of(value)).value(); }

}  // namespace

TEST_CASE("the forms are those of the page") {
  using namespace std::string_literals;
  CHECK(form_of({}) == "\0"s);
  CHECK(form_of(Value::boolean(false)) == "\1"s);
  CHECK(form_of(Value::boolean(true)) == "\2"s);
  CHECK(form_of(Value::integer(-1)) == tagged(3, ~u64{0}));
  CHECK(form_of(Value::number(1.0)) == tagged(4, 0x3ff0000000000000));
  CHECK(form_of(Value::text("ü")) == tagged(5, 2) + "ü");
  CHECK(form_of(Value::bytes({0, 255})) == tagged(6, 2) + "\0\xff"s);
  CHECK(form_of(Value::list({Value(), Value::boolean(true)})) == tagged(7, 2) + "\0\2"s);
  CHECK(form_of(Value::map({{"b", {}}, {"a", {}}})) ==
        tagged(8, 2) + number(1) + "b\0"s + number(1) + "a\0"s);
}

TEST_CASE("numbers keep their bits, but for those that are none") {
  for (const u64 bits : {u64{0}, u64{1} << 63, u64{1}, u64{0x7ff0000000000000},
                         u64{0xfff0000000000000}, u64{0x000fffffffffffff}}) {
    const Value value = back(Value::number(std::bit_cast<double>(bits)));
    CHECK(std::bit_cast<u64>(value.number()) == bits);
  }
  for (const u64 bits : {u64{0x7ff0000000000001}, u64{0xfff8000000000000}, ~u64{0}}) {
    const std::string form = form_of(Value::number(std::bit_cast<double>(bits)));
    CHECK(form == tagged(4, 0x7ff8000000000000));
    CHECK(std::isnan(value_from_binary(form).value().number()));
    CHECK(refusal_of(tagged(4, bits)) == "document.corrupt");
  }
}

TEST_CASE("random values come back, and have equal forms only if their contents are the same") {
  fixture::RandomValue random(1);
  std::map<std::string, DigestBytes> digests;
  for (u32 i = 0; i < 5000; ++i) {
    const Value value = random.make();
    const std::string form = form_of(value);
    const Value read = value_from_binary(form).value();
    REQUIRE(form_of(read) == form);
    REQUIRE(value_digest(value) == value_digest(read));
    ContentDigest digest;
    digest.feed(form);
    REQUIRE(value_digest(value) == digest.bytes());
    digests[form] = *value_digest(value);
  }
  std::map<DigestBytes, u32> seen;
  for (const auto& [form, digest] : digests) CHECK(++seen[digest] == 1);
  CHECK(digests.size() > 1000);
  CHECK(form_of(Value::integer(1)) != form_of(Value::number(1)));
  CHECK(form_of(Value::map({{"a", {}}, {"b", {}}})) != form_of(Value::map({{"b", {}}, {"a", {}}})));
}

TEST_CASE("opaque values have no form, nor has what holds one") {
  const Value opaque = Value::opaque(nullptr, nullptr);
  const Value within = Value::list({Value::map({{"x", Value::list({opaque})}})});
  CHECK_FALSE(value_binary(opaque));
  CHECK_FALSE(value_binary(within));
  CHECK_FALSE(value_digest(within));
  CHECK(has_opaque(within));
  CHECK_FALSE(has_opaque(Value::list({Value::text("opaque")})));
}

TEST_CASE("depth has no limit") {
  Value deep;
  constexpr u32 depth = 300'000;
  for (u32 i = 0; i < depth; ++i) {
    std::vector<Value> one;
    one.push_back(std::move(deep));
    deep = Value::list(std::move(one));
  }
  const std::string form = form_of(deep);
  CHECK(form.size() == depth * 9 + 1);
  CHECK(form_of(value_from_binary(form).value()) == form);
  CHECK(value_memory_bytes(deep) > depth * 16);
}

TEST_CASE("every cut and every byte that follows is refused") {
  fixture::RandomValue random(2);
  for (u32 i = 0; i < 60; ++i) {
    const std::string form = form_of(Value::list({random.make(), random.make()}));
    for (size_t cut = 0; cut < form.size() && cut < 400; ++cut) {
      REQUIRE(refusal_of(std::string_view(form).substr(0, cut)) == "document.corrupt");
    }
    REQUIRE(refusal_of(form + '\0') == "document.corrupt");
  }
}

TEST_CASE("a form with a changed bit is refused, or is that of another value") {
  fixture::RandomValue random(3);
  u32 refused = 0, others = 0;
  for (u32 i = 0; i < 40; ++i) {
    const std::string form = form_of(Value::list({random.make(), random.make()}));
    for (size_t bit = 0; bit < 8 * form.size() && bit < 4000; ++bit) {
      std::string changed = form;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
      const Result<Value> value = value_from_binary(changed);
      ++(value.ok() ? others : refused);
      if (value.ok()) REQUIRE(form_of(*value) == changed);
    }
  }
  CHECK(refused > 1000);
  CHECK(others > 1000);
}

TEST_CASE("what is no value is refused") {
  using namespace std::string_literals;
  CHECK(refusal_of("") == "document.corrupt");
  CHECK(refusal_of("\x09"s) == "document.corrupt");
  CHECK(refusal_of("\xff"s) == "document.corrupt");
  CHECK(refusal_of(tagged(5, 1) + "\xff"s) == "document.corrupt");
  CHECK(refusal_of(tagged(8, 1) + number(1) + "\xff\0"s) == "document.corrupt");
  const std::string a = number(1) + "a\0"s;
  CHECK(refusal_of(tagged(8, 2) + a + a) == "document.corrupt");
  std::string many = tagged(8, 20);
  for (char key = 'a'; key < 'a' + 19; ++key) many += number(1) + key + "\0"s;
  CHECK(refusal_of(many + number(1) + "z\0"s) == "none");
  CHECK(refusal_of(many + number(1) + "c\0"s) == "document.corrupt");
}

TEST_CASE("claims take no memory") {
  // A thousand lists within each other, each of which claims to have more than all bytes together.
  std::string greedy;
  for (u32 i = 0; i < 1000; ++i) greedy += tagged(7, 1'000'000);
  greedy += std::string(1'000'000, '\0');
  Memory memory{Allocator()};
  {
    const MemoryScope scope(&memory);
    CHECK(refusal_of(greedy) == "document.corrupt");
    CHECK(refusal_of(tagged(7, ~u64{0})) == "document.corrupt");
    CHECK(refusal_of(tagged(8, ~u64{0} / 9 + 2)) == "document.corrupt");
    CHECK(refusal_of(tagged(5, ~u64{0})) == "document.corrupt");
  }
  CHECK(memory.allocated.peak_bytes.load() < 40'000'000);
}

}  // namespace soma
