// Proves that plans come back from their binary form, and that every cut, every flipped bit and
// every lie in it is one error that says where.
#include "plan/binary.hpp"

#include <doctest/doctest.h>

#include "base/compress.hpp"
#include "base/memory.hpp"
#include "unit/plan/random_plan.hpp"

namespace soma {

namespace {

using fixture::PlanBuilder;

constexpr size_t head_bytes = 28, checksum_bytes = 32;

Plan small() {
  PlanBuilder builder;
  builder.open(Variant::Sequence).execute("a").execute("b", {"a"}).close();
  return builder.take();
}

struct Refusal {
  std::string reason, message;
};

Refusal refusal_of(std::string_view bytes) {
  const Result<Plan> plan = parse_plan(bytes);
  if (plan.ok()) return {};
  return {std::string(plan.error().id()), plan.error().message()};
}

std::string with(std::string bytes, size_t at, std::string_view instead) {
  return bytes.replace(at, instead.size(), instead);
}

}  // namespace

TEST_CASE("random plans come back from both forms") {
  std::mt19937 random(9);
  for (u32 round = 0; round < 200; ++round) {
    const Plan plan = fixture::random_plan(random, round % 50);
    const std::string document = plan.document(), binary = plan_binary(plan).value();
    REQUIRE(is_plan_binary(binary));
    REQUIRE(!is_plan_binary(document));
    REQUIRE(plan_binary(plan).value() == binary);
    REQUIRE(plan_binary_document(binary).value() == document);
    REQUIRE(parse_plan(binary).value().document() == document);
    REQUIRE(parse_plan(document).value().document() == document);
  }
}

TEST_CASE("it is small") {
  PlanBuilder builder;
  builder.open(Variant::Sequence);
  for (u32 i = 0; i < 1000; ++i) {
    builder.execute(text("node_{}", i), i == 0 ? PlanBuilder::Texts() :
                    PlanBuilder::Texts{text("node_{}", i - 1)});
  }
  const Plan plan = builder.close().take();
  CHECK(plan_binary(plan).value().size() < plan.document().size() / 8);
}

TEST_CASE("every cut is one error") {
  const std::string binary = plan_binary(small()).value();
  for (size_t size = 0; size < binary.size(); ++size) {
    const Refusal refusal = refusal_of(std::string_view(binary).substr(0, size));
    CAPTURE(size);
    REQUIRE(refusal.reason == (size < 8 ? "document.syntax" : "document.corrupt"));
  }
  CHECK(refusal_of(binary.substr(0, 30)).message.find(
            "cut off: at least 60 bytes are needed, 30 are there") != std::string::npos);
  CHECK(refusal_of(binary.substr(0, binary.size() - 1)).message.find(
            "cut off: byte 20 says") != std::string::npos);
  CHECK(refusal_of(binary + "x").message.find("too long: byte 20 says") != std::string::npos);
}

TEST_CASE("every flipped bit is one error") {
  const std::string binary = plan_binary(small()).value();
  for (size_t bit = 0; bit < 8 * binary.size(); ++bit) {
    std::string broken = binary;
    broken[bit / 8] = static_cast<char>(static_cast<u8>(broken[bit / 8]) ^ (1U << bit % 8));
    const std::string expected = bit < 64               ? "document.syntax"
                                 : bit < 8 * 12         ? "document.version"
                                                        : "document.corrupt";
    CAPTURE(bit);
    REQUIRE(refusal_of(broken).reason == expected);
    const Result<Plan> refused = parse_plan(broken);
    REQUIRE(refused.error().others().empty());
  }
}

TEST_CASE("another version is refused with both numbers") {
  const std::string binary = plan_binary(small()).value();
  CHECK(refusal_of(with(binary, 8, std::string_view("\x02\x01\0\0", 4))).message ==
        "the plan's binary form is of version 258, and this library reads version 1");
}

TEST_CASE("lies under a right checksum are refused, and cost nothing") {
  const std::string document = small().document(), frame = compress(document).value();
  CHECK(refusal_of(plan_binary_around(frame, document.size())).reason.empty());
  Memory memory{Allocator()};
  const MemoryScope scope(&memory);
  CHECK(refusal_of(plan_binary_around(frame, document.size() + 1)).reason == "document.corrupt");
  CHECK(refusal_of(plan_binary_around(frame, document.size() - 1)).reason == "document.corrupt");
  CHECK(refusal_of(plan_binary_around(frame, size_t{1} << 28)).reason == "document.corrupt");
  CHECK(refusal_of(plan_binary_around(frame, (u64{1} << 28) + 1)).reason == "document.limit");
  CHECK(refusal_of(plan_binary_around(frame, ~u64{0})).reason == "document.limit");
  CHECK(refusal_of(plan_binary_around("", 0)).reason == "document.corrupt");
  const Refusal broken = refusal_of(plan_binary_around("\x28\xb5\x2f\xfd nonsense", 100));
  CHECK(broken.reason == "document.corrupt");
  CHECK(broken.message.starts_with("the content at byte 28: "));
  CHECK(memory.allocated.peak_bytes < 2'000'000);
}

TEST_CASE("what is in it is read as strictly as other documents") {
  const auto refused = [](const std::string& document) {
    return refusal_of(plan_binary_around(compress(document).value(), document.size())).reason;
  };
  CHECK(refused("{") == "document.syntax");
  CHECK(refused("") == "document.syntax");
  CHECK(refused("\xff") == "document.syntax");
  std::string newer = small().document();
  newer.replace(newer.find("\"version\":1"), 11, "\"version\":2");
  CHECK(refused(newer) == "document.version");
  static_assert(head_bytes + checksum_bytes == 60);
}

}  // namespace soma
