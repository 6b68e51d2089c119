// The shapes of graphs that are measured: nodes by number, each after all that it depends on.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

struct Edge {
  u32 from, to;
};

// Edges by the node they lead to: those to v are edges[begin[v]] to before edges[begin[v + 1]].
struct Shape {
  u32 nodes = 0;
  std::vector<Edge> edges;
  std::vector<u32> begin;
};

// splitmix64, so that random shapes are the same on every machine.
class Random {
 public:
  u32 below(u32 bound) {
    state_ += 0x9e3779b97f4a7c15;
    u64 mixed = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return static_cast<u32>(((mixed ^ (mixed >> 31)) >> 32) * bound >> 32);
  }

 private:
  u64 state_ = 2026;
};

inline void add_chain(Shape& shape, u32 size) {
  shape.nodes = size;
  for (u32 node = 1; node < size; ++node) shape.edges.push_back({node - 1, node});
}

// One, then `size` at the same time, then one.
inline void add_wide(Shape& shape, u32 size) {
  shape.nodes = size + 2;
  for (u32 node = 1; node <= size; ++node) shape.edges.push_back({0, node});
  for (u32 node = 1; node <= size; ++node) shape.edges.push_back({node, size + 1});
}

// As many one after the other, and only then `size` at the same time.
inline void add_late(Shape& shape, u32 size) {
  add_chain(shape, size);
  for (u32 node = size; node < 2 * size; ++node) shape.edges.push_back({size - 1, node});
  for (u32 node = size; node < 2 * size; ++node) shape.edges.push_back({node, 2 * size});
  shape.nodes = 2 * size + 1;
}

inline void add_diamonds(Shape& shape, u32 size) {
  shape.nodes = 4 * size;
  for (u32 top = 0; top < shape.nodes; top += 4) {
    if (top > 0) shape.edges.push_back({top - 1, top});
    for (const u32 side : {top + 1, top + 2}) shape.edges.push_back({top, side});
    for (const u32 side : {top + 1, top + 2}) shape.edges.push_back({side, top + 3});
  }
}

// Layers of a thousand, or of a tenth, if that is less; a node is after three of the layer before.
inline void add_layered(Shape& shape, u32 size) {
  shape.nodes = size;
  const u32 width = size < 10'000 ? size / 10 : 1000;
  if (width < 3) throw std::runtime_error("layered: 30 nodes at least");
  Random random;
  for (u32 node = width; node < size; ++node) {
    const u32 layer = (node / width - 1) * width;
    const u32 first = random.below(width);
    u32 second = random.below(width), third = random.below(width);
    while (second == first) second = random.below(width);
    while (third == first || third == second) third = random.below(width);
    for (const u32 place : {first, second, third}) shape.edges.push_back({layer + place, node});
  }
}

// 2^size leaves, joined by twos until one is left.
inline void add_tree(Shape& shape, u32 size) {
  if (size > 24) throw std::runtime_error("tree: 24 levels at most");
  u32 layer = 0;
  for (u32 width = u32{1} << size; width > 1; width /= 2) {
    const u32 above = layer + width;
    for (u32 place = 0; place < width; ++place) {
      shape.edges.push_back({layer + place, above + place / 2});
    }
    layer = above;
  }
  shape.nodes = layer + 1;
}

// "chain:1000", "wide:8", "late:100", "diamonds:100", "layered:10000", "tree:16".
inline Shape shape_of(const std::string& name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos) throw std::runtime_error("a shape is NAME:SIZE, got " + name);
  const std::string kind = name.substr(0, colon);
  const auto size = static_cast<u32>(std::stoul(name.substr(colon + 1)));
  Shape shape;
  if (kind == "chain") {
    add_chain(shape, size);
  } else if (kind == "wide") {
    add_wide(shape, size);
  } else if (kind == "late") {
    add_late(shape, size);
  } else if (kind == "diamonds") {
    add_diamonds(shape, size);
  } else if (kind == "layered") {
    add_layered(shape, size);
  } else if (kind == "tree") {
    add_tree(shape, size);
  } else {
    throw std::runtime_error("there is no shape " + name);
  }
  std::vector<u32> at(shape.nodes + 1, 0);
  for (const Edge& edge : shape.edges) ++at[edge.to + 1];
  for (u32 node = 0; node < shape.nodes; ++node) at[node + 1] += at[node];
  shape.begin = at;
  std::vector<Edge> sorted(shape.edges.size());
  for (const Edge& edge : shape.edges) sorted[at[edge.to]++] = edge;
  shape.edges = std::move(sorted);
  return shape;
}

}  // namespace bench
