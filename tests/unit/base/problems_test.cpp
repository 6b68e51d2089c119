// Proves that problems are collected in order, that a flood of them stays bounded, and that none
// means success.
#include "base/problems.hpp"

#include <doctest/doctest.h>

namespace soma {

TEST_CASE("no problem is success") {
  Problems problems;
  CHECK(problems.none());
  CHECK(std::move(problems).status().ok());
}

TEST_CASE("the first problem carries the others in their order") {
  Problems problems;
  for (int i = 0; i < 3; ++i) problems.add(fail(Reason::internal, "problem {}", i));
  CHECK(problems.count() == 3);
  const Status status = std::move(problems).status();
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().message() == "problem 0");
  REQUIRE(status.error().others().size() == 2);
  CHECK(status.error().others()[1].message() == "problem 2");
}

TEST_CASE("a flood of problems is counted, not kept") {
  Problems problems;
  for (int i = 0; i < 100000; ++i) problems.add(fail(Reason::internal, "problem {}", i));
  const Error error = std::move(problems).take();
  REQUIRE(error.others().size() == Problems::kept_max);
  CHECK(error.others().back().message() ==
        text("{} more problems are not listed", 100000 - Problems::kept_max));
}

}  // namespace soma
