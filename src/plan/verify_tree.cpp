// Proves of each item of a plan that it is what its variant says: what lies in it, around it and
// before it, which node it names, and which row of its table it has.
//
// One walk in pre-order with a stack of open items. What is to be said of an item alone is said
// when it opens, what depends on its children when it closes. Most items are leaves of which there
// is nothing to be said: they are seen to be that, and counted.
//
// A Branch asks what the item before it in its Sequence executed last, which leads down through
// last children. That is linear for all of them together: an item that is some last child lies in
// one such chain only, and a chain has one item behind it.
#include <algorithm>
#include <unordered_set>

#include "base/json.hpp"
#include "base/text.hpp"
#include "plan/verify.hpp"

namespace soma {

namespace {

struct ChildCount {
  static constexpr u32 any = ~u32{0};
  u32 low, high;
};

ChildCount children_of(Variant variant) {
  switch (variant) {
    case Variant::Empty:
    case Variant::Execute: return {0, 0};
    case Variant::Loop:
    case Variant::Remote: return {1, 1};
    case Variant::Sequence:
    case Variant::Parallel:
    case Variant::Composite:
    case Variant::Dataflow: return {2, ChildCount::any};
    case Variant::Branch:
    case Variant::Stream: return {1, ChildCount::any};
    case Variant::Step: break;
  }
  return {0, ChildCount::any};
}

bool names_node(Variant variant) {
  return places_node(variant) || variant == Variant::Branch || variant == Variant::Remote;
}

class TreeCheck {
 public:
  explicit TreeCheck(PlanCheck& check)
      : check_(check),
        plan_(check.plan),
        is_placed_(plan_.nodes.size()),
        last_child_(plan_.items.size(), no_item) {}

  void run() && {
    for (u32 at = 0; at < plan_.items.size(); ++at) {
      while (!open_.empty() && plan_.items[open_.back().item].end == at) close();
      if (is_flawless_leaf(at)) {
        is_placed_[next_++] = true;
        become_child(at);
      } else {
        open(at);
      }
    }
    while (!open_.empty()) close();
    for (u32 i = 0; i < plan_.nodes.size(); ++i) {
      if (!is_placed_[i]) check_.complain_of(i, "it has no place in the tree");
    }
    check_all_used();
  }

 private:
  struct Open {
    u32 item = no_item;
    u32 children = 0;             // so far
  };

  // A table that items have rows of.
  struct Table {
    std::string_view what;
    size_t size;
    std::vector<bool> is_used = std::vector<bool>(size);
  };

  bool is_flawless_leaf(u32 at) const {
    const PlanItem& item = plan_.items[at];
    if (item.variant != Variant::Execute || item.end != at + 1 || item.detail != 0) return false;
    if (item.node != next_ || next_ >= plan_.nodes.size() || is_placed_[next_]) return false;
    const NodeKind kind = plan_.nodes[next_].kind;
    if (kind == NodeKind::Step || kind == NodeKind::Loop || open_.empty()) return false;
    const Variant around = plan_.items[open_.back().item].variant;
    return around == Variant::Sequence || around == Variant::Parallel ||
           around == Variant::Dataflow;
  }

  void open(u32 at) {
    const PlanItem& item = plan_.items[at];
    const bool has_node = item.node < plan_.nodes.size();
    if (names_node(item.variant) && !has_node) {
      check_.complain_at(at, text("it names no node of the table, which has {}",
                                  plan_.nodes.size()));
    } else if (!names_node(item.variant) && item.node != no_node) {
      check_.complain_at(at, "an item of this variant names no node");
    }
    check_around(at);
    if (has_node && places_node(item.variant)) place(at);
    if (has_node && item.variant == Variant::Remote) check_remote(at);
    if (has_node && item.variant == Variant::Branch) check_decided(at);
    check_detail(at);
    open_.push_back({at});
  }

  // What the item around says about this one.
  void check_around(u32 at) {
    const Variant variant = plan_.items[at].variant;
    if (variant == Variant::Empty && plan_.items.size() > 1) {
      check_.complain_at(at, "only a whole plan is empty");
    }
    if (open_.empty()) return;
    const Variant around = plan_.items[open_.back().item].variant;
    if (variant == around && (variant == Variant::Sequence || variant == Variant::Parallel)) {
      check_.complain_at(at, text("it lies directly in another {}", variant_name(around)));
    }
    if ((around == Variant::Composite || around == Variant::Stream) &&
        variant != Variant::Execute) {
      check_.complain_at(at, text("a {} holds only execute", variant_name(around)));
    } else if (around == Variant::Stream) {
      check_in_stream(at);
    }
  }

  // Chunks go from each node of a stream to the next and nowhere else.
  void check_in_stream(u32 at) {
    const u32 node = plan_.items[at].node;
    if (node >= plan_.nodes.size()) return;
    const PlanNode& record = plan_.nodes[node];
    if (record.stream_mode == StreamMode::None) {
      check_.complain_at(at, "it lies in a stream, and its node has no stream mode");
    }
    if (open_.back().children == 0) return;
    const bool reads_one = record.sources_end == record.sources_begin + 1 &&
                           record.sources_begin < plan_.sources.size();
    if (!reads_one || plan_.sources[record.sources_begin].node + 1 != node) {
      check_.complain_at(at, "it lies in a stream, and does not read just the node before it");
    }
  }

  void place(u32 at) {
    const PlanItem& item = plan_.items[at];
    const PlanNode& node = plan_.nodes[item.node];
    if (is_placed_[item.node]) {
      check_.complain_at(at, "its node has another place too");
      return;
    }
    is_placed_[item.node] = true;
    if (item.node != next_) {
      check_.complain_at(at, text("its node is number {} of the table, and number {} is next in "
                                  "the order of the tree",
                                  item.node, next_));
    }
    next_ = item.node + 1;
    const Variant fitting = node.kind == NodeKind::Step   ? Variant::Step
                            : node.kind == NodeKind::Loop ? Variant::Loop
                                                          : Variant::Execute;
    if (item.variant != fitting) {
      check_.complain_at(at, text("a node of kind {} has the variant {}", node_kind_name(node.kind),
                                  variant_name(fitting)));
    }
  }

  void check_remote(u32 at) {
    const u32 node = plan_.items[at].node;
    if (node != next_) check_.complain_at(at, "it names another node than the first one in it");
    if (plan_.nodes[node].target().kind == Target::Kind::Local) {
      check_.complain_at(at, "the target of its node is local");
    }
  }

  void check_decided(u32 at) {
    u32 before = no_item;
    if (!open_.empty() && plan_.items[open_.back().item].variant == Variant::Sequence) {
      before = last_child_[open_.back().item];
    }
    while (before != no_item) {
      const Variant variant = plan_.items[before].variant;
      if (variant == Variant::Execute || variant == Variant::Step) break;
      const bool ends_with_last = variant == Variant::Sequence || variant == Variant::Remote ||
                                  variant == Variant::Composite || variant == Variant::Stream;
      before = ends_with_last ? last_child_[before] : no_item;
    }
    if (before == no_item || plan_.items[before].node != plan_.items[at].node) {
      check_.complain_at(at, "the item before it in its sequence does not execute its node");
    }
  }

  // ---- Details

  // The table that a variant has rows of.
  Table* table_of(Variant variant) {
    switch (variant) {
      case Variant::Step: return &handoffs_;
      case Variant::Loop: return &loops_;
      case Variant::Branch: return &branches_;
      case Variant::Dataflow: return &dataflows_;
      case Variant::Empty:
      case Variant::Execute:
      case Variant::Sequence:
      case Variant::Parallel:
      case Variant::Remote:
      case Variant::Composite:
      case Variant::Stream: break;
    }
    return nullptr;
  }

  void check_detail(u32 at) {
    const PlanItem& item = plan_.items[at];
    Table* const table = table_of(item.variant);
    if (item.variant == Variant::Stream) {
      if (item.detail == 0) check_.complain_at(at, "a chunk has at least one row");
    } else if (!table) {
      if (item.detail != 0) check_.complain_at(at, "an item of this variant has no detail");
    } else if (item.detail >= table->size) {
      check_.complain_at(at, text("its detail is row {} of {} {}", item.detail, table->size,
                                  table->what));
    } else if (table->is_used[item.detail]) {
      check_.complain_at(at, text("its detail is row {} of {}, as another item's is", item.detail,
                                  table->what));
    } else {
      table->is_used[item.detail] = true;
    }
  }

  void check_all_used() {
    for (const Table* table : {&handoffs_, &loops_, &branches_, &dataflows_}) {
      const auto unused = std::count(table->is_used.begin(), table->is_used.end(), false);
      if (unused > 0) {
        check_.complain(text("{} of {} {} belong to no item", unused, table->size, table->what));
      }
    }
  }

  void close() {
    const Open done = open_.back();
    open_.pop_back();
    const PlanItem& item = plan_.items[done.item];
    const ChildCount count = children_of(item.variant);
    if (done.children < count.low || done.children > count.high) {
      check_.complain_at(done.item, text("the number of its children is {}, and {}{} is expected",
                                         done.children,
                                         count.low == count.high ? "" : "at least ", count.low));
    }
    const Table* const table = table_of(item.variant);
    if (table && item.detail < table->size) {
      check_rows(done, item);
    }
    if (!open_.empty()) become_child(done.item);
  }

  void become_child(u32 item) {
    ++open_.back().children;
    last_child_[open_.back().item] = item;
  }

  void check_rows(const Open& done, const PlanItem& item) {
    switch (item.variant) {
      case Variant::Step: check_handoffs(done, plan_.handoffs[item.detail]); break;
      case Variant::Loop: check_bound(done.item, plan_.loops[item.detail]); break;
      case Variant::Branch: check_arms(done, plan_.branches[item.detail]); break;
      case Variant::Dataflow: check_dataflow(done, plan_.dataflows[item.detail]); break;
      case Variant::Empty:
      case Variant::Execute:
      case Variant::Sequence:
      case Variant::Parallel:
      case Variant::Remote:
      case Variant::Composite:
      case Variant::Stream: break;
    }
  }

  void check_one_each(const Open& done, size_t rows, std::string_view what) {
    if (rows == done.children) return;
    check_.complain_at(done.item, text("it has {} children, and {} {} for them", done.children,
                                       rows, what));
  }

  void check_handoffs(const Open& done, const std::vector<std::string>& targets) {
    check_one_each(done, targets.size(), "targets");
    std::unordered_set<std::string_view> seen;
    for (const std::string& target : targets) {
      if (target.empty()) check_.complain_at(done.item, "a hand-off has no target");
      if (seen.insert(target).second) continue;
      check_.complain_at(done.item, text("two hand-offs have the target {}", quoted(target)));
    }
  }

  void check_bound(u32 at, const PlanLoop& loop) {
    const bool is_bounded = loop.max_iterations.has_value();
    if (is_bounded && (*loop.max_iterations == 0 ||
                       *loop.max_iterations > static_cast<u64>(json_whole_max))) {
      check_.complain_at(at, text("a bound is from 1 to {}, and this one is {}", json_whole_max,
                                  *loop.max_iterations));
    }
    if (!is_bounded && loop.signal == no_node) {
      check_.complain_at(at, "neither a bound nor a signal ends it");
    }
  }

  void check_arms(const Open& done, const std::vector<Arm>& arms) {
    check_one_each(done, arms.size(), "arms");
    std::unordered_set<std::string_view> seen;
    for (size_t i = 0; i < arms.size(); ++i) {
      if (!seen.insert(arms[i].text()).second) {
        check_.complain_at(done.item, text("two arms are {}", quoted(arms[i].text())));
      }
      if (arms[i].kind() == Arm::Kind::Else && i + 1 < arms.size()) {
        check_.complain_at(done.item, "an arm is tried after `else`, which takes all values");
      }
    }
  }

  void check_dataflow(const Open& done, const std::vector<std::vector<u32>>& after) {
    check_one_each(done, after.size(), "lists of children before them");
    for (size_t i = 0; i < after.size(); ++i) {
      for (size_t k = 0; k < after[i].size(); ++k) {
        const bool ascends = k == 0 || after[i][k - 1] < after[i][k];
        if (ascends && after[i][k] < i) continue;
        check_.complain_at(done.item, text("child {} is after {}, and a child is after ones "
                                           "before it, which are listed in their order",
                                           i, after[i][k]));
      }
    }
  }

  PlanCheck& check_;
  const Plan& plan_;
  std::vector<Open> open_;
  std::vector<bool> is_placed_;   // by node
  std::vector<u32> last_child_;   // by item, of those that are closed
  u32 next_ = 0;                  // the node that is next in the order of the table
  Table handoffs_ = {"lists of hand-offs", plan_.handoffs.size()};
  Table loops_ = {"loops", plan_.loops.size()};
  Table branches_ = {"lists of arms", plan_.branches.size()};
  Table dataflows_ = {"lists of predecessors", plan_.dataflows.size()};
};

}  // namespace

void check_tree(PlanCheck& check) { TreeCheck(check).run(); }

}  // namespace soma
