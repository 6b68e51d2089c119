// What tables in memory find a graph by.
#pragma once

#include "base/hash.hpp"
#include "graph/graph.hpp"

namespace soma {

// Graphs with equal keys have equal documents, and so compile to equal plans. The other way round
// nothing is promised, not even from one version to the next: such a key is for this process only.
DigestBytes graph_key(const Graph& graph);

}  // namespace soma
