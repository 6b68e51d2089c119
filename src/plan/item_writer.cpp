// Writes the items of a tree so that what comes out is canonical.
//
// Problem: whoever recovers or rewrites a tree meets groups of one child, and sequences in
// sequences, at every turn; that none of them stays is one rule, so it has one place.
// Idea: what is left out is only known once it is closed, when its children are: then it is marked,
// and all that is marked goes in one pass at the end. A group that closes with one child is that
// child; what then lies directly in a group of its kind gives its children to it. Only these two
// are ever looked at, the one that closes and the one around it, so it is enough to know of each
// open item how many children it has, and which was the last.
// Cost: linear.
#include "plan/plan.hpp"

namespace soma {

namespace {

constexpr u32 left_out = 0;  // as the end of an item; no item ends there

bool is_grouping(Variant variant) {
  return variant == Variant::Sequence || variant == Variant::Parallel;
}

}  // namespace

void ItemWriter::open(Variant variant, u32 node, u32 detail) {
  open_.push_back({static_cast<u32>(items_.size())});
  items_.push_back({variant, node, 0, detail});
}

void ItemWriter::close() {
  Open done = open_.back();
  open_.pop_back();
  PlanItem& item = items_[done.item];
  item.end = static_cast<u32>(items_.size());
  if (is_grouping(item.variant) && done.children < 2) {
    leave_out(item);
    if (done.children == 0) return;
    done = {done.last, done.last_children};
  }
  become_child(done);
}

void ItemWriter::leave_out(PlanItem& item) {
  item.end = left_out;
  has_left_out_ = true;
}

void ItemWriter::leaf(Variant variant, u32 node) {
  const u32 at = static_cast<u32>(items_.size());
  items_.push_back({variant, node, at + 1, 0});
  become_child({at});
}

// `done` is a whole child of the innermost open item.
void ItemWriter::become_child(const Open& done) {
  if (open_.empty()) return;
  Open& outer = open_.back();
  PlanItem& item = items_[done.item];
  if (is_grouping(item.variant) && item.variant == items_[outer.item].variant) {
    leave_out(item);
    outer.children += done.children;
    return;  // which are two or more, so nobody will ask for the last
  }
  ++outer.children;
  outer.last = done.item;
  outer.last_children = done.children;
}

void ItemWriter::copy(const std::vector<PlanItem>& from, u32 begin, u32 end) {
  std::vector<u32> ends;          // of what is open here
  for (u32 at = begin; at < end; ++at) {
    for (; !ends.empty() && ends.back() == at; ends.pop_back()) close();
    const PlanItem& item = from[at];
    open(item.variant, item.node, item.detail);
    ends.push_back(item.end);
  }
  for (; !ends.empty(); ends.pop_back()) close();
}

std::vector<PlanItem> ItemWriter::take() && {
  if (!has_left_out_ && !items_.empty()) return std::move(items_);
  std::vector<u32> place(items_.size() + 1);  // by item: how many before it stay
  for (u32 i = 0; i < items_.size(); ++i) {
    place[i + 1] = place[i] + (items_[i].end != left_out ? 1 : 0);
  }
  if (place.back() == 0) return {{Variant::Empty, no_node, 1, 0}};
  size_t kept = 0;
  for (PlanItem item : items_) {
    if (item.end == left_out) continue;
    item.end = place[item.end];
    items_[kept++] = item;
  }
  items_.resize(kept);
  return std::move(items_);
}

}  // namespace soma
