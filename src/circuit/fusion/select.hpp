// Chooses which matches become groups.
#pragma once

#include "circuit/fusion/match.hpp"

namespace soma {

struct Candidate {
  const Rule* rule = nullptr;
  std::vector<NodeId> nodes;  // in the pattern's order
  double saved_ns = 0;
};

struct Selection {
  std::vector<Candidate> chosen;  // in the order of choice
  std::vector<NodeId> uncovered;  // nodes no rule took
  struct Lost {
    Candidate candidate;
    std::string why;
  };
  std::vector<Lost> lost;  // matches that were given up, for explain
};

// Why a request can't use a rule at all, or nothing.
std::optional<std::string> why_excluded(const Rule& rule, const KernelCatalogue& catalogue,
                                        const PlanRequest& request);

Selection select(const Circuit& circuit, const Dependencies& dependencies,
                 const FusionRules::Table& rules, const KernelCatalogue& catalogue,
                 const PlanRequest& request);

}  // namespace soma
