// The course of a run: what one thread does if it runs a whole plan alone.
#pragma once

#include "plan/plan.hpp"

namespace soma {

// Whether an item's branches may run at the same time.
inline bool is_wave(Variant variant) {
  return variant == Variant::Parallel || variant == Variant::Dataflow;
}

// Nodes that lie together: a body, an arm, branches of a wave, the whole plan.
struct Region {
  u32 item = 0, item_end = 0;   // of the plan
  u32 begin = 0, end = 0;       // nodes
};

// A loop, a branch or a step: where a thread can't simply go on to the next node.
struct Construct {
  Variant variant = Variant::Empty;
  u32 node = no_node;           // Loop, Step: its own; Branch: that decided, before `begin`
  u32 detail = 0;               // in the plan's table of loops, branches or hand-offs
  u32 item = 0;
  u32 begin = 0, end = 0;       // nodes: a loop's or step's own, then those of its regions
  u32 outer = 0;                // the construct that it lies in, or Course::whole
  u32 regions = 0;              // its first: a loop's body, a branch's arms, a step's hand-offs
};

// Where a walk stops to decide: at a construct, a stream, or a wave that is worth more than one
// thread.
struct Stop {
  u32 begin = no_node;          // the node at which it comes
  u32 item = 0;
  u32 construct = 0;            // Course::whole: a wave or a stream
  u32 next = 0;                 // the first stop behind all that lie in it
  u32 nodes_min = 1;            // of a share of the wave
  i64 gain_ns = 0;              // by sharing the wave once
};

// A wave that is shared as soon as a walk comes to it, or a stream.
struct WorthyWave {
  u32 item = 0;
  u32 nodes_min = 1;            // of a share, so that taking it costs little beside it
  i64 gain_ns = 0;              // each time
};

class Course {
 public:
  static constexpr u32 whole = ~u32{0};  // in place of a construct: the plan

  explicit Course(const Plan& plan);

  std::span<const Construct> constructs() const { return constructs_; }
  const Region& region(u32 number) const { return regions_[number]; }  // neighbours, by construct
  u32 depth() const { return depth_; }   // of constructs within each other
  bool has_waves() const { return has_waves_; }  // or streams: work for more than one thread
  // Each with the item that it is.
  std::span<const Region> streams() const { return streams_; }
  bool is_in_stream(u32 node) const;

  // Stops in order, and one more that no node reaches. Between runs, some waves become stops;
  // streams always are, and may stand among the waves for what is known of them.
  std::span<const Stop> stops() const { return stops_; }
  void stop_at_waves(std::vector<WorthyWave> waves);
  u32 first_stop(u32 item) const;        // of those at `item` or behind it

  // Items [item, item_end), which are whole subtrees.
  Region items(u32 item, u32 item_end) const {
    return {item, item_end, first_node_[item], first_node_[item_end]};
  }
  // Only if the plan has waves or streams: the item around an item; the item of a node.
  u32 parent(u32 item) const { return parent_[item]; }
  u32 item_of(u32 node) const;

  // The innermost construct in whose regions a node lies, or `whole`.
  u32 around(u32 node) const;
  // From the outermost inwards, the loops in whose bodies a node lies, as constructs.
  std::vector<u32> loops_around(u32 node) const;

 private:
  void find_constructs();
  void find_parents();
  bool holds(u32 construct, u32 node) const;

  const Plan& plan_;
  std::vector<Construct> constructs_;
  std::vector<Region> regions_;
  std::vector<Region> streams_;
  std::vector<Stop> stops_;
  std::vector<u32> first_node_;          // by item: how many nodes lie before it; one more
  std::vector<u32> parent_;              // by item
  u32 depth_ = 0;
  bool has_waves_ = false;
};

}  // namespace soma
