// Which node must run before which: the one truth that matching, selection and ordering share.
#pragma once

#include "circuit/circuit.hpp"

namespace soma {

struct Dependencies {
  std::vector<std::vector<NodeId>> after;  // by node: those that must run after it, ascending
  // Pairs by which a stream value is read by `reader` and then replaced, in place, by `writer`.
  struct Replacement { NodeId reader, writer; };
  std::vector<Replacement> replacements;
};
// Of a validated circuit.
Dependencies find_dependencies(const Circuit& circuit);

}  // namespace soma
