// Recovers the series-parallel tree of an acyclic graph, in one pass over its nodes.
//
// Problem. A set of nodes can be cut in series where everything before the cut precedes everything
// behind it, and in parallel where no edge connects the parts; what can be cut in neither way is a
// tangle. Taken literally, that definition is a recursion which scans the rest of the graph at each
// of its levels: quadratic on deep nests. An edge that is implied by a path (a residual connection)
// must not count.
//
// Idea. Watch a frontier pass through the nodes in topological order. A node that was passed is
// open until it closes; a node is due when all its predecessors were passed. When the frontier
// comes to a node, its open predecessors close, together with whatever open and due nodes hang
// together by edges: they meet at a *point*, where the open ones end and the due ones begin. If
// each of the open ones has an edge to each of the due ones, the point is clean: a cut in series,
// as far as these nodes go. Implied edges are never among these, since what lies on the path has
// closed the earlier end before the later one is due.
// So points are joined by blocks: each block leads from the point where its first nodes began to
// the point where its last ones end. When a point is made, its incoming blocks are known, and:
//   two from the same point are parallel and become one;
//   if a block is the only one to leave its point, it and the one that led there become a series;
//   then, if one block is left, it hangs the point into a tree, under the point that it comes from.
// If several are left, they come from points that go on elsewhere too, so neither these points nor
// the new one can be a cut of anything; nor can what lies between them and their nearest common
// ancestor, as from there, two ways lead to the new point. All of these become one *rough* point,
// whose incoming block is the tangle of all blocks between them. A rough point never cuts: when one
// block leads out of it, the block before and the block behind are one tangle.
// An edge whose earlier end has closed before says something new only if the point where it closed
// does not lie on the way to the new one: then it is one more way to it. The final point is behind
// all nodes; all that is left open ends there.
//
// Why right. Call a set a factor if the definition makes it: between two clean points it is what
// lies on all ways from one to the other. A point in the middle of some factor cuts it exactly if
// all of the factor goes through it. If blocks from two points meet, each of these points also
// leads elsewhere (else its block would have been joined to the one before), so each has successors
// that the other's nodes do not precede, and nodes before the meeting which do not come after it:
// no factor has all of its nodes before or behind it. The tests compare with the definition, for
// all graphs of up to five nodes and many larger ones.
//
// Cost. A block disappears in each joining, a point in each contraction, and each edge is looked at
// a fixed number of times; finding points is union-find. Only an edge that was skipped asks for an
// ancestor: the logarithm of the depth, by pointers that jump.
#include "compiler/series_parallel.hpp"

#include <algorithm>

namespace soma {

namespace {

using Kind = BlockTree::Kind;

class Finder {
 public:
  explicit Finder(const Successors& graph) : nodes_(graph.nodes()) {
    link(graph);
    tree_.blocks.resize(nodes_);
    for (u32 i = 0; i < nodes_; ++i) tree_.blocks[i].earliest = i;
    begins_.assign(nodes_, none);
    closed_.assign(nodes_, none);
  }

  BlockTree find() && {
    if (nodes_ == 0) return std::move(tree_);
    points_.emplace_back();       // where the graph begins
    for (u32 node = 0; node < nodes_; ++node) {
      if (before_.of(node).empty()) begin(node, start);
    }
    for (u32 node = 0; node < nodes_; ++node) {
      if (begins_[node] == none) meet(node);
      for (const u32 next : behind_->of(node)) --waits_for_[next];
      if (behind_->of(node).empty()) ends_.push_back(node);
    }
    finish();
    return std::move(tree_);
  }

 private:
  static constexpr u32 none = BlockTree::none;
  static constexpr u32 start = 0;

  struct Point {
    u32 parent = none;            // where its block comes from
    u32 block = none;             // the one that leads here; none at the start
    u32 leaving = 0;              // blocks that leave it and have not been joined
    u32 depth = 0, jump = start;  // for ancestors: some point above
    bool is_rough = false;
    u32 mark = none;              // while a point is made: the block from here to it
    u32 listed = none;            // the last point for which it was in ways_
  };

  // Edges without repetition, both ways.
  void link(const Successors& graph) {
    before_ = graph.reversed();
    std::vector<u32> seen(nodes_, none);
    u32 kept = 0, at = 0;         // edges that stay move up to those before them
    for (u32 node = 0; node < nodes_; ++node) {
      const u32 end = before_.first[node + 1];
      for (; at < end; ++at) {
        const u32 from = before_.to[at];
        if (std::exchange(seen[from], node) != node) before_.to[kept++] = from;
      }
      before_.first[node + 1] = kept;
    }
    before_.to.resize(kept);
    if (kept < graph.to.size()) once_ = before_.reversed();
    behind_ = kept < graph.to.size() ? &once_ : &graph;
    waits_for_.resize(nodes_);
    for (u32 node = 0; node < nodes_; ++node) {
      waits_for_[node] = static_cast<u32>(before_.of(node).size());
    }
  }

  void begin(u32 node, u32 point) {
    begins_[node] = point;
    ++points_[point].leaving;
  }

  // ---- Points, of which contracted and joined ones live on in another

  u32 find(u32 point) {
    u32 top = point;
    while (stands_for_[top] != top) top = stands_for_[top];
    while (stands_for_[point] != top) point = std::exchange(stands_for_[point], top);
    return top;
  }
  u32 parent_of(u32 point) { return find(points_[point].parent); }

  u32 make_point() {
    points_.emplace_back();
    stands_for_.push_back(static_cast<u32>(points_.size() - 1));
    return stands_for_.back();
  }

  // Hangs the point under its parent. Numbers grow downwards; so do they after contractions, since
  // the topmost point stands for the others.
  void hang(u32 point, u32 parent, u32 block) {
    Point& made = points_[point];
    made.parent = parent;
    made.block = block;
    const Point& above = points_[parent];
    const Point& jumped = points_[above.jump];
    made.depth = above.depth + 1;
    const bool doubles = above.depth - jumped.depth == jumped.depth - points_[jumped.jump].depth;
    made.jump = doubles && above.depth >= jumped.depth ? jumped.jump : parent;
  }

  bool is_on_the_way(u32 ancestor, u32 point) {
    while (point > ancestor) {
      const u32 far = find(points_[point].jump);
      point = far >= ancestor && far < point ? far : parent_of(point);
    }
    return point == ancestor;
  }

  // ---- Blocks

  u32 join(Kind kind, u32 first, u32 second) {
    std::vector<BlockTree::Block>& blocks = tree_.blocks;
    if (blocks[first].kind != kind) {
      const u32 made = static_cast<u32>(blocks.size());
      blocks.push_back({kind, first, first, none, blocks[first].earliest});
      first = made;
    }
    BlockTree::Block& into = blocks[first];
    const bool splices = blocks[second].kind == kind;
    blocks[into.last_child].next = splices ? blocks[second].first_child : second;
    into.last_child = splices ? blocks[second].last_child : second;
    into.earliest = std::min(into.earliest, blocks[second].earliest);
    return first;
  }

  // ---- Making a point

  // The frontier comes to `node`: what is open before it ends, and what is due with it begins.
  void meet(u32 node) {
    const bool is_clean = gather(node);
    const u32 made = make_point();
    collect_ways(made, is_clean);
    u32 point = made;
    if (ways_.size() == 1) {
      hang(point, ways_[0], std::exchange(points_[ways_[0]].mark, none));
      points_[point].is_rough = !is_clean;
    } else {
      point = contract();
      stands_for_[made] = point;
    }
    // Edges from nodes that closed elsewhere are one more way, unless that point is on the way.
    for (const u32 due : due_) {
      for (const u32 before : before_.of(due)) {
        const u32 at = find(closed_[before]);
        if (is_on_the_way(at, point)) continue;
        ways_ = {at, point};
        point = contract();
      }
    }
    for (const u32 due : due_) begin(due, point);
  }

  // Open and due nodes that hang together with `node`. Has each pair of them an edge?
  bool gather(u32 node) {
    open_.clear();
    due_.assign(1, node);
    begins_[node] = pending;
    size_t edges = 0;
    for (size_t i = 0; i < due_.size(); ++i) {
      for (const u32 from : before_.of(due_[i])) {
        if (closed_[from] == none) {
          closed_[from] = pending;
          open_.push_back(from);
          gather_due(from);
        }
        if (closed_[from] == pending) ++edges;
      }
    }
    return edges == open_.size() * due_.size();
  }
  void gather_due(u32 from) {
    for (const u32 next : behind_->of(from)) {
      if (waits_for_[next] != 0 || begins_[next] != none) continue;
      begins_[next] = pending;
      due_.push_back(next);
    }
  }

  // The blocks of the open nodes, joined as far as they can be: one for each point in ways_, with
  // the block as its mark. What leads to a rough point is a tangle from where its ways part, so a
  // last block that is the only one is left as it is.
  void collect_ways(u32 point, bool is_clean) {
    ways_.clear();
    size_t left = open_.size();
    for (const u32 node : open_) {
      closed_[node] = point;
      u32 from = find(begins_[node]), block = node;
      for (;;) {
        Point& origin = points_[from];
        if (origin.mark != none) {
          block = join(Kind::Parallel, std::exchange(origin.mark, none), block);
          --origin.leaving;
          --left;
        }
        const bool goes_through = from != start && origin.leaving == 1;
        if (!goes_through || (left == 1 && !is_clean)) break;
        block = join(origin.is_rough ? Kind::Tangle : Kind::Series, origin.block, block);
        stands_for_[from] = point;
        from = parent_of(from);
      }
      points_[from].mark = block;
      if (std::exchange(points_[from].listed, point) != point) ways_.push_back(from);
    }
    std::erase_if(ways_, [this](u32 from) { return points_[from].mark == none; });
  }

  // The points in ways_, and all between them and their nearest common ancestor, become one, and
  // the blocks between them one tangle: the topmost point stands for all. Takes what collect_ways
  // left.
  u32 contract() {
    std::make_heap(ways_.begin(), ways_.end());
    u32 top = none, tangle = none, leaving = 0;
    const auto add = [&](u32 block) {
      tangle = tangle == none ? block : join(Kind::Tangle, tangle, block);
    };
    for (;;) {
      std::pop_heap(ways_.begin(), ways_.end());
      const u32 lowest = ways_.back();
      ways_.pop_back();
      if (points_[lowest].mark != none) {
        add(std::exchange(points_[lowest].mark, none));
        --points_[lowest].leaving;
      }
      if (ways_.empty()) {        // all ways have come together
        Point& rough = points_[top];
        rough.parent = lowest;
        rough.block = tangle;
        rough.leaving = leaving;
        rough.is_rough = true;
        ++points_[lowest].leaving;
        break;
      }
      if (ways_.front() == lowest) continue;
      const u32 above = parent_of(lowest);
      leaving += points_[lowest].leaving;
      add(points_[lowest].block);
      --points_[above].leaving;
      contracted_.push_back(top = lowest);  // numbers fall: the last is the topmost
      ways_.push_back(above);
      std::push_heap(ways_.begin(), ways_.end());
    }
    for (const u32 one : contracted_) stands_for_[one] = top;
    contracted_.clear();
    return top;
  }

  // All that is open ends behind the last node, and has come from one point: the start.
  void finish() {
    open_ = ends_;
    collect_ways(make_point(), true);
    tree_.root = points_[start].mark;
  }

  static constexpr u32 pending = none - 1;

  const u32 nodes_;
  Successors before_;
  const Successors* behind_ = nullptr;  // the graph's own, or, where that has edges twice, this:
  Successors once_;
  std::vector<u32> waits_for_;    // by node: predecessors that the frontier has not passed
  std::vector<u32> begins_;       // by node: the point where it begins
  std::vector<u32> closed_;       // by node: the point where it ends
  std::vector<Point> points_;
  std::vector<u32> stands_for_ = {start};
  std::vector<u32> ends_;         // nodes that nothing follows
  std::vector<u32> open_, due_;   // of the point at hand
  std::vector<u32> ways_;         // to it: the points that they come from
  std::vector<u32> contracted_;
  BlockTree tree_;
};

}  // namespace

BlockTree series_parallel_tree(const Successors& graph) { return Finder(graph).find(); }

}  // namespace soma
