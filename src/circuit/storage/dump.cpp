// Buffer plans as text: a table of slots, and a picture of how full the arena is.
#include <algorithm>

#include "base/columns.hpp"
#include "circuit/storage/buffer_plan.hpp"

namespace soma {

namespace {

std::string totals(const BufferPlan& buffers) {
  const u64 bound = buffers.lower_bound_bytes;
  const double waste = bound == 0 ? 0
                                  : 100 * static_cast<double>(buffers.arena_bytes - bound) /
                                        static_cast<double>(bound);
  return text(
      "arena {}, lower bound {}, waste {:.1f} %; {} if nothing were shared\n"
      "hidden {}, a row of logits {}\n",
      human_bytes(buffers.arena_bytes), human_bytes(bound), waste,
      human_bytes(buffers.materialized_bytes), human_bytes(buffers.hidden_bytes),
      human_bytes(buffers.logits_row_bytes));
}

}  // namespace

const Slot* BufferPlan::find(EdgeId edge) const {
  const auto found = std::lower_bound(slots.begin(), slots.end(), edge,
                                      [](const Slot& slot, EdgeId id) { return slot.edge < id; });
  return found == slots.end() || found->edge != edge ? nullptr : &*found;
}

std::string BufferPlan::dump(const Circuit& circuit) const {
  Columns columns("llrrrl");
  columns.row({"edge", "buffer", "offset", "bytes", "a row", "groups"});
  for (const Slot& slot : slots) {
    columns.row({circuit.edges[slot.edge].id, std::string(buffer_name(slot.buffer)),
                 text("{}", slot.offset), text("{}", slot.bytes), text("{}", slot.row_bytes),
                 text("{}..{}", slot.first_group, slot.last_group)});
  }
  return text("buffers for plan {}\n{}{} slots; {}", plan_digest, columns.str(), slots.size(),
              totals(*this));
}

// One line a group: the arena from left to right, 64 marks wide, '#' where a live value lies.
std::string BufferPlan::picture(const Circuit& circuit) const {
  constexpr u64 width = 64;
  u32 groups = 0;
  for (const Slot& slot : slots) groups = std::max(groups, slot.last_group + 1);
  Columns columns("rlrl");
  for (u32 g = 0; g < groups; ++g) {
    std::string bar(width, '.'), made;
    u64 live = 0;
    std::vector<u64> counted;  // aliases lie at one offset
    for (const Slot& slot : slots) {
      if (slot.buffer != ModelBuffer::None || g < slot.first_group || g > slot.last_group) continue;
      if (slot.first_group == g) made += " " + circuit.edges[slot.edge].id;
      if (std::find(counted.begin(), counted.end(), slot.offset) != counted.end()) continue;
      counted.push_back(slot.offset);
      live += slot.bytes;
      const u64 begin = slot.offset * width / arena_bytes;
      const u64 end = ((slot.offset + slot.bytes) * width + arena_bytes - 1) / arena_bytes;
      for (u64 i = begin; i < std::min(end, width); ++i) bar[i] = '#';
    }
    columns.row({text("{}", g), bar, human_bytes(live), made.empty() ? "" : "+" + made});
  }
  return text("the arena at each group; + what the group adds\n{}{}", columns.str(), totals(*this));
}

}  // namespace soma
