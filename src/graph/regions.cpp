// Finds regions in one walk along the links.
//
// Problem: who owns a node is a question of dominance, and dominators of a million nodes are not to
// be had by sets. Idea: only entrances can own, so only they are asked for. In topological order a
// node's region follows from the nodes before it: each link carries the region of its source on, or
// opens a new one within it, and where several links meet, the node is in the innermost region that
// holds them all. Why right: an entrance dominates a node exactly if it dominates every predecessor
// (or is the link itself), and the entrances that dominate one node form a chain, from the
// outermost inwards; so the innermost one says all, and meeting is the nearest common ancestor in
// the tree of regions. Captures are not asked, since they cross regions by design. On a graph with
// a cycle, the nodes of the cycle and behind it count as outermost; the compiler names the cycle.
#include "graph/regions.hpp"

#include <algorithm>

#include "graph/ends.hpp"

namespace soma {

namespace {

// Links by the node that they leave, in their order.
struct Leaving {
  Leaving(size_t nodes, std::span<const RegionLink> links) : first(nodes + 1, 0) {
    for (const RegionLink& link : links) {
      if (link.from != RegionLink::nowhere) ++first[link.from + 1];
    }
    for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    at.resize(first.back());
    std::vector<u32> next(first.begin(), first.end() - 1);
    for (u32 i = 0; i < links.size(); ++i) {
      if (links[i].from != RegionLink::nowhere) at[next[links[i].from]++] = i;
    }
  }

  std::vector<u32> first, at;
};

class Finder {
 public:
  Finder(size_t nodes, std::span<const RegionLink> links)
      : links_(links), leaving_(nodes, links), waits_for_(nodes, 0) {
    regions_.regions.emplace_back();
    regions_.of.assign(nodes, Regions::nobody);
    for (const RegionLink& link : links) {
      if (link.from != RegionLink::nowhere) ++waits_for_[link.to];
    }
  }

  Regions find() && {
    std::vector<u32> ready;
    for (u32 i = 0; i < waits_for_.size(); ++i) {
      if (waits_for_[i] == 0) ready.push_back(i);
    }
    while (!ready.empty()) {
      const u32 node = ready.back();
      ready.pop_back();
      if (regions_.of[node] == Regions::nobody) regions_.of[node] = Regions::outermost;
      opened_.clear();
      for (u32 i = leaving_.first[node]; i < leaving_.first[node + 1]; ++i) {
        const RegionLink& link = links_[leaving_.at[i]];
        if (!link.is_capture) join(regions_.of[link.to], region_behind(link));
        if (--waits_for_[link.to] == 0) ready.push_back(link.to);
      }
    }
    for (u32 i = 0; i < waits_for_.size(); ++i) {
      if (waits_for_[i] != 0) regions_.of[i] = Regions::outermost;  // on a cycle or behind one
    }
    return std::move(regions_);
  }

 private:
  void join(u32& region, u32 other) const {
    region = region == Regions::nobody ? other : regions_.meet(region, other);
  }

  // Links of one entrance share its region.
  u32 region_behind(const RegionLink& link) {
    const u32 outer = regions_.of[link.from];
    if (link.entrance == RegionLink::no_entrance) return outer;
    if (link.entrance >= opened_.size()) opened_.resize(link.entrance + 1, Regions::nobody);
    u32& region = opened_[link.entrance];
    if (region == Regions::nobody) {
      region = static_cast<u32>(regions_.regions.size());
      const Regions::Region& around = regions_.regions[outer];
      regions_.regions.push_back({outer, around.depth + 1, link.from, link.entrance,
                                  link.is_body ? region : around.body});
    }
    return region;
  }

  const std::span<const RegionLink> links_;
  const Leaving leaving_;
  std::vector<u32> waits_for_;
  std::vector<u32> opened_;       // by entrance of the node at hand; entrances are counted from 0
  Regions regions_;
};

}  // namespace

bool enters_construct(NodeKind from, const GraphEdge& edge) {
  if (edge.kind != EdgeKind::Control) return false;
  return from == NodeKind::Loop || from == NodeKind::Step || from == NodeKind::Branch ||
         edge.arm() || edge.label();
}

std::vector<RegionLink> region_links(const Graph& graph) {
  const EdgeEnds ends(graph);
  std::vector<u32> entrances(graph.nodes.size(), 0);
  std::vector<RegionLink> links;
  links.reserve(graph.edges.size());
  for (const GraphEdge& edge : graph.edges) {
    RegionLink& link = links.emplace_back();
    const u32 from = ends.node(edge.from), to = ends.node(edge.to);
    if (from == IdIndex::none || to == IdIndex::none || from == to) continue;
    link.from = from;
    link.to = to;
    link.is_capture = edge.capture;
    const NodeKind kind = graph.nodes[from].kind;
    if (!enters_construct(kind, edge)) continue;
    link.is_body = kind == NodeKind::Loop;
    link.entrance = link.is_body ? 0 : entrances[from]++;
  }
  return links;
}

Regions find_regions(size_t nodes, std::span<const RegionLink> links) {
  const bool has_entrances = std::ranges::any_of(
      links, [](const RegionLink& link) { return link.entrance != RegionLink::no_entrance; });
  if (!has_entrances) {
    Regions out;
    out.regions.emplace_back();
    out.of.assign(nodes, Regions::outermost);
    return out;
  }
  return Finder(nodes, links).find();
}

std::vector<u32> find_ends(size_t nodes, std::span<const RegionLink> links) {
  std::vector<bool> is_followed(nodes);
  for (const RegionLink& link : links) {
    if (link.from != RegionLink::nowhere && !link.is_body) is_followed[link.from] = true;
  }
  std::vector<u32> ends;
  for (u32 i = 0; i < nodes; ++i) {
    if (!is_followed[i]) ends.push_back(i);
  }
  return ends;
}

std::vector<u32> find_leaves(const Regions& regions, std::span<const RegionLink> links) {
  std::vector<u32> ends = find_ends(regions.of.size(), links);
  std::erase_if(ends, [&regions](u32 end) {
    return regions.regions[regions.of[end]].body != Regions::outermost;
  });
  return ends;
}

}  // namespace soma
