// What distinguishes two plans: nodes that came and went, that run elsewhere, that say something
// else of themselves.
#pragma once

#include "plan/plan.hpp"

namespace soma {

struct PlanDiff {
  struct Placed {
    std::string id;
    std::string place;            // "sequence[2] > branch(gate)[else]"
  };
  struct Moved {
    std::string id;
    std::string before, after;    // places
  };
  struct Field {
    std::string name;             // as in documents
    Value before, after;          // null: not there, or its default
  };
  struct Changed {
    std::string id;
    std::vector<Field> fields;
  };

  std::vector<Field> plan;        // of the whole: mode, graph, leaves
  std::vector<Placed> added;      // these in the order of the plan after
  std::vector<Placed> removed;    // in the order of the plan before
  std::vector<Moved> moved;
  std::vector<Changed> changed;

  // Nothing differs: the plans have the same document.
  bool none() const {
    return plan.empty() && added.empty() && removed.empty() && moved.empty() && changed.empty();
  }
  // "moved b: sequence[1] -> sequence[1] > parallel[0]" a line.
  std::string text() const;
  // {"plan":[…],"removed":[…],"added":[…],"moved":[…],"changed":[…]}
  std::string json() const;
};

// Nodes are the same if their ids are. Both plans are verified.
PlanDiff diff(const Plan& before, const Plan& after);

}  // namespace soma
