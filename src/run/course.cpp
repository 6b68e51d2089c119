// Flattens the tree of a plan into stretches of nodes and the stops between them.
//
// Problem. A tree is walked item by item, and most items say nothing to a thread that is alone: a
// sequence, a wave, a part that could run elsewhere are all the same to it, nodes one after the
// other. Bodies that take two nanoseconds leave no time to ask what each item is.
//
// Idea. A plan's table holds the nodes in the order in which one thread runs them, so all that such
// a thread needs to know is where it can't simply go on to the next node: at loops, whose bodies
// repeat, and at branches and steps, whose arms and hand-offs are passed over. Between two such
// stops lies a stretch, a plain range of nodes. A wave is a stop only if it is known to be worth
// sharing at once; all others are walked through as if they were sequences (expose.cpp says how
// they are shared in spite of that).
//
// Why it is right. The nodes of a subtree are neighbours, so a body or an arm is a range, and
// whatever lies in it has its stops in a range as well: who jumps over the one jumps over the
// other. A wave's branches in their order are one of the orders that a wave allows. Streams are
// always stops, as their nodes run once for each chunk.
//
// Cost. Linear in items, once for each run object; a stack as deep as constructs nest.
#include "run/course.hpp"

#include <algorithm>

namespace soma {

namespace {

bool owns_node(Variant variant) {
  return variant == Variant::Execute || variant == Variant::Step || variant == Variant::Loop;
}

bool is_construct(Variant variant) {
  return variant == Variant::Loop || variant == Variant::Branch || variant == Variant::Step;
}

}  // namespace

Course::Course(const Plan& plan) : plan_(plan), first_node_(plan.items.size() + 1) {
  u32 nodes = 0;
  for (size_t at = 0; at < plan.items.size(); ++at) {
    first_node_[at] = nodes;
    nodes += owns_node(plan.items[at].variant);
    const Variant variant = plan.items[at].variant;
    has_waves_ = has_waves_ || is_wave(variant) || variant == Variant::Stream;
  }
  first_node_.back() = nodes;
  for (u32 at = 0; at < plan.items.size(); ++at) {
    const PlanItem& item = plan.items[at];
    if (item.variant == Variant::Stream) streams_.push_back(items(at, item.end));
  }
  find_constructs();
  if (has_waves_) find_parents();
  stop_at_waves({});
}

void Course::find_constructs() {
  std::vector<u32> open;
  for (u32 at = 0; at < plan_.items.size(); ++at) {
    while (!open.empty() && plan_.items[constructs_[open.back()].item].end <= at) open.pop_back();
    const PlanItem& item = plan_.items[at];
    if (!is_construct(item.variant)) continue;
    Construct made;
    made.variant = item.variant;
    made.node = item.node;
    made.detail = item.detail;
    made.item = at;
    made.begin = first_node_[at];
    made.end = first_node_[item.end];
    made.outer = open.empty() ? whole : open.back();
    made.regions = static_cast<u32>(regions_.size());
    plan_.each_child(at, [this](u32 child) {
      regions_.push_back(items(child, plan_.items[child].end));
    });
    open.push_back(static_cast<u32>(constructs_.size()));
    depth_ = std::max(depth_, static_cast<u32>(open.size()));
    constructs_.push_back(made);
  }
}

void Course::find_parents() {
  parent_.resize(plan_.items.size());
  u32 inner = 0;
  for (u32 at = 1; at < plan_.items.size(); ++at) {
    while (plan_.items[inner].end <= at) inner = parent_[inner];
    parent_[at] = inner;
    if (plan_.items[at].end > at + 1) inner = at;
  }
}

void Course::stop_at_waves(std::vector<WorthyWave> waves) {
  // Of two for one item, the one with a gain comes first, and stays.
  for (const Region& stream : streams_) waves.push_back({stream.item, 1, 0});
  std::ranges::sort(waves, [](const WorthyWave& a, const WorthyWave& b) {
    return a.item != b.item ? a.item < b.item : a.gain_ns > b.gain_ns;
  });
  const auto same = [](const WorthyWave& a, const WorthyWave& b) { return a.item == b.item; };
  waves.erase(std::unique(waves.begin(), waves.end(), same), waves.end());
  std::vector<Stop> stops;           // the old ones stay, if there is no memory for others
  stops.reserve(constructs_.size() + waves.size() + 1);
  for (u32 c = 0; c < constructs_.size(); ++c) {
    stops.push_back({constructs_[c].begin, constructs_[c].item, c, 0, 0});
  }
  for (const WorthyWave& wave : waves) {
    stops.push_back({first_node_[wave.item], wave.item, whole, 0, wave.nodes_min, wave.gain_ns});
  }
  std::ranges::sort(stops, {}, &Stop::item);
  stops.push_back({no_node, static_cast<u32>(plan_.items.size()), whole, 0, 0});
  stops_ = std::move(stops);
  for (size_t i = 0; i + 1 < stops_.size(); ++i) {
    stops_[i].next = first_stop(plan_.items[stops_[i].item].end);
  }
}

u32 Course::first_stop(u32 item) const {
  return static_cast<u32>(std::ranges::lower_bound(stops_, item, {}, &Stop::item) -
                          stops_.begin());
}

// The last item before which so many nodes lie, as those around it have no node before it.
u32 Course::item_of(u32 node) const {
  const auto behind = std::upper_bound(first_node_.begin(), first_node_.end(), node);
  return static_cast<u32>(behind - first_node_.begin()) - 1;
}

u32 Course::around(u32 node) const {
  // Those that begin behind the node can't hold it; the last of the others, or one around it, does.
  const auto behind = std::ranges::upper_bound(constructs_, node, {}, &Construct::begin);
  if (behind == constructs_.begin()) return whole;
  u32 at = static_cast<u32>(behind - constructs_.begin()) - 1;
  while (at != whole && !holds(at, node)) at = constructs_[at].outer;
  return at;
}

std::vector<u32> Course::loops_around(u32 node) const {
  std::vector<u32> out;
  for (u32 at = around(node); at != whole; at = constructs_[at].outer) {
    if (constructs_[at].variant == Variant::Loop) out.push_back(at);
  }
  std::ranges::reverse(out);
  return out;
}

bool Course::is_in_stream(u32 node) const {
  const auto behind = std::ranges::upper_bound(streams_, node, {}, &Region::begin);
  return behind != streams_.begin() && node < (behind - 1)->end;
}

bool Course::holds(u32 construct, u32 node) const {
  const Construct& it = constructs_[construct];
  const bool is_own = it.variant != Variant::Branch && node == it.node;
  return it.begin <= node && node < it.end && !is_own;
}

}  // namespace soma
