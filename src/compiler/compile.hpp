// From a graph to a plan.
#pragma once

#include "compiler/diagnostics.hpp"
#include "graph/graph.hpp"
#include "plan/plan.hpp"
#include "value/op_rule.hpp"

namespace soma {

struct CompileOptions {
  PlanMode mode = PlanMode::Inference;
  std::optional<i64> chunk_size;    // rows of a chunk: streams chains of nodes with a stream mode
  bool parallelize_dag = false;     // parts that are not series-parallel run by counting
  std::span<const OpRule> rules;    // what is known about ops: their settings are checked
};

// How long a pass took, and what it left behind where it leaves something to print.
struct PassReport {
  std::string_view pass;            // "validate", "order", …
  i64 took_ns = 0;
  std::string dump;                 // only if asked for
};

struct Compilation {
  std::optional<Plan> plan;         // none: the diagnostics hold an error
  Diagnostics diagnostics;
  std::vector<PassReport> passes;
};

// Pure: equal graphs and options give equal plans, byte for byte. Linear in nodes and edges but for
// sorting; uses no stack beyond the nesting of subgraphs.
Compilation compile(const Graph& graph, const CompileOptions& options, bool with_dumps = false);

}  // namespace soma
