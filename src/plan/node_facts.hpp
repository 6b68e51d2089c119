// What a node of a plan says about itself, as people read it.
#pragma once

#include "plan/plan.hpp"

namespace soma {

struct NodeFact {
  std::string name;               // the key that it has in documents
  std::string value;              // JSON, a text without its quotes
};

// All that is not as it usually is, in the order of documents; of what the node reads the first.
std::vector<NodeFact> node_facts(const Plan& plan, u32 node);

}  // namespace soma
