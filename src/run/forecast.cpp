// Estimates what is left of a run, while it runs.
//
// Problem. Who waits for a run wants to know for how long. What nodes declare, and what the same
// nodes took before, says how long each takes; but half of the plan may be done, half of a node as
// well, a branch decided, a loop in its third pass. And a wrong number is worse than none.
//
// Idea. The rules are those of estimates (compiler/estimate.cpp), applied to what is left: each
// item of the tree has two times, that of all of it and that of what is left of it. Where a run is,
// each item knows by one number: the child in which something began last. In a Sequence all before
// that one is over, whether it ran or was skipped; of a Step's hand-offs and a Branch's arms it is
// the one that was taken. A node that runs has what it should take, less what it has taken. A
// pass's end sets back what is in the loop.
//
//   Sequence   what is left of the child at hand, and all of those behind it
//   Parallel   the longest branch, or the work that is left divided by the threads
//   Branch     the arm that was taken; before that the dearest
//   Stream     its stages overlap as a Parallel's branches do, and each waits for others mostly: so
//              it is timed like one node, from its first start to its last end
//   Loop       what is left of this pass, and so many whole passes as the bound leaves; a loop
//              that a signal ends may end at any time: unknown, until it has
//
// A node's time is the mean of those that it took before; else what it declares; else the mean of
// its op's. Found in a cache, or read in a journal, it took no time that means anything. One that
// takes more than twice as long as it should is not what we took it for: unknown, till it ends. So
// is everything in which something is unknown: nothing is ever put in as 0.
//
// Cost. An event costs a table's entry, and once for each pass of an item one more; a look is
// linear in the items, and there are few looks (interval_ns). Between two looks the time that has
// passed is taken off.
#include "run/forecast.hpp"

#include <algorithm>
#include <unordered_map>

namespace soma {

namespace {

constexpr u32 none = ~u32{0};
// How much longer than it should a node may take that should take next to nothing.
constexpr double grace_us = 100'000;

struct Cost {
  double time_us = 0, work_us = 0;
  bool is_known = true;

  void then(const Cost& next) {
    time_us += next.time_us;
    work_us += next.work_us;
    is_known = is_known && next.is_known;
  }
  void or_else(const Cost& other) {
    time_us = std::max(time_us, other.time_us);
    work_us = std::max(work_us, other.work_us);
    is_known = is_known && other.is_known;
  }
  void repeat(double times) {
    time_us *= times;
    work_us *= times;
  }
};
constexpr Cost unknown = {0, 0, false};

struct Mean {
  double sum_us = 0;
  u64 count = 0;
  void add(double time_us) {
    sum_us += time_us;
    ++count;
  }
  std::optional<double> value() const {
    if (count == 0) return std::nullopt;
    return sum_us / static_cast<double>(count);
  }
};

enum class Phase : u8 { Waiting, Running, Ended };

struct Node {
  Phase phase = Phase::Waiting;
  bool means_nothing = false;   // its time, this time
  u32 item = none;              // that it is the node of; a Branch's has run before, as another's
  u32 op = 0;
  u64 passes = 0;               // of a loop, that have ended
  i64 begun_ns = 0;
  Mean took;                    // of a Stream's last node: all of the Stream
};

struct Item {
  u32 parent = none;
  u32 at = none;                // the child in which something began last
  Cost whole, left;
};

// Of what has begun.
Cost rest(double time_us, i64 taken_ns) {
  const double taken_us = static_cast<double>(taken_ns) / 1e3;
  if (taken_us > std::max(2 * time_us, time_us + grace_us)) return unknown;
  const double left_us = std::max(time_us - taken_us, 0.0);
  return {left_us, left_us, true};
}

}  // namespace

struct Forecast::State {
  State(const Plan& the_plan, u64 the_threads);

  void begin_node(const Event& event);
  void end_node(const Event& event);
  void end_pass(const Event& event);

  std::optional<double> expected(u32 index) const;
  void look(i64 at_ns);
  bool is_in_stream(const Node& node) const {
    return node.item != none && items[node.item].parent != none &&
           plan.items[items[node.item].parent].variant == Variant::Stream;
  }
  void end_stage(const Event& event);
  Cost own(u32 index, bool of_left, i64 at_ns) const;
  Cost cost(u32 index, bool of_left, i64 at_ns) const;
  Cost passes(u32 index, bool of_left) const;
  Cost sum(u32 index, bool of_left) const;
  Cost dearest(u32 index, bool of_left) const;
  Cost wave(u32 index, bool of_left);
  Cost stream(u32 index, bool of_left, i64 at_ns);
  Cost flow(u32 index, bool of_left);
  const Cost& of(u32 index, bool of_left) const {
    return of_left ? items[index].left : items[index].whole;
  }

  const Plan& plan;
  const u64 threads;
  bool has_journal = false;
  std::vector<Node> nodes;
  std::vector<Item> items;
  std::vector<Mean> ops;
  std::vector<Cost> done;       // of a Dataflow's children: from the start to their ends
  i64 looked_at_ns = 0;
  bool has_looked = false;
  std::optional<double> seen_us;
};

// ---- Where the run is

Forecast::State::State(const Plan& the_plan, u64 the_threads)
    : plan(the_plan), threads(the_threads), nodes(plan.nodes.size()), items(plan.items.size()) {
  size_t children_max = 0;
  for (u32 at = 0; at < items.size(); ++at) {
    const PlanItem& item = plan.items[at];
    const bool is_its_own = item.variant == Variant::Execute || item.variant == Variant::Step ||
                            item.variant == Variant::Loop;
    if (is_its_own) nodes[item.node].item = at;
    size_t children = 0;
    plan.each_child(at, [&](u32 child) {
      items[child].parent = at;
      ++children;
    });
    if (item.variant == Variant::Dataflow) children_max = std::max(children_max, children);
  }
  done.resize(children_max);
  std::unordered_map<std::string_view, u32> names;
  for (u32 index = 0; index < nodes.size(); ++index) {
    const auto next = static_cast<u32>(names.size());
    nodes[index].op = names.emplace(plan.nodes[index].op_name(), next).first->second;
  }
  ops.resize(names.size());
}

void Forecast::State::begin_node(const Event& event) {
  Node& node = nodes[event.node];
  const PlanNode& facts = plan.nodes[event.node];
  node.phase = Phase::Running;
  node.begun_ns = event.at_ns;
  node.passes = 0;
  // An effect that is performed now makes it count again.
  node.means_nothing = has_journal && (facts.kind == NodeKind::Step || !facts.deterministic);
  // Further out nothing changes than where this was known before.
  for (u32 child = node.item; child != none && items[child].parent != none;) {
    Item& parent = items[items[child].parent];
    if (parent.at == child) break;
    parent.at = child;
    child = items[child].parent;
  }
}

void Forecast::State::end_node(const Event& event) {
  Node& node = nodes[event.node];
  const bool has_time = node.phase == Phase::Running && !node.means_nothing &&
                        plan.nodes[event.node].kind != NodeKind::Loop;
  if (is_in_stream(node)) {
    end_stage(event);
  } else if (has_time) {
    const double took_us = static_cast<double>(event.at_ns - node.begun_ns) / 1e3;
    node.took.add(took_us);
    ops[node.op].add(took_us);
  }
  node.phase = Phase::Ended;
}

// The last stage's end is the Stream's. If any of them found something, that took less time.
void Forecast::State::end_stage(const Event& event) {
  const u32 at = items[nodes[event.node].item].parent;
  if (plan.items[at].end != nodes[event.node].item + 1) return;
  bool has_time = true;
  plan.each_child(at, [&](u32 child) {
    const Node& stage = nodes[plan.items[child].node];
    has_time = has_time && stage.phase != Phase::Waiting && !stage.means_nothing;
  });
  const i64 begun_ns = nodes[plan.items[at + 1].node].begun_ns;
  if (has_time) nodes[event.node].took.add(static_cast<double>(event.at_ns - begun_ns) / 1e3);
}

void Forecast::State::end_pass(const Event& event) {
  Node& loop = nodes[event.node];
  loop.passes = event.pass;
  if (event.ended != Event::Ended::No) return;
  const PlanItem& item = plan.items[loop.item];
  for (u32 at = loop.item + 1; at < item.end; ++at) {
    items[at].at = none;
    const u32 index = plan.items[at].node;
    if (index != none && nodes[index].item == at) nodes[index].phase = Phase::Waiting;
  }
}

// ---- How long it takes

std::optional<double> Forecast::State::expected(u32 index) const {
  const PlanNode& node = plan.nodes[index];
  if (node.kind == NodeKind::Subgraph) return 0;   // computes nothing
  if (const std::optional<double> own = nodes[index].took.value()) return own;
  if (node.cost_us()) return node.cost_us();
  return ops[nodes[index].op].value();
}

Cost Forecast::State::own(u32 index, bool of_left, i64 at_ns) const {
  const Node& node = nodes[index];
  if (of_left && node.phase == Phase::Ended) return {};
  const std::optional<double> time_us = expected(index);
  if (!time_us) return unknown;
  if (!of_left || node.phase == Phase::Waiting) return {*time_us, *time_us, true};
  return rest(*time_us, at_ns - node.begun_ns);
}

Cost Forecast::State::sum(u32 index, bool of_left) const {
  Cost cost;
  const u32 from = of_left && items[index].at != none ? items[index].at : 0;
  plan.each_child(index, [&](u32 child) {
    if (child >= from) cost.then(of(child, of_left));
  });
  return cost;
}

Cost Forecast::State::dearest(u32 index, bool of_left) const {
  if (of_left && items[index].at != none) return items[items[index].at].left;
  Cost cost;
  plan.each_child(index, [&](u32 child) { cost.or_else(of(child, of_left)); });
  return cost;
}

// The longest branch, but not less than the threads need for all of them.
Cost Forecast::State::wave(u32 index, bool of_left) {
  Cost cost;
  double work_us = 0;
  plan.each_child(index, [&](u32 child) {
    cost.or_else(of(child, of_left));
    work_us += of(child, of_left).work_us;
  });
  cost.work_us = work_us;
  if (threads > 0) cost.time_us = std::max(cost.time_us, work_us / static_cast<double>(threads));
  return cost;
}

Cost Forecast::State::stream(u32 index, bool of_left, i64 at_ns) {
  const Node& last = nodes[plan.items[plan.items[index].end - 1].node];
  if (of_left && last.phase == Phase::Ended) return {};
  Cost whole = wave(index, false);
  if (const std::optional<double> took = last.took.value()) whole = {*took, *took, true};
  const bool is_at_work = of_left && items[index].at != none;
  if (!is_at_work || !whole.is_known) return whole;
  return rest(whole.time_us, at_ns - nodes[plan.items[index + 1].node].begun_ns);
}

Cost Forecast::State::flow(u32 index, bool of_left) {
  const std::vector<std::vector<u32>>& after = plan.dataflows[plan.items[index].detail];
  Cost cost;
  double work_us = 0;
  size_t number = 0;
  plan.each_child(index, [&](u32 child) {
    Cost& end = done[number] = {};
    for (const u32 before : after[number]) end.or_else(done[before]);
    end.then(of(child, of_left));
    cost.or_else(end);
    work_us += of(child, of_left).work_us;
    ++number;
  });
  cost.work_us = work_us;
  if (threads > 0) cost.time_us = std::max(cost.time_us, work_us / static_cast<double>(threads));
  return cost;
}

Cost Forecast::State::passes(u32 index, bool of_left) const {
  const PlanItem& item = plan.items[index];
  const Node& loop = nodes[item.node];
  const PlanLoop& rule = plan.loops[item.detail];
  if (of_left && loop.phase == Phase::Ended) return {};
  if (!rule.max_iterations || rule.signal != no_node) return unknown;
  const bool is_running = of_left && loop.phase == Phase::Running;
  Cost cost = of(index + 1, false);
  if (!is_running) {
    cost.repeat(static_cast<double>(*rule.max_iterations));
    return cost;
  }
  // The last event of a loop comes a moment after its last pass.
  const u64 begun = std::min(loop.passes + 1, *rule.max_iterations);
  cost.repeat(static_cast<double>(*rule.max_iterations - begun));
  if (loop.passes < begun) cost.then(items[index + 1].left);
  return cost;
}

Cost Forecast::State::cost(u32 index, bool of_left, i64 at_ns) const {
  const PlanItem& item = plan.items[index];
  switch (item.variant) {
    case Variant::Empty: return {};
    case Variant::Execute: return own(item.node, of_left, at_ns);
    case Variant::Sequence:
    case Variant::Composite: return sum(index, of_left);
    case Variant::Remote: return of(index + 1, of_left);
    case Variant::Branch: return dearest(index, of_left);
    case Variant::Loop: return passes(index, of_left);
    case Variant::Step: break;
    case Variant::Stream:
    case Variant::Parallel:
    case Variant::Dataflow: return {};  // look() asks their own
  }
  Cost cost = own(item.node, of_left, at_ns);
  // A hand-off begins as soon as its step has ended.
  const bool has_chosen = of_left && nodes[item.node].phase == Phase::Ended;
  if (!has_chosen || items[index].at != none) cost.then(dearest(index, of_left));
  return cost;
}

// From the leaves up: items come in pre-order, so backwards every child is there before it is
// asked for.
void Forecast::State::look(i64 at_ns) {
  for (u32 index = static_cast<u32>(items.size()); index-- > 0;) {
    const Variant variant = plan.items[index].variant;
    for (const bool of_left : {false, true}) {
      Cost& cost_of = of_left ? items[index].left : items[index].whole;
      cost_of = variant == Variant::Parallel   ? wave(index, of_left)
                : variant == Variant::Stream   ? stream(index, of_left, at_ns)
                : variant == Variant::Dataflow ? flow(index, of_left)
                                               : cost(index, of_left, at_ns);
    }
  }
  constexpr double longest_us = 1e12;   // eleven days: a guess that far is none
  const Cost& whole = items.front().left;
  seen_us.reset();
  if (whole.is_known && whole.time_us < longest_us) seen_us = whole.time_us;
  looked_at_ns = at_ns;
  has_looked = true;
}

// ---- The interface

Forecast::Forecast(const Plan& plan, u64 threads)
    : state_(std::make_unique<State>(plan, threads)) {}
Forecast::~Forecast() = default;

void Forecast::begin(bool has_journal) {
  State& state = *state_;
  state.has_journal = has_journal;
  state.has_looked = false;
  for (Node& node : state.nodes) {
    node.phase = Phase::Waiting;
    node.passes = 0;
  }
  for (Item& item : state.items) item.at = none;
}

void Forecast::hear(const Event& event) {
  State& state = *state_;
  if (event.node == no_node) return;
  switch (event.kind) {
    case Event::Kind::NodeStarted: return state.begin_node(event);
    case Event::Kind::NodeFinished: return state.end_node(event);
    case Event::Kind::PassFinished: return state.end_pass(event);
    case Event::Kind::EffectStarted: state.nodes[event.node].means_nothing = false; return;
    case Event::Kind::CacheHit:
    case Event::Kind::NodeSkipped: state.nodes[event.node].means_nothing = true; return;
    case Event::Kind::RunStarted:
    case Event::Kind::RunFinished:
    case Event::Kind::RunFailed:
    case Event::Kind::RunSuspended:
    case Event::Kind::NodeFailed:
    case Event::Kind::NodeSuspended:
    case Event::Kind::EffectFinished:
    case Event::Kind::EffectFailed:
    case Event::Kind::ChunkStarted:
    case Event::Kind::ChunkFinished:
    case Event::Kind::ArmChosen:
    case Event::Kind::CacheMiss:
    case Event::Kind::CacheFailed: return;
  }
}

std::optional<i64> Forecast::eta_ns(i64 at_ns) {
  State& state = *state_;
  if (state.items.empty()) return std::nullopt;
  const i64 apart_ns = std::max(
      interval_ns, interval_per_item_ns * static_cast<i64>(state.items.size()));
  if (!state.has_looked || at_ns - state.looked_at_ns >= apart_ns) state.look(at_ns);
  if (!state.seen_us) return std::nullopt;
  const auto seen_ns = static_cast<i64>(*state.seen_us * 1e3);
  return std::max<i64>(seen_ns - (at_ns - state.looked_at_ns), 0);
}

}  // namespace soma
