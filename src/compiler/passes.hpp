// The passes, in their order; compile.cpp says what holds between them.
#pragma once

#include "compiler/compile.hpp"
#include "compiler/draft.hpp"
#include "compiler/successors.hpp"
#include "graph/regions.hpp"

namespace soma {

// validate.cpp: nodes, ports, devices, settings, loops' bounds, arms; isolated nodes.
void validate(const Draft& draft, const CompileOptions& options, Diagnostics& diagnostics);
// Which values an edge that is an arm takes. predicate_syntax.
Result<Arm> arm_of(const Draft& draft, const DraftEdge& edge);

// order.cpp: the nodes in the order of Kahn's algorithm, first ready node in insertion order; fewer
// than all, and graph_cycle, if there is a cycle.
std::vector<u32> order(const Draft& draft, Diagnostics& diagnostics);

// regions.cpp: who owns whom, and whether that can be.
struct RegionLevel {              // a region, with each construct in it contracted to its node
  std::vector<u32> nodes;         // of the draft, in insertion order; called by their place here
  Successors graph;               // of them: edges into and out of constructs' regions lifted
  std::vector<u32> order;         // of them
};
struct Ownership {
  Regions regions;
  std::vector<RegionLevel> levels;      // by region
};
// region_* reasons. Only of a draft without cycles.
Ownership own(const Draft& draft, Diagnostics& diagnostics);

// loops.cpp: signal and carry of each loop, by node of the draft; bodies that are none.
std::vector<PlanLoop> resolve_loops(const Draft& draft, const Regions& regions,
                                    Diagnostics& diagnostics);

// schema.cpp: do the ports of each edge fit, and does each symbol have one size?
void check_schema(const Draft& draft, Diagnostics& diagnostics);

// gradients.cpp: where gradients are cut. Only of a draft without cycles.
void check_gradients(const Draft& draft, const Regions& regions, std::span<const PlanLoop> loops,
                     Diagnostics& diagnostics);

// decompose.cpp: the series-parallel tree. From here on there is a plan.
Plan decompose(const Draft& draft, const Ownership& ownership, std::span<const PlanLoop> loops,
               bool parallelize_dag, Diagnostics& diagnostics);

// stream.cpp, composite.cpp, distribute.cpp: rewrite the tree of a plan; nodes keep their order.
void stream(Plan& plan, i64 chunk_size, Diagnostics& diagnostics);
void fuse_differentiable(Plan& plan);
void distribute(Plan& plan, Diagnostics& diagnostics);

}  // namespace soma
