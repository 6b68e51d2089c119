// From a graph and options at the wall to a plan object.
#pragma once

#include "abi/graph.hpp"
#include "abi/plan.hpp"
#include "compiler/compile.hpp"

namespace soma::wall {

Result<CompileOptions> compile_options(const soma_options* options);  // of kind compile, or NULL
Result<Ref<soma_plan>> compile_graph(const soma_graph& graph, const CompileOptions& options);

}  // namespace soma::wall
