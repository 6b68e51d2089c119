// Regions: which nodes lie in the body of a loop, in an arm or behind a hand-off.
//
// An edge that enters a construct opens a region within the region of the construct's node: one for
// each entrance, which a loop has one of, and a branch or a step one for each arm or hand-off. A
// node lies in a region if every way to it leads through that entrance: so a join of two arms is
// outside of both, and a join inside a body is part of it. That is dominance, by a node that one
// imagines at each entrance.
#pragma once

#include "graph/graph.hpp"

namespace soma {

struct RegionLink {
  static constexpr u32 no_entrance = ~u32{0};
  static constexpr u32 nowhere = ~u32{0};

  u32 from = nowhere, to = nowhere;  // nodes; nowhere: the link is passed over
  u32 entrance = no_entrance;        // of `from`, counted from 0: which one it goes through
  bool is_body = false;              // that entrance is a loop's
  bool is_capture = false;           // crosses into regions by design: asked nothing
};

struct Regions {
  static constexpr u32 outermost = 0;  // the whole graph
  static constexpr u32 nobody = ~u32{0};

  struct Region {
    u32 outer = outermost;           // the region around it
    u32 depth = 0;
    u32 construct = nobody;          // the node whose entrance opens it
    u32 entrance = 0;
    u32 body = outermost;            // the innermost loop's body that it is or lies in
  };
  std::vector<Region> regions;       // a region comes after the one around it
  std::vector<u32> of;               // by node: the innermost region that it lies in

  bool lies_in(u32 region, u32 outer) const {
    while (regions[region].depth > regions[outer].depth) region = regions[region].outer;
    return region == outer;
  }
  // The innermost region that both lie in.
  u32 meet(u32 a, u32 b) const {
    while (a != b) {
      u32& deeper = regions[a].depth < regions[b].depth ? b : a;
      deeper = regions[deeper].outer;
    }
    return a;
  }
};

// Is an edge an entrance of the node that it leaves: into a body, an arm or a hand-off?
bool enters_construct(NodeKind from, const GraphEdge& edge);
// The edges of a graph, subgraphs as single nodes. An edge to nowhere, or to its own node, is none.
std::vector<RegionLink> region_links(const Graph& graph);

// Linear, times the depth of nesting where links of different depths meet. Nodes on a cycle or
// behind one lie in the outermost region.
Regions find_regions(size_t nodes, std::span<const RegionLink> links);

// The nodes that nothing follows, in their order: an end of the body that they lie in, or of the
// graph. A loop's own body doesn't follow it, since the loop stands for its body; arms do, so their
// ends count one by one.
std::vector<u32> find_ends(size_t nodes, std::span<const RegionLink> links);
// Those of the graph itself, which lie in no loop's body.
std::vector<u32> find_leaves(const Regions& regions, std::span<const RegionLink> links);

}  // namespace soma
