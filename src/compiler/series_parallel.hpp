// The series-parallel tree of an acyclic graph.
#pragma once

#include "compiler/successors.hpp"

namespace soma {

struct BlockTree {
  enum class Kind : u8 {
    Leaf,      // a node: blocks below the number of nodes are those, by their place in the order
    Series,    // one after the other
    Parallel,  // nothing between them
    Tangle,    // connected, and nothing in it comes after all of something else: no tree has it
  };
  static constexpr u32 none = ~u32{0};

  struct Block {
    Kind kind = Kind::Leaf;
    u32 first_child = none, last_child = none;
    u32 next = none;           // child of the same block
    u32 earliest = none;       // the first place in the order of all its nodes
  };
  std::vector<Block> blocks;
  u32 root = none;             // none: no nodes

  template <typename Use>
  void each_child(u32 block, Use child) const {
    for (u32 at = blocks[block].first_child; at != none; at = blocks[at].next) child(at);
  }
};

// `graph`'s nodes are in topological order: edges lead from smaller numbers to greater ones. Series
// hold two blocks or more, none of them a Series; Parallel likewise, its blocks in no order.
BlockTree series_parallel_tree(const Successors& graph);

}  // namespace soma
