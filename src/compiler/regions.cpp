// Finds out who owns whom, and makes of every region a level that can be planned alone.
//
// Problem: a loop repeats its body, a branch runs one of its arms, so a plan needs to know exactly
// which nodes those are; and where a graph leaves it open, a plan that guesses runs a node twice,
// never, or before what it reads. Idea: ownership is dominance (graph/regions.cpp), and whatever
// does not fit it is an error with the edge that is to blame:
//   two owners      a node is an entry of two constructs, or of two entrances of one
//   outside entry   an entry is also reached from elsewhere: so it can run without its construct
//   entangled       … and from there because of the construct: each would wait for the other
//   escape          an edge leads out of a body: in which pass should its reader run?
//   capture         a captured node runs in another arm of the same branch, or after the construct
// Then each construct and its regions are one node of the level around it, an edge across lifted to
// the level that has both its ends, and each level put into order by Kahn's algorithm again. Why
// right: a region with one entrance can be contracted without making a cycle, since a path that
// leaves it and comes back would have to come through the entrance; captures are the only edges
// that can break this, and where a level has no order, one of them is on the cycle and is named.
// Must come after the whole graph is known to have no cycle. Cost: linear, times the depth of
// nesting for edges across it.
#include <algorithm>

#include "base/text.hpp"
#include "compiler/passes.hpp"

namespace soma {

namespace {

class Owner {
 public:
  Owner(const Draft& draft, Diagnostics& diagnostics)
      : draft_(draft), diagnostics_(diagnostics), local_(draft.nodes.size()) {}

  Ownership own() && {
    std::vector<RegionLink> links;
    links.reserve(draft_.edges.size());
    for (const DraftEdge& edge : draft_.edges) links.push_back(link_of(edge));
    out_.regions = find_regions(draft_.nodes.size(), links);
    for (u32 node = 0; node < draft_.nodes.size(); ++node) check_entry(node);
    for (const DraftEdge& edge : draft_.edges) {
      check_escape(edge);
      if (edge.link == Link::Capture) check_capture(edge);
    }
    make_levels();
    return std::move(out_);
  }

 private:
  RegionLink link_of(const DraftEdge& edge) const {
    RegionLink link{edge.from, edge.to};
    link.is_capture = edge.link == Link::Capture;
    if (edge.link == Link::Entry) {
      link.entrance = edge.entrance;
      link.is_body = draft_.nodes[edge.from].spec->kind == NodeKind::Loop;
    }
    return link;
  }

  const Regions& regions() const { return out_.regions; }
  std::string name(u32 node) const { return quoted(draft_.nodes[node].id()); }
  std::string arrow(const DraftEdge& edge) const {
    return name(edge.from) + " -> " + name(edge.to);
  }
  Diagnostic& complain(Reason reason, const DraftEdge& edge, std::string message) {
    const std::string_view from = draft_.nodes[edge.from].id(), to = draft_.nodes[edge.to].id();
    return diagnostics_.error(reason, std::move(message)).node(from).node(to).edge(from, to);
  }
  // "the body of loop 'l'"
  std::string entrance_name(const DraftEdge& entry) const {
    const DraftNode& node = draft_.nodes[entry.from];
    const char* what = node.spec->kind == NodeKind::Loop   ? "the body of loop"
                       : node.spec->kind == NodeKind::Step ? "a hand-off of step"
                                                           : "an arm of branch";
    return text("{} {}", what, name(entry.from));
  }

  // ---- Entries

  void check_entry(u32 node) {
    const DraftEdge* entry = nullptr;
    for (const u32 index : draft_.entering.of(node)) {
      const DraftEdge& edge = draft_.edges[index];
      if (edge.link != Link::Entry) continue;
      if (!entry) entry = &edge;
      if (entry->from == edge.from && entry->entrance == edge.entrance) continue;
      complain(Reason::region_two_owners, edge,
               text("node {} is an entry of {} and of {}", name(node), entrance_name(*entry),
                    entrance_name(edge)))
          .advise("a node runs at one place: give each of them a node of its own, or put this one "
                  "behind both");
      return;
    }
    if (entry && !owns(*entry, node)) check_outside(*entry);
  }

  // Does the entrance's region hold the node?
  bool owns(const DraftEdge& entry, u32 node) const {
    const u32 depth = regions().regions[regions().of[entry.from]].depth;
    for (u32 at = regions().of[node]; regions().regions[at].depth > depth;
         at = regions().regions[at].outer) {
      const Regions::Region& region = regions().regions[at];
      if (region.construct == entry.from && region.entrance == entry.entrance) return true;
    }
    return false;
  }

  void check_outside(const DraftEdge& entry) {
    for (const u32 index : draft_.entering.of(entry.to)) {
      const DraftEdge& edge = draft_.edges[index];
      if (edge.link == Link::Entry || edge.link == Link::Capture) continue;
      if (owns(entry, edge.from)) continue;
      if (comes_after(entry, edge.from)) {
        complain(Reason::region_entangled, edge,
                 text("{} starts at {}, which waits for {}, which waits for {}",
                      entrance_name(entry), name(entry.to), name(edge.from),
                      entrance_name(entry)))
            .advise("let what lies between read nothing from outside but by edges with `capture`");
      } else {
        complain(Reason::region_outside_entry, edge,
                 text("{} starts at {}, and {} leads there too, from outside",
                      entrance_name(entry), name(entry.to), arrow(edge)))
            .advise("if the node only reads that value, mark the edge with `capture`; if it is a "
                    "join, put it behind the construct");
      }
    }
  }

  // Is the node reached from what the entrance leads to? The search is only for the wording of an
  // error, so it is given up when that has been found often enough.
  bool comes_after(const DraftEdge& entry, u32 node) {
    if (searches_ == searches_max) return false;
    ++searches_;
    std::vector<bool> seen(draft_.nodes.size());
    std::vector<u32> left;
    for (const u32 index : draft_.leaving.of(entry.from)) {
      const DraftEdge& edge = draft_.edges[index];
      if (edge.link == Link::Entry && edge.entrance == entry.entrance) left.push_back(edge.to);
    }
    while (!left.empty()) {
      const u32 at = left.back();
      left.pop_back();
      if (at == node) return true;
      if (seen[at]) continue;
      seen[at] = true;
      for (const u32 index : draft_.leaving.of(at)) left.push_back(draft_.edges[index].to);
    }
    return false;
  }

  // ---- Edges across regions

  void check_escape(const DraftEdge& edge) {
    const u32 body = regions().regions[regions().of[edge.from]].body;
    if (body == Regions::outermost || regions().lies_in(regions().of[edge.to], body)) return;
    const u32 loop = regions().regions[body].construct;
    complain(Reason::region_escape, edge,
             text("{} leads out of the body of loop {}", arrow(edge), name(loop)))
        .node(draft_.nodes[loop].id())
        .advise(text("if {} belongs to the body and reads an outer value, mark that edge with "
                     "`capture`; if it comes after the loop, let it read {}",
                     name(edge.to), name(loop)));
  }

  // The child of `outer` in which a region lies.
  u32 child_towards(u32 outer, u32 region) const {
    while (regions().regions[region].outer != outer) region = regions().regions[region].outer;
    return region;
  }

  void check_capture(const DraftEdge& edge) {
    const u32 from = regions().of[edge.from], to = regions().of[edge.to];
    const u32 both = regions().meet(from, to);
    if (to == both) return;
    if (from == both) {
      const u32 index = child_towards(both, to);
      const Regions::Region& around = regions().regions[index];
      if (around.construct != edge.from || around.body != index) return;
      complain(Reason::region_capture, edge,
               text("{} captures the value of the loop around it, which comes when the loop ends",
                    arrow(edge)))
          .advise("in the body, a node without data edges reads the loop's input, then its carry");
      return;
    }
    const u32 construct = regions().regions[child_towards(both, from)].construct;
    if (regions().regions[child_towards(both, to)].construct != construct) return;
    complain(Reason::region_capture, edge,
             text("{} captures from one arm of {} into another, and never do both run",
                  arrow(edge), name(construct)))
        .node(draft_.nodes[construct].id());
  }

  // ---- Levels

  struct Lifted {
    u32 level;
    Successors::Pair pair;        // places in the level
    u32 edge;
  };

  void make_levels() {
    out_.levels.resize(regions().regions.size());
    for (u32 node = 0; node < draft_.nodes.size(); ++node) {
      std::vector<u32>& nodes = out_.levels[regions().of[node]].nodes;
      local_[node] = static_cast<u32>(nodes.size());
      nodes.push_back(node);
    }
    std::vector<Lifted> lifted;
    lifted.reserve(draft_.edges.size());
    for (u32 i = 0; i < draft_.edges.size(); ++i) lift(i, lifted);
    if (out_.levels.size() > 1) {  // or they are in their order
      std::sort(lifted.begin(), lifted.end(), [](const Lifted& a, const Lifted& b) {
        return a.level != b.level ? a.level < b.level : a.edge < b.edge;
      });
    }
    std::vector<Successors::Pair> pairs;
    auto at = lifted.cbegin();
    for (u32 region = 0; region < out_.levels.size(); ++region) {
      RegionLevel& level = out_.levels[region];
      const auto begin = at;
      pairs.clear();
      for (; at != lifted.cend() && at->level == region; ++at) pairs.push_back(at->pair);
      level.graph = Successors::of_pairs(static_cast<u32>(level.nodes.size()), pairs);
      level.order = topological_order(level.graph);
      if (level.order.size() != level.nodes.size()) complain_order(level, {begin, at});
    }
  }

  // The edge as one between two nodes of the level that has both ends; none if they are one there.
  void lift(u32 index, std::vector<Lifted>& out) const {
    const DraftEdge& edge = draft_.edges[index];
    const u32 from = regions().of[edge.from], to = regions().of[edge.to];
    const u32 level = regions().meet(from, to);
    const auto stand_in = [&](u32 node, u32 region) {
      return region == level ? node : regions().regions[child_towards(level, region)].construct;
    };
    const u32 a = stand_in(edge.from, from), b = stand_in(edge.to, to);
    if (a != b) out.push_back({level, {local_[a], local_[b]}, index});
  }

  void complain_order(const RegionLevel& level, std::span<const Lifted> lifted) {
    constexpr u32 none = ~u32{0};
    const std::vector<std::vector<u32>> cycles = find_cycles(level.graph, level.order);
    std::vector<u32> next(level.nodes.size(), none), cycle_of(level.nodes.size(), none);
    for (u32 k = 0; k < cycles.size(); ++k) {
      for (size_t i = 0; i < cycles[k].size(); ++i) {
        next[cycles[k][i]] = cycles[k][(i + 1) % cycles[k].size()];
        cycle_of[cycles[k][i]] = k;
      }
    }
    // Of each cycle, an edge to blame: a capture, if there is one.
    std::vector<const DraftEdge*> guilty(cycles.size(), nullptr);
    for (const Lifted& one : lifted) {
      if (next[one.pair.from] != one.pair.to) continue;
      const DraftEdge& edge = draft_.edges[one.edge];
      const DraftEdge*& blamed = guilty[cycle_of[one.pair.from]];
      if (!blamed || edge.link == Link::Capture) blamed = &edge;
    }
    for (u32 k = 0; k < cycles.size(); ++k) complain_cycle(level, cycles[k], *guilty[k]);
  }

  void complain_cycle(const RegionLevel& level, const std::vector<u32>& cycle,
                      const DraftEdge& guilty) {
    constexpr size_t shown_max = 32;
    std::string around;
    for (size_t i = 0; i < std::min(cycle.size(), shown_max); ++i) {
      around += text("{} -> ", name(level.nodes[cycle[i]]));
    }
    around += cycle.size() > shown_max ? "…" : name(level.nodes[cycle[0]]);
    if (guilty.link == Link::Capture) {
      complain(Reason::region_capture, guilty,
               text("{} captures what runs only after the construct: {}", arrow(guilty), around))
          .advise("a captured value has to be there before the construct starts");
    } else {
      complain(Reason::region_entangled, guilty,
               text("constructs with their regions wait for each other: {}", around))
          .advise("let one of them read the other's value, not what lies in it");
    }
  }

  static constexpr u32 searches_max = 16;

  const Draft& draft_;
  Diagnostics& diagnostics_;
  Ownership out_;
  std::vector<u32> local_;        // by node of the draft: its place in its level
  u32 searches_ = 0;
};

}  // namespace

Ownership own(const Draft& draft, RegionLevel whole, Diagnostics& diagnostics) {
  if (!draft.traits.has_entries) {  // then nobody owns anything, and captures cross nothing
    Ownership out;
    out.regions = find_regions(draft.nodes.size(), {});
    out.levels.push_back(std::move(whole));
    return out;
  }
  return Owner(draft, diagnostics).own();
}

}  // namespace soma
