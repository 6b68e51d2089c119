// Linear runs of an acyclic graph: nodes that can only follow one another.
#pragma once

#include "compiler/successors.hpp"

namespace soma {

struct Runs {
  std::vector<u32> first;    // of run i: nodes first[i] up to first[i + 1]; empty: each is one node
  Successors graph;          // of the runs; if each is one node, left empty, as it is the one given

  u32 begin(u32 run) const { return first.empty() ? run : first[run]; }
  u32 end(u32 run) const { return first.empty() ? run + 1 : first[run + 1]; }
};

// `graph`'s nodes are in topological order: edges lead from smaller numbers to greater ones.
Runs find_runs(const Successors& graph);

}  // namespace soma
