// The parts of Plan::verify, and how they complain.
#pragma once

#include "base/problems.hpp"
#include "plan/place.hpp"

namespace soma {

struct PlanCheck {
  const Plan& plan;
  Problems problems;

  void complain(std::string_view what);
  void complain_at(u32 item, std::string_view what);  // "item 3, execute 'a': …"
  void complain_of(u32 node, std::string_view what);  // "node 'a': …"
};

// verify.cpp: do the items nest? All else needs that.
bool check_nesting(PlanCheck& check);
// … the table of nodes, their share in the table of sources, names, the digest.
void check_records(PlanCheck& check);
// verify_tree.cpp: what each item is, holds and names.
void check_tree(PlanCheck& check);
// verify_reads.cpp: who reads what, signals and carries of loops, leaves.
void check_reads(PlanCheck& check);

}  // namespace soma
