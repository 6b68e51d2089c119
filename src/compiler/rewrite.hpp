// The walk that passes make through a plan's tree to put something in the place of its parts.
#pragma once

#include "plan/plan.hpp"

namespace soma {

// Goes through items from the first to the last. take(writer, at, limit) may write something of its
// own for the item `at` and what follows it up to `limit`, whole subtrees, and returns where what
// it took ends; or it writes nothing and returns `at`, and the item stays as it is, with its
// children to come. `limit` is where the Sequence around the item ends; of an item in none, its own
// end.
template <typename Take>
std::vector<PlanItem> rewrite(const std::vector<PlanItem>& items, Take take) {
  ItemWriter writer;
  std::vector<u32> open;          // items
  for (u32 at = 0; at < items.size();) {
    while (!open.empty() && items[open.back()].end == at) {
      writer.close();
      open.pop_back();
    }
    const bool in_sequence = !open.empty() && items[open.back()].variant == Variant::Sequence;
    const u32 end = take(writer, at, in_sequence ? items[open.back()].end : items[at].end);
    if (end > at) {
      at = end;
      continue;
    }
    writer.open(items[at].variant, items[at].node, items[at].detail);
    open.push_back(at++);
  }
  for (; !open.empty(); open.pop_back()) writer.close();
  return std::move(writer).take();
}

}  // namespace soma
