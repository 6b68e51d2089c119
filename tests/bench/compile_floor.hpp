// The least that a compiler of graphs has to do, as a measure for what ours does: who follows whom,
// an order, and which vertices a reduction in series and in parallel takes away.
//
// It checks nothing, keeps no names, builds no tree and writes no plan.
#pragma once

#include "bench/graph_shapes.hpp"

namespace bench {

class CompileFloor {
 public:
  // How many vertices are left that no reduction takes away.
  u32 reduce(const Shape& shape) {
    link(shape);
    sort(shape.nodes);
    parent_.assign(shape.nodes, none);
    mark_.assign(shape.nodes, none);
    leaving_.resize(shape.nodes);
    for (u32 node = 0; node < shape.nodes; ++node) leaving_[node] = first_[node + 1] - first_[node];
    u32 left = 0;
    for (const u32 node : order_) left += meet(node) ? 1U : 0U;
    return left;
  }

 private:
  static constexpr u32 none = ~u32{0};

  void link(const Shape& shape) {
    lists(shape, first_, to_, true);
    lists(shape, first_before_, before_, false);
  }
  static void lists(const Shape& shape, std::vector<u32>& first, std::vector<u32>& ends,
                    bool by_from) {
    first.assign(shape.nodes + 1, 0);
    ends.resize(shape.edges.size());
    for (const Edge& edge : shape.edges) ++first[by_from ? edge.from : edge.to];
    for (u32 node = 0; node < shape.nodes; ++node) first[node + 1] += first[node];
    for (std::size_t i = shape.edges.size(); i-- > 0;) {
      const Edge& edge = shape.edges[i];
      ends[--first[by_from ? edge.from : edge.to]] = by_from ? edge.to : edge.from;
    }
  }

  void sort(u32 nodes) {
    waits_for_.resize(nodes);
    order_.clear();
    for (u32 node = 0; node < nodes; ++node) {
      waits_for_[node] = first_before_[node + 1] - first_before_[node];
      if (waits_for_[node] == 0) order_.push_back(node);
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      for (u32 at = first_[order_[i]]; at < first_[order_[i] + 1]; ++at) {
        if (--waits_for_[to_[at]] == 0) order_.push_back(to_[at]);
      }
    }
  }

  // Edges from one vertex are one; a vertex with one edge in and one out is none. True: several
  // edges come from different vertices.
  bool meet(u32 node) {
    u32 ways = 0, last = none;
    for (u32 at = first_before_[node]; at < first_before_[node + 1]; ++at) {
      u32 from = before_[at];
      for (;;) {
        if (mark_[from] == node) {
          --leaving_[from];
          mark_[from] = none;
          --ways;
        }
        if (leaving_[from] != 1 || parent_[from] == none) break;
        from = parent_[from];
      }
      mark_[from] = node;
      last = from;
      ++ways;
    }
    if (ways == 1) parent_[node] = last;
    return ways > 1;
  }

  std::vector<u32> first_, to_, first_before_, before_, waits_for_, order_;
  std::vector<u32> parent_;       // by vertex: where its only edge comes from
  std::vector<u32> mark_, leaving_;
};

// The same graph, its nodes and edges numbered at random.
inline Shape shuffled(const Shape& shape) {
  Random random;
  const auto shuffle = [&random](auto& list) {
    for (std::size_t i = list.size(); i > 1; --i) {
      std::swap(list[i - 1], list[random.below(static_cast<u32>(i))]);
    }
  };
  std::vector<u32> number(shape.nodes);
  for (u32 node = 0; node < shape.nodes; ++node) number[node] = node;
  shuffle(number);
  Shape out;
  out.nodes = shape.nodes;
  for (const Edge& edge : shape.edges) out.edges.push_back({number[edge.from], number[edge.to]});
  shuffle(out.edges);
  return out;
}

}  // namespace bench
