// Where the items of a plan lie: what is around each, and how that is called.
#pragma once

#include <map>

#include "plan/plan.hpp"

namespace soma {

inline constexpr u32 no_item = ~u32{0};

// Execute, Step and Loop: they execute or stand for their node, and so give it its place.
constexpr bool places_node(Variant variant) {
  return variant == Variant::Execute || variant == Variant::Step || variant == Variant::Loop;
}

// Constructs around a place, from the outside: the same number in both plans for the same ones.
class Contexts {
 public:
  u32 within(u32 outer, std::string construct) {
    const u32 next = static_cast<u32>(known_.size()) + 1;
    return known_.emplace(std::pair(outer, std::move(construct)), next).first->second;
  }

 private:
  std::map<std::pair<u32, std::string>, u32> known_;
};

// Where each item of a plan lies.
struct PlanLayout {
  const Plan& plan;
  std::vector<u32> outer, index, depth, context;  // by item; index: which child of the outer one
  std::vector<u32> nodes_before;                  // by item: places of nodes before it
  std::vector<u32> item_of;                       // by node

  PlanLayout(const Plan& a_plan, Contexts& contexts);
  // How one gets from the item around a child to the child: "sequence[2]", "branch(gate)[else]".
  // Of constructs, the same text in another plan is the same step.
  std::string step(u32 child) const;
  // The steps from the whole plan to a node: "sequence[2] > branch(gate)[else]". Of very deep ones
  // the last.
  std::string place(u32 node) const;
};

}  // namespace soma
