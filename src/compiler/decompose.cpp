// Makes the plan: each level's series-parallel tree, with constructs where their regions belong.
//
// Problem: what runs at the same time follows from the shape of the graph; a join has to wait for
// all that it reads, and nothing else. Idea: each level (the graph, a body, an arm) is an acyclic
// graph of its own in which a construct is one node; runs.cpp makes one node of what only follows
// one another, and series_parallel.cpp finds the tree: series become sequences, parallel blocks
// waves whose branches come in the order of their first nodes, and a tangle the flat sequence of
// its nodes or, if asked for, a Dataflow. Where the tree has a construct, its regions follow as
// children. Nodes enter the plan's table as they are written, so that a subtree's nodes are
// neighbours, and with them what they read, which is there by then. Must come after regions and
// loops. Cost: linear, and sorting the branches of a wave and the nodes of a tangle. The work to be
// done lies on a stack of our own: a plan may nest as deep as it likes.
#include <algorithm>
#include <unordered_map>

#include "base/text.hpp"
#include "compiler/passes.hpp"
#include "compiler/ports.hpp"
#include "compiler/runs.hpp"
#include "compiler/series_parallel.hpp"

namespace soma {

namespace {

using Kind = BlockTree::Kind;

class Decomposer {
 public:
  Decomposer(const Draft& draft, const Ownership& ownership, std::span<const PlanLoop> loops,
             bool parallelize_dag, Diagnostics& diagnostics)
      : draft_(draft), ownership_(ownership), loops_(loops), parallelizes_(parallelize_dag),
        diagnostics_(diagnostics) {}

  Decomposition decompose() && {
    place_.assign(draft_.nodes.size(), no_node);
    plan_.nodes.reserve(draft_.nodes.size());
    plan_.sources.reserve(draft_.edges.size());
    writer_.reserve(draft_.nodes.size() + 1);
    find_regions_of();
    if (draft_.nodes.empty()) writer_.leaf(Variant::Empty);
    else push_level(Regions::outermost, false);
    while (!tasks_.empty()) {
      const Task task = tasks_.back();
      tasks_.pop_back();
      perform(task);
    }
    plan_.items = std::move(writer_).take();
    resolve_loop_nodes();
    add_leaves();
    return {std::move(plan_), std::move(place_)};
  }

 private:
  // A region's tree, while it is being written. Its nodes are called by their place in the order.
  struct Shape {
    BlockTree tree;               // whose leaves are runs
    Runs runs;
    const Successors* graph = nullptr;  // of the nodes: the level's, or, in another order, this:
    Successors ordered;
    std::vector<u32> nodes;       // of the draft; empty: its own
    u32 unwritten = 0;            // tasks that need it

    u32 node(u32 place) const { return nodes.empty() ? place : nodes[place]; }
  };
  struct Task {
    // Blocks: one, and those that come after it in its series.
    enum class Kind : u8 { Close, Region, Block, Blocks, Nodes };
    Kind kind = Kind::Close;
    bool in_sequence = false;     // Block, Nodes: the item around is a Sequence
    u32 region = 0;               // all but Close
    u32 first = 0, end = 0;       // Nodes: those; Block, Blocks: `first`
  };

  // The regions of a construct are neighbours, in the order of its entrances.
  void find_regions_of() {
    const std::vector<Regions::Region>& regions = ownership_.regions.regions;
    for (u32 i = 1; i < regions.size(); ++i) regions_of_.emplace(regions[i].construct, i);
    shapes_.resize(regions.size());
  }

  void perform(const Task& task) {
    switch (task.kind) {
      case Task::Kind::Close: return writer_.close();
      case Task::Kind::Region: return push_level(task.region, false);
      case Task::Kind::Block: write_block(task); break;
      case Task::Kind::Blocks: write_blocks(task); break;
      case Task::Kind::Nodes: write_nodes(task); break;
    }
    if (--shapes_[task.region].unwritten == 0) shapes_[task.region] = {};
  }

  void push_close() { tasks_.push_back({}); }
  void push_block(u32 region, u32 block, bool in_sequence) {
    ++shapes_[region].unwritten;
    tasks_.push_back({Task::Kind::Block, in_sequence, region, block, 0});
  }
  void push_blocks(u32 region, u32 first) {
    ++shapes_[region].unwritten;
    tasks_.push_back({Task::Kind::Blocks, true, region, first, 0});
  }
  void push_nodes(u32 region, u32 first, u32 end, bool in_sequence) {
    ++shapes_[region].unwritten;
    tasks_.push_back({Task::Kind::Nodes, in_sequence, region, first, end});
  }

  void push_level(u32 region, bool in_sequence) {
    const RegionLevel& level = ownership_.levels[region];
    Shape& shape = shapes_[region];
    const bool is_sorted = std::is_sorted(level.order.begin(), level.order.end());
    shape.nodes = level.nodes;
    shape.graph = &level.followers(draft_);
    if (!is_sorted) {
      shape.nodes = level.order;
      for (u32& node : shape.nodes) node = level.is_whole_draft ? node : level.nodes[node];
      shape.ordered = in_order(*shape.graph, level.order);
      shape.graph = &shape.ordered;
    }
    shape.runs = find_runs(*shape.graph);
    shape.tree = series_parallel_tree(shape.runs.first.empty() ? *shape.graph : shape.runs.graph);
    push_block(region, shape.tree.root, in_sequence);
  }

  // The graph with its nodes numbered by their order.
  static Successors in_order(const Successors& graph, const std::vector<u32>& order) {
    const u32 count = static_cast<u32>(order.size());
    std::vector<u32> at(count);   // in the order, by place in the level
    for (u32 i = 0; i < count; ++i) at[order[i]] = i;
    Successors out;
    out.first.reserve(count + size_t{1});
    out.to.reserve(graph.to.size());
    for (u32 i = 0; i < count; ++i) {
      fetch(&graph.first[order[std::min(i + ahead, count - 1)]]);
      for (const u32 next : graph.of(order[i])) out.to.push_back(at[next]);
      out.first.push_back(static_cast<u32>(out.to.size()));
    }
    return out;
  }

  // Nodes that were added in another order than they run in lie anywhere, and a walk along the
  // order would wait for memory at each: so what comes soon is asked for.
  static constexpr u32 ahead = 16;
  static void fetch(const void* memory) { __builtin_prefetch(memory); }
  void fetch_soon(const Shape& shape, u32 at, u32 end) const {
    if (shape.nodes.empty()) return;
    if (at + ahead < end) {
      const u32 node = shape.nodes[at + ahead];
      fetch(&draft_.nodes[node]);
      draft_.entering.fetch(node);
    }
    if (at + ahead / 2 < end) {
      const u32 node = shape.nodes[at + ahead / 2];
      fetch(draft_.nodes[node].spec);
      for (const u32 edge : draft_.entering.of(node)) fetch(&draft_.edges[edge]);
    }
  }

  // ---- Blocks

  void write_block(const Task& task) {
    const Shape& shape = shapes_[task.region];
    switch (shape.tree.blocks[task.first].kind) {
      case Kind::Leaf: return write_run(task);
      case Kind::Series: return write_series(task);
      case Kind::Parallel: return write_parallel(task);
      case Kind::Tangle: return write_tangle(task);
    }
  }

  void write_run(const Task& task) {
    const Runs& runs = shapes_[task.region].runs;
    const u32 first = runs.begin(task.first), end = runs.end(task.first);
    const bool in_sequence = task.in_sequence || end > first + 1;
    if (in_sequence) open_sequence(task.in_sequence);
    push_nodes(task.region, first, end, in_sequence);
  }

  // One after the other, up to one with tasks that come before the next node.
  void write_nodes(const Task& task) {
    const Shape& shape = shapes_[task.region];
    for (u32 at = task.first; at < task.end; ++at) {
      fetch_soon(shape, at, task.end);
      const u32 node = shape.node(at);
      const bool is_construct = draft_.nodes[node].is_branch || is_driver(node);
      if (is_construct && at + 1 < task.end) {
        push_nodes(task.region, at + 1, task.end, task.in_sequence);
      }
      write_node(node, task.in_sequence);
      if (is_construct) return;
    }
  }

  // A Sequence, of which the children are pushed; one within a Sequence gives them to that.
  void open_sequence(bool in_sequence) {
    if (in_sequence) return;
    writer_.open(Variant::Sequence);
    push_close();
  }

  void write_series(const Task& task) {
    open_sequence(task.in_sequence);
    push_blocks(task.region, shapes_[task.region].tree.blocks[task.first].first_child);
  }

  void write_blocks(const Task& task) {
    const u32 next = shapes_[task.region].tree.blocks[task.first].next;
    if (next != BlockTree::none) push_blocks(task.region, next);
    write_block(task);
  }

  void write_parallel(const Task& task) {
    writer_.open(Variant::Parallel);
    push_close();
    const std::vector<BlockTree::Block>& blocks = shapes_[task.region].tree.blocks;
    std::vector<u32>& children = children_;
    children.clear();
    shapes_[task.region].tree.each_child(task.first,
                                         [&](u32 child) { children.push_back(child); });
    std::sort(children.begin(), children.end(),
              [&](u32 a, u32 b) { return blocks[a].earliest < blocks[b].earliest; });
    push_children(task, children, false);
  }

  void write_tangle(const Task& task) {
    const std::vector<u32> nodes = nodes_of(task);
    tell_tangle(task.region, nodes);
    if (!parallelizes_) {
      open_sequence(task.in_sequence);
    } else {
      writer_.open(Variant::Dataflow, no_node, static_cast<u32>(plan_.dataflows.size()));
      push_close();
      plan_.dataflows.push_back(dependencies(task.region, nodes));
    }
    // The last one first, since they are taken from the end; neighbours at once in a Sequence.
    for (size_t end = nodes.size(); end > 0;) {
      size_t first = end - 1;
      while (!parallelizes_ && first > 0 && nodes[first - 1] + 1 == nodes[first]) --first;
      push_nodes(task.region, nodes[first], nodes[end - 1] + 1, !parallelizes_);
      end = first;
    }
  }

  // All in a block, in their order.
  std::vector<u32> nodes_of(const Task& task) const {
    const Shape& shape = shapes_[task.region];
    const BlockTree& tree = shape.tree;
    std::vector<u32> out, left = {task.first};
    while (!left.empty()) {
      const u32 block = left.back();
      left.pop_back();
      if (tree.blocks[block].kind == Kind::Leaf) {
        for (u32 at = shape.runs.begin(block); at < shape.runs.end(block); ++at) out.push_back(at);
      }
      tree.each_child(block, [&](u32 child) { left.push_back(child); });
    }
    sort_numbers(out);
    return out;
  }

  // Numbers that all differ. They are mostly neighbours, and then marked rather than compared.
  static void sort_numbers(std::vector<u32>& numbers) {
    const auto [least, greatest] = std::minmax_element(numbers.begin(), numbers.end());
    const u32 first = *least, span = *greatest - first + 1;
    if (span / 8 > numbers.size()) return std::sort(numbers.begin(), numbers.end());
    std::vector<bool> is_in(span);
    for (const u32 number : numbers) is_in[number - first] = true;
    numbers.clear();
    for (u32 i = 0; i < span; ++i) {
      if (is_in[i]) numbers.push_back(first + i);
    }
  }

  // The last one first, since they are taken from the end.
  void push_children(const Task& task, const std::vector<u32>& blocks, bool in_sequence) {
    for (size_t i = blocks.size(); i-- > 0;) push_block(task.region, blocks[i], in_sequence);
  }

  // Of each node, those of the others that it follows, by their place among them.
  std::vector<std::vector<u32>> dependencies(u32 region, const std::vector<u32>& nodes) const {
    const Shape& shape = shapes_[region];
    std::vector<std::vector<u32>> after(nodes.size());
    const auto place_of = [&](u32 node) {
      const auto at = std::lower_bound(nodes.begin(), nodes.end(), node);
      return at != nodes.end() && *at == node ? static_cast<u32>(at - nodes.begin()) : no_node;
    };
    for (u32 i = 0; i < nodes.size(); ++i) {
      for (const u32 next : shape.graph->of(nodes[i])) {
        const u32 place = place_of(next);
        if (place == no_node) continue;
        std::vector<u32>& known = after[place];
        if (known.empty() || known.back() != i) known.push_back(i);
      }
    }
    return after;
  }

  void tell_tangle(u32 region, const std::vector<u32>& nodes) {
    constexpr size_t shown_max = 16;
    Diagnostic& hint = diagnostics_.info(
        Reason::graph_not_series_parallel,
        text("{} nodes, the first of them {}, are no nesting of sequences and waves: {}",
             nodes.size(), quoted(draft_.nodes[shapes_[region].node(nodes[0])].id()),
             parallelizes_ ? "they run as soon as what they read is there"
                           : "they run one after the other"));
    for (size_t i = 0; i < std::min(nodes.size(), shown_max); ++i) {
      hint.node(draft_.nodes[shapes_[region].node(nodes[i])].id());
    }
    if (!parallelizes_) hint.advise("the option parallelize_dag lets them overlap");
  }

  // ---- Nodes

  void write_node(u32 node, bool in_sequence) {
    const DraftNode& draft = draft_.nodes[node];
    const u32 place = place_[node] = static_cast<u32>(plan_.nodes.size());
    const u32 sources = static_cast<u32>(plan_.sources.size());
    add_sources(node);
    PlanNode& made = plan_.nodes.emplace_back(static_cast<const NodeSpec&>(*draft.spec), sources,
                                              static_cast<u32>(plan_.sources.size()));
    if (draft.inlined) made.id = *draft.inlined;
    if (!made.settings.is_usual()) drop_rule(made);
    if (draft.is_branch) {
      open_sequence(in_sequence);
      writer_.leaf(Variant::Execute, place);
      writer_.open(Variant::Branch, place, static_cast<u32>(plan_.branches.size()));
      push_close();
      push_regions(write_arms(node));
    } else if (draft.spec->kind == NodeKind::Step) {
      writer_.open(Variant::Step, place, static_cast<u32>(plan_.handoffs.size()));
      plan_.handoffs.push_back(handoffs_of(node));
      push_close();
      push_regions(regions_of(node));
    } else if (draft.spec->kind == NodeKind::Loop) {
      writer_.open(Variant::Loop, place, static_cast<u32>(plan_.loops.size()));
      plan_.loops.push_back(loops_[node]);
      push_close();
      push_regions(regions_of(node));
    } else {
      writer_.leaf(Variant::Execute, place);
    }
  }

  bool is_driver(u32 node) const {
    const NodeKind kind = draft_.nodes[node].spec->kind;
    return kind == NodeKind::Step || kind == NodeKind::Loop;
  }

  // All that a node reads has its place before it.
  void add_sources(u32 node) {
    for (const u32 index : draft_.entering.of(node)) {
      const DraftEdge& edge = draft_.edges[index];
      if (!carries_value(edge)) continue;
      Source& made = plan_.sources.emplace_back();
      made.node = place_[edge.from];
      if (!draft_.traits.has_settings && edge.edge) continue;  // no ports
      made.output = name(draft_.output_of(edge));
      made.input = name(draft_.input_of(edge));
    }
  }

  u32 name(std::string_view port) {
    if (port.empty()) return 0;
    const auto [at, is_new] = names_.emplace(port, static_cast<u32>(plan_.names.size()));
    if (is_new) plan_.names.emplace_back(port);
    return at->second;
  }

  // When a loop ends and what it carries stands in its PlanLoop.
  static void drop_rule(PlanNode& node) {
    NodeSettings& settings = node.edit();
    settings.until = {};
    settings.max_iterations.reset();
    settings.carry_from.reset();
  }

  // The regions of a construct, in the order of its entrances.
  std::vector<u32> regions_of(u32 node) const {
    const auto first = regions_of_.find(node);
    std::vector<u32> out;
    if (first == regions_of_.end()) return out;  // a step without hand-offs
    const std::vector<Regions::Region>& regions = ownership_.regions.regions;
    for (u32 at = first->second; at < regions.size() && regions[at].construct == node; ++at) {
      out.push_back(at);
    }
    return out;
  }

  // The last one first, since they are taken from the end.
  void push_regions(const std::vector<u32>& regions) {
    for (size_t i = regions.size(); i-- > 0;) {
      tasks_.push_back({Task::Kind::Region, false, regions[i], 0, 0});
    }
  }

  // entry(edge) for each edge of the graph by which a construct is entered.
  template <typename Use>
  void each_entry(u32 node, Use entry) const {
    const GraphEdge* last = nullptr;
    for (const u32 index : draft_.leaving.of(node)) {
      const DraftEdge& edge = draft_.edges[index];
      if (edge.link == Link::Entry && edge.edge != last) {
        last = edge.edge;
        entry(edge);
      }
    }
  }

  // Arms with their regions, in the order in which they are tried: that of the edges, but for
  // `else`.
  std::vector<u32> write_arms(u32 node) {
    std::vector<Arm>& arms = plan_.branches.emplace_back();
    each_entry(node,
               [&](const DraftEdge& edge) { arms.push_back(arm_of(draft_, edge).value()); });
    std::vector<u32> regions = regions_of(node);
    for (size_t i = 0; i + 1 < arms.size(); ++i) {
      if (arms[i].kind() != Arm::Kind::Else) continue;
      std::rotate(arms.begin() + static_cast<std::ptrdiff_t>(i),
                  arms.begin() + static_cast<std::ptrdiff_t>(i + 1), arms.end());
      std::rotate(regions.begin() + static_cast<std::ptrdiff_t>(i),
                  regions.begin() + static_cast<std::ptrdiff_t>(i + 1), regions.end());
      break;
    }
    return regions;
  }

  std::vector<std::string> handoffs_of(u32 node) const {
    std::vector<std::string> targets;
    each_entry(node, [&](const DraftEdge& edge) {
      targets.push_back(std::string(draft_.graph_of(edge).inside).append(draft_.target_of(edge)));
    });
    return targets;
  }

  // ---- What needs the places of all nodes

  void resolve_loop_nodes() {
    for (PlanLoop& loop : plan_.loops) {
      if (loop.signal != no_node) loop.signal = place_[loop.signal];
      if (loop.carry != no_node) loop.carry = place_[loop.carry];
    }
  }

  void add_leaves() {
    const Regions& regions = ownership_.regions;
    for (u32 node = 0; node < draft_.nodes.size(); ++node) {
      if (regions.regions[regions.of[node]].body != Regions::outermost) continue;
      if (!draft_.is_followed(node)) plan_.leaves.push_back(place_[node]);
    }
    if (plan_.leaves.size() < 2) return;
    Diagnostic& hint = diagnostics_.info(
        Reason::graph_several_leaves,
        text("the graph ends in {} nodes, so its value is a map", plan_.leaves.size()));
    for (size_t i = 0; i < std::min<size_t>(plan_.leaves.size(), 16); ++i) {
      hint.node(plan_.nodes[plan_.leaves[i]].id);
    }
  }

  const Draft& draft_;
  const Ownership& ownership_;
  const std::span<const PlanLoop> loops_;
  const bool parallelizes_;
  Diagnostics& diagnostics_;
  Plan plan_;
  ItemWriter writer_;
  std::vector<Task> tasks_;
  std::vector<u32> children_;                // of the wave at hand
  std::vector<Shape> shapes_;                // by region
  std::unordered_map<u32, u32> regions_of_;  // by construct: the first one
  std::vector<u32> place_;                   // in the plan, by node of the draft
  std::unordered_map<std::string_view, u32> names_;
};

}  // namespace

Decomposition decompose(const Draft& draft, const Ownership& ownership,
                        std::span<const PlanLoop> loops, bool parallelize_dag,
                        Diagnostics& diagnostics) {
  return Decomposer(draft, ownership, loops, parallelize_dag, diagnostics).decompose();
}

}  // namespace soma
