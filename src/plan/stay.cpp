// Finds the nodes that did not move between two plans.
//
// Problem: which nodes have moved? An index in a sequence changes for all that come behind a new
// node, and a wave that loses a branch is no wave any more, yet nobody would say that what is left
// has moved.
// Idea: a place is only a relation to others. So a node stays if it has the same relations to all
// that stay: the same constructs around it, the same order, and with each of them the same kind of
// item as the innermost one around both. Whoever does not is moved. To find many that stay, first
// those with the same constructs around them are taken, and of these a longest list that has one
// order in both plans. Then they are admitted one by one. The innermost items around neighbours
// decide all others: on the way from the root to the last node admitted lie those that matter so
// far, in a stack of pairs; a new node agrees if the item that it shares with its neighbour has the
// same place in that stack in both plans, and is of the same variant.
// That the nodes that stay are the most there could be is not claimed; that nothing differs if all
// stay and none changed is: a canonical tree is determined by these relations.
// Cost: O(n log n). The item around two neighbours is the one around the outermost item between
// them, and each item lies between two neighbours once.
#include "plan/stay.hpp"

#include <algorithm>

namespace soma {

namespace {

// A longest list of pairs, in the order of the plan after, whose order before is the same.
std::vector<Pair> longest_in_order(const std::vector<Pair>& pairs) {
  constexpr u32 none = ~u32{0};
  std::vector<u32> ends;          // of lists of each length: the pair with which the best one ends
  std::vector<u32> previous(pairs.size(), none);
  for (u32 i = 0; i < pairs.size(); ++i) {
    const auto longer = std::lower_bound(
        ends.begin(), ends.end(), pairs[i].before,
        [&](u32 end, u32 before) { return pairs[end].before < before; });
    if (longer != ends.begin()) previous[i] = *(longer - 1);
    if (longer == ends.end()) {
      ends.push_back(i);
    } else {
      *longer = i;
    }
  }
  std::vector<Pair> out;
  for (u32 i = ends.empty() ? none : ends.back(); i != none; i = previous[i]) {
    out.push_back(pairs[i]);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

// Walks over a plan's items from one node to the next, and knows the innermost item around the node
// that was kept last and the one that was reached last.
class Walker {
 public:
  explicit Walker(const PlanLayout& layout) : layout_(layout) {}

  void reach(u32 node) {
    for (const u32 item = layout_.item_of[node]; at_ < item;) {
      ++at_;
      if (outermost_ == no_item || layout_.depth[at_] < layout_.depth[outermost_]) outermost_ = at_;
    }
  }
  void keep() { outermost_ = no_item; }
  u32 shared() const { return layout_.outer[outermost_]; }

 private:
  const PlanLayout& layout_;
  u32 at_ = 0;
  u32 outermost_ = no_item;       // of the items behind the node that was kept
};

class Agreement {
 public:
  Agreement(const PlanLayout& before, const PlanLayout& after)
      : before_(before), after_(after), in_before_(before), in_after_(after) {}

  // Whether the node agrees with those that were admitted, and so is.
  bool admit(const Pair& pair) {
    in_before_.reach(pair.before);
    in_after_.reach(pair.after);
    if (!is_first_ && !agrees()) return false;
    is_first_ = false;
    in_before_.keep();
    in_after_.keep();
    return true;
  }

 private:
  bool agrees() {
    const Pair shared = {in_before_.shared(), in_after_.shared()};
    const PlanItem &item = before_.plan.items[shared.before],
                   &other = after_.plan.items[shared.after];
    if (item.variant != other.variant ||
        before_.context[shared.before] != after_.context[shared.after]) {
      return false;
    }
    // All in the stack are around the last node, as the shared one is, so depths tell them apart.
    const auto above = std::partition_point(
        stack_.begin(), stack_.end(), [&](const Pair& known) {
          return before_.depth[known.before] < before_.depth[shared.before];
        });
    const auto above_after = std::partition_point(
        stack_.begin(), stack_.end(), [&](const Pair& known) {
          return after_.depth[known.after] < after_.depth[shared.after];
        });
    if (above != above_after) return false;
    const bool is_known = above != stack_.end() && above->before == shared.before;
    const bool is_known_after = above != stack_.end() && above->after == shared.after;
    if (is_known != is_known_after) return false;
    stack_.erase(above, stack_.end());
    stack_.push_back(shared);
    return true;
  }

  const PlanLayout &before_, &after_;
  Walker in_before_, in_after_;
  std::vector<Pair> stack_;       // items that are around the last node and one before it
  bool is_first_ = true;
};

}  // namespace

std::vector<bool> find_staying(const PlanLayout& before, const PlanLayout& after,
                               const std::vector<Pair>& common) {
  std::vector<Pair> candidates;
  for (const Pair& pair : common) {
    if (before.context[before.item_of[pair.before]] == after.context[after.item_of[pair.after]]) {
      candidates.push_back(pair);
    }
  }
  std::vector<bool> stays(after.plan.nodes.size());
  Agreement agreement(before, after);
  for (const Pair& pair : longest_in_order(candidates)) {
    stays[pair.after] = agreement.admit(pair);
  }
  return stays;
}

}  // namespace soma
