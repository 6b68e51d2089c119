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

// A part of the draft that is put into order and planned alone.
struct RegionLevel {
  bool is_whole_draft = false;    // then it is as the draft says, and these two are left empty:
  std::vector<u32> nodes;         // of the draft, in insertion order; called by their place here
  Successors graph;               // of them
  std::vector<u32> order;         // of them; empty: they stand in it

  const Successors& followers(const Draft& draft) const {
    return is_whole_draft ? draft.followers : graph;
  }
};

// order.cpp: the draft as one level, in the order of Kahn's algorithm, first ready node in
// insertion order. Nothing, and graph_cycle, if there is a cycle.
std::optional<RegionLevel> order(const Draft& draft, Diagnostics& diagnostics);

// regions.cpp: who owns whom, and whether that can be.
struct Ownership {
  Regions regions;
  // By region, each construct in it contracted to its node: edges into and out of constructs'
  // regions are lifted.
  std::vector<RegionLevel> levels;
};
// region_* reasons. Takes what `order` made of the same draft.
Ownership own(const Draft& draft, RegionLevel whole, Diagnostics& diagnostics);

// loops.cpp: signal and carry of each loop, by node of the draft; bodies that are none. Nothing, if
// there are no loops.
std::vector<PlanLoop> resolve_loops(const Draft& draft, const Regions& regions,
                                    Diagnostics& diagnostics);

// schema.cpp: do the ports of each edge fit, and does each symbol have one size?
void check_schema(const Draft& draft, Diagnostics& diagnostics);

// gradients.cpp: where gradients are cut. Only of a draft without cycles.
void check_gradients(const Draft& draft, const Regions& regions, std::span<const PlanLoop> loops,
                     Diagnostics& diagnostics);

// decompose.cpp: the series-parallel tree. From here on there is a plan.
struct Decomposition {
  Plan plan;
  std::vector<u32> places;        // in it, by node of the draft
};
Decomposition decompose(const Draft& draft, const Ownership& ownership,
                        std::span<const PlanLoop> loops, bool parallelize_dag,
                        Diagnostics& diagnostics);

// origin.cpp: the graph that it was made of, as it lies in the plan or by its digest.
GraphOrigin find_origin(const Graph& graph, const Draft& draft, const Plan& plan,
                        std::vector<u32> places);

// stream.cpp, composite.cpp, distribute.cpp: rewrite the tree of a plan; nodes keep their order.
void stream(Plan& plan, i64 chunk_size, Diagnostics& diagnostics);
void fuse_differentiable(Plan& plan);
void distribute(Plan& plan, Diagnostics& diagnostics);

}  // namespace soma
