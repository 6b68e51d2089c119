// Proves that what a plan is said to take is near what it takes.
#include <doctest/doctest.h>

#include "base/memory.hpp"
#include "plan/memory.hpp"
#include "unit/plan/random_plan.hpp"

namespace soma {

TEST_CASE("a plan takes about what is said of it") {
  std::mt19937 random(11);
  for (const u32 nodes : {0U, 1U, 5U, 20U, 100U, 400U}) {
    for (int round = 0; round < 20; ++round) {
      const Plan plan = fixture::RandomPlan(random).make(nodes);
      const u64 said = plan_memory_bytes(plan);
      Memory memory({});
      const MemoryScope scope(&memory);
      const Plan copy = plan;
      const u64 taken = memory.allocated.bytes + sizeof copy;
      CAPTURE(plan.nodes.size());
      CHECK(said >= taken / 2);
      CHECK(said <= taken * 2);
    }
  }
}

}  // namespace soma
