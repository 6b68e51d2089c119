// Proves that ids are found by their text, whatever is in them and however many there are.
#include "graph/id_index.hpp"

#include <doctest/doctest.h>

namespace soma {

TEST_CASE("ids have numbers in the order in which they came, and repeats that of the first") {
  const std::string_view ids[] = {"a", "", "b", "a", "a/b"};
  IdIndex index(std::size(ids));
  const u32 numbers[] = {0, 1, 2, 0, 4};
  for (size_t i = 0; i < std::size(ids); ++i) CHECK(index.add(ids[i]) == numbers[i]);
  for (size_t i = 0; i < std::size(ids); ++i) CHECK(index.find(ids[i]) == numbers[i]);
  CHECK(index.find("c") == IdIndex::none);
  CHECK(IdIndex(0).find("a") == IdIndex::none);
}

TEST_CASE("a hundred thousand ids") {
  constexpr u32 count = 100'000;
  std::vector<std::string> ids;
  for (u32 i = 0; i < count; ++i) ids.push_back(std::to_string(i));
  IdIndex index(count);
  for (u32 i = 0; i < count; ++i) REQUIRE(index.add(ids[i]) == i);
  for (u32 i = 0; i < count; ++i) REQUIRE(index.find(ids[i]) == i);
  CHECK(index.find("-1") == IdIndex::none);
}

TEST_CASE("two tables spread the same texts differently") {
  CHECK(TextHash()("some text") != TextHash()("some text"));
}

}  // namespace soma
