// Finds where gradients are cut.
//
// Problem: one node that is not differentiable, on the way from a node that is to the graph's end,
// and training silently leaves out all before it. Looked at in the order of nodes, the answer would
// depend on which branch came last. Idea: ask for paths.
//
// A path leads from a node, by what reads its value, to a leaf of the graph. Readers are those that
// data and capture edges lead to, and, for values that no edge carries, those nodes of a body, an
// arm or behind a hand-off that have no data edge and so read what their construct hands them. A
// loop's value is its carry's (without one its signal's), so a path into a loop leads through its
// body to that node, and from there on to the loop's readers; what a body computes beside it leads
// nowhere, and says nothing. One pass stands for all.
// A node is opaque if its code runs and is not differentiable, and a step always is; loops and
// subgraphs hand values on as they are. A path is cut if an opaque node lies on it behind its
// start. A differentiable node of which every path is cut gets `gradient.cut`, one of which some
// are cut `gradient.partly_cut`, with the opaque node that is met first on the first such path by
// the order of edges. So an opaque prefix says nothing, as no gradient wants to go there; and a
// graph that ends in an opaque metric says so of every node before it, since a plan yields its
// leaves, and no gradient starts at that one: the loss wants to be a leaf too. A graph without
// differentiable nodes says nothing at all.
//
// How: what has paths is a value: each node's, and for a loop two, what its body is handed and what
// it yields. Who reads a value, and for a carry the loop that yields it, are its successors, and
// they have no cycle, since a body never reads what its loop yields. So backwards along their order
// each value gets two facts, which are those of its successors, each with that reader in front: is
// one of its paths whole, and who cuts one. Of a graph with errors, what lies on a cycle has no
// paths, and nothing is said of it.
// Must come after regions and loops. Cost: that of an order.
#include "base/text.hpp"
#include "compiler/passes.hpp"
#include "compiler/ports.hpp"

namespace soma {

namespace {

// Loops and subgraphs hand values on as they are.
bool has_code(const GraphNode& node) {
  return node.kind != NodeKind::Loop && node.kind != NodeKind::Subgraph;
}

// Whose code can have a gradient at all.
bool is_differentiable(const GraphNode& node) {
  return node.differentiable && has_code(node) && node.kind != NodeKind::Step;
}

constexpr u32 nobody = ~u32{0};

// All paths from a value on.
struct Paths {
  bool one_is_whole = false;
  u32 cut_by = nobody;            // some opaque node, if one is cut

  bool exist() const { return one_is_whole || cut_by != nobody; }
  void add(const Paths& more) {
    one_is_whole = one_is_whole || more.one_is_whole;
    if (cut_by == nobody) cut_by = more.cut_by;
  }
};

class Gradients {
 public:
  Gradients(const Draft& draft, const Regions& regions, std::span<const PlanLoop> loops)
      : draft_(draft), regions_(regions) {
    find_values();
    find_readers(loops);
  }

  // From each node to the graph's leaves.
  std::vector<Paths> find() && {
    std::vector<Paths> paths(values_);
    for (u32 node = 0; node < draft_.nodes.size(); ++node) {
      paths[value_[node]].one_is_whole = is_leaf(node);
    }
    const std::vector<u32> order = topological_order(readers_);
    for (size_t i = order.size(); i-- > 0;) {
      for (const u32 reader : readers_.of(order[i])) {
        const bool is_cut = is_opaque(reader) && paths[reader].exist();
        paths[order[i]].add(is_cut ? Paths{false, reader} : paths[reader]);
      }
    }
    return paths;
  }

 private:
  u32 nodes() const { return static_cast<u32>(draft_.nodes.size()); }

  // A node's number is that of its value, and a loop's that of what its body is handed: what loops
  // yield comes behind all of these.
  void find_values() {
    values_ = nodes();
    for (u32 node = 0; node < nodes(); ++node) {
      const bool is_loop = draft_.nodes[node].spec->kind == NodeKind::Loop;
      value_.push_back(is_loop ? values_++ : node);
    }
  }

  void find_readers(std::span<const PlanLoop> loops) {
    std::vector<Successors::Pair> pairs;
    std::vector<bool> reads_edge(nodes());
    for (const DraftEdge& edge : draft_.edges) {
      if (!carries_value(edge)) continue;
      reads_edge[edge.to] = true;
      pairs.push_back({value_[edge.from], edge.to});
    }
    for (u32 node = 0; node < nodes(); ++node) {
      const u32 region = regions_.of[node];
      const bool is_fed = region != Regions::outermost && !reads_edge[node];
      if (is_fed) pairs.push_back({regions_.regions[region].construct, node});
      if (loops.empty()) continue;
      const u32 yields = loops[node].carry != no_node ? loops[node].carry : loops[node].signal;
      if (yields != no_node) pairs.push_back({value_[yields], value_[node]});
    }
    readers_ = Successors::of_pairs(values_, pairs);
  }

  // An end of a body is none: who reads a pass's value is the loop.
  bool is_leaf(u32 node) const {
    return regions_.regions[regions_.of[node]].body == Regions::outermost &&
           !draft_.is_followed(node);
  }

  bool is_opaque(u32 value) const {
    if (value >= nodes()) return false;
    const GraphNode& spec = *draft_.nodes[value].spec;
    return has_code(spec) && !is_differentiable(spec);
  }

  const Draft& draft_;
  const Regions& regions_;
  u32 values_ = 0;                // how many
  std::vector<u32> value_;        // by node
  Successors readers_;            // of values
};

}  // namespace

void check_gradients(const Draft& draft, const Regions& regions, std::span<const PlanLoop> loops,
                     Diagnostics& diagnostics) {
  if (!draft.traits.has_differentiable) return;
  const std::vector<Paths> paths = Gradients(draft, regions, loops).find();
  for (u32 node = 0; node < draft.nodes.size(); ++node) {
    if (!is_differentiable(*draft.nodes[node].spec) || paths[node].cut_by == nobody) continue;
    const std::string_view id = draft.nodes[node].id(), by = draft.nodes[paths[node].cut_by].id();
    const bool is_partly = paths[node].one_is_whole;
    const bool is_step = draft.nodes[paths[node].cut_by].spec->kind == NodeKind::Step;
    diagnostics
        .warning(is_partly ? Reason::gradient_partly_cut : Reason::gradient_cut,
                 text("{} cuts the gradient of {} on {}", quoted(by), quoted(id),
                      is_partly ? "some of its paths" : "every path"))
        .node(id)
        .node(by)
        .advise(is_step ? text("no step passes gradients on: make {} a function", quoted(by))
                        : text("declare {} as differentiable, if it is", quoted(by)));
  }
}

}  // namespace soma
