// Which nodes of a plan a cache may be asked for, and what their keys are made of before a run.
#pragma once

#include "cache/key.hpp"
#include "run/binding.hpp"

namespace soma {

struct Cacheable {
  u32 node = no_node;
  bool is_kept = false;             // its value is looked up and put; otherwise it may be skipped
  bool is_needed = false;           // whatever is found, somebody reads its value
  bool is_in_stream = false;        // it runs once for each chunk
  DigestBytes digest = {};          // of the node
  std::optional<DigestBytes> recipe = {};
};

// In the order of the plan. All that a node with a recipe reads is among them.
std::vector<Cacheable> find_cacheable(const Plan& plan, const Course& course,
                                      const Values& values, const Binding& binding);

}  // namespace soma
