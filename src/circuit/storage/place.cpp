// Gives every stored value of the arena its offset.
//
// Problem: values live from one group to another; two may share bytes if their lives do not meet,
// and the arena shall be small. Finding the smallest is NP-hard.
// Idea: first fit. Values that must lie together (an alias class at one place, a pack back to back)
// are one item, which lives as long as any of them. Items are taken by their first group, of those
// the largest first, and each gets the lowest 256-byte aligned offset at which it meets no placed
// item that lives at the same time. Values of a layer die with it, so the gaps that the next layer
// finds have the right sizes.
// Right, because an item is only put where no live one is; verify.cpp proves it again by another
// way. How good it is, is said beside the result: the lower bound is the largest sum of aligned
// sizes alive at one group, which no placement can beat. Cost: items squared, which is small: a
// plan stores a handful of values a layer.
#include <algorithm>
#include <numeric>

#include "circuit/fusion/digest.hpp"
#include "circuit/storage/buffer_plan.hpp"
#include "circuit/storage/liveness.hpp"

namespace soma {

namespace {

constexpr u64 alignment = 256;  // whole cache lines, and what a device's loads like
constexpr u64 arena_max = u64{1} << 46;

u64 aligned(u64 bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// What is placed as one: an edge, an alias class, or a pack of those.
struct Item {
  struct Part {
    EdgeId edge;
    u64 offset;
  };
  std::vector<Part> parts;
  u64 bytes = 0;  // aligned
  u64 offset = 0;
  u32 first = 0, last = 0;
  EdgeId lowest() const { return parts.front().edge; }
  bool meets(const Item& other) const { return first <= other.last && other.first <= last; }
};

class Placer {
 public:
  Placer(const Circuit& circuit, const FusionPlan& plan, const Layout& layout)
      : circuit_(circuit),
        plan_(plan),
        layout_(layout),
        live_(find_live_ranges(circuit, plan)),
        external_(circuit.edges.size()),
        root_(circuit.edges.size()),
        packed_(circuit.edges.size()) {
    std::iota(root_.begin(), root_.end(), EdgeId{0});
  }

  Result<BufferPlan> run() && {
    SOMA_TRY(read_layout());
    SOMA_TRY(make_slots());
    gather_classes();
    SOMA_TRY(make_items());
    place_items();
    buffers_.lower_bound_bytes = peak_bytes();
    buffers_.plan_digest = plan_.digest;
    return std::move(buffers_);
  }

 private:
  bool is_stored(EdgeId id) const {
    return id < plan_.edge_states.size() && plan_.edge_states[id] == EdgeState::Materialized;
  }
  bool is_in_arena(EdgeId id) const { return is_stored(id) && !external_[id]; }
  const std::string& name(EdgeId id) const { return circuit_.edges[id].id; }

  Status read_layout() {
    for (const EdgeId id : layout_.external) {
      if (!is_stored(id)) return not_stored("external", id);
      external_[id] = true;
    }
    for (const Layout::Alias& alias : layout_.aliases) {
      for (const EdgeId id : {alias.out, alias.in}) {
        if (!is_in_arena(id)) return not_stored("aliased", id);
      }
      const EdgeId a = find_root(alias.out), b = find_root(alias.in);
      root_[std::max(a, b)] = std::min(a, b);
    }
    return {};
  }

  Error not_stored(std::string_view what, EdgeId id) const {
    return fail(Reason::storage_layout, "edge {} can't be {}: this plan does not store it there",
                id < circuit_.edges.size() ? name(id) : text("{}", id), what);
  }

  EdgeId find_root(EdgeId id) {
    while (root_[id] != id) id = root_[id] = root_[root_[id]];
    return id;
  }

  // A slot for every stored edge, still without its offset.
  Status make_slots() {
    slot_of_.resize(circuit_.edges.size());
    for (EdgeId id = 0; id < circuit_.edges.size(); ++id) {
      if (!is_stored(id)) continue;
      const Edge& edge = circuit_.edges[id];
      Slot slot;
      slot.edge = id;
      slot.row_bytes = row_bytes(edge.format, edge.width).value_or(0);
      const std::optional<u64> bytes = checked_mul(slot.row_bytes, plan_.request.rows_max);
      if (slot.row_bytes == 0 || !bytes || *bytes > arena_max) {
        return fail(Reason::storage_layout, "edge '{}' has no size: {} rows of {} x {}", edge.id,
                    plan_.request.rows_max, format_info(edge.format).name, edge.width);
      }
      slot.bytes = *bytes;
      slot.first_group = live_[id].first;
      slot.last_group = live_[id].last;
      if (external_[id]) slot.buffer = edge.is_stream ? ModelBuffer::Hidden : edge.binds;
      if (external_[id] && slot.buffer == ModelBuffer::None) return not_stored("external", id);
      if (slot.buffer == ModelBuffer::Hidden) buffers_.hidden_bytes = slot.bytes;
      if (slot.buffer == ModelBuffer::Logits) buffers_.logits_row_bytes = slot.row_bytes;
      buffers_.materialized_bytes += slot.bytes;
      slot_of_[id] = buffers_.slots.size();
      buffers_.slots.push_back(slot);
    }
    return {};
  }

  void gather_classes() {
    classes_.resize(circuit_.edges.size());
    for (const Slot& entry : buffers_.slots) {
      if (!external_[entry.edge]) classes_[find_root(entry.edge)].push_back(entry.edge);
    }
  }

  Slot& slot(EdgeId id) { return buffers_.slots[slot_of_[id]]; }

  Status make_items() {
    for (const std::vector<EdgeId>& pack : layout_.packs) {
      Item item;
      for (const EdgeId id : pack) {
        if (!is_in_arena(id)) return not_stored("packed", id);
        const EdgeId root = find_root(id);
        if (packed_[root]) {
          return fail(Reason::storage_layout, "edge '{}' is in two packs", name(id));
        }
        packed_[root] = true;
        SOMA_TRY(append_class(item, root));
      }
      if (!item.parts.empty()) items_.push_back(std::move(item));
    }
    for (EdgeId root = 0; root < classes_.size(); ++root) {
      if (classes_[root].empty() || packed_[root]) continue;
      Item item;
      SOMA_TRY(append_class(item, root));
      items_.push_back(std::move(item));
    }
    return {};
  }

  // All edges of an alias class go to the item's end, at one offset.
  Status append_class(Item& item, EdgeId root) {
    const u64 offset = item.bytes;
    for (const EdgeId id : classes_[root]) {
      const Slot& entry = slot(id);
      if (entry.bytes != slot(root).bytes || entry.row_bytes != slot(root).row_bytes) {
        return fail(Reason::storage_layout,
                    "edges '{}' and '{}' have other sizes and can't share "
                    "a place",
                    name(root), name(id));
      }
      const bool first = item.parts.empty();
      item.first = first ? entry.first_group : std::min(item.first, entry.first_group);
      item.last = first ? entry.last_group : std::max(item.last, entry.last_group);
      item.parts.push_back({id, offset});
    }
    item.bytes += slot(root).bytes;
    return {};
  }

  void place_items() {
    for (Item& item : items_) item.bytes = aligned(item.bytes);
    std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
      if (a.first != b.first) return a.first < b.first;
      if (a.bytes != b.bytes) return a.bytes > b.bytes;
      return a.lowest() < b.lowest();
    });
    std::vector<const Item*> placed;  // by offset
    for (Item& item : items_) {
      item.offset = 0;
      for (const Item* other : placed) {
        if (!item.meets(*other)) continue;
        if (item.offset + item.bytes <= other->offset) break;
        item.offset = std::max(item.offset, other->offset + other->bytes);
      }
      const auto by_offset = [](u64 offset, const Item* other) { return offset < other->offset; };
      placed.insert(std::upper_bound(placed.begin(), placed.end(), item.offset, by_offset), &item);
      for (const Item::Part& part : item.parts) slot(part.edge).offset = item.offset + part.offset;
      buffers_.arena_bytes = std::max(buffers_.arena_bytes, item.offset + item.bytes);
    }
  }

  u64 peak_bytes() const {
    std::vector<u64> born(plan_.groups.size() + 1), died(plan_.groups.size() + 1);
    for (const Item& item : items_) {
      born[item.first] += item.bytes;
      died[item.last + 1] += item.bytes;
    }
    u64 bytes = 0, peak = 0;
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      bytes = bytes - died[g] + born[g];
      peak = std::max(peak, bytes);
    }
    return peak;
  }

  const Circuit& circuit_;
  const FusionPlan& plan_;
  const Layout& layout_;
  const std::vector<LiveRange> live_;
  std::vector<bool> external_;  // by edge
  std::vector<EdgeId> root_;    // by edge: union-find over aliases, the lowest edge is the root
  std::vector<std::vector<EdgeId>> classes_;  // by root: the edges that share its place
  std::vector<bool> packed_;                  // by root
  std::vector<size_t> slot_of_;               // by stored edge
  std::vector<Item> items_;
  BufferPlan buffers_;
};

}  // namespace

Result<BufferPlan> place(const Circuit& circuit, const FusionPlan& plan, const Layout& layout) {
  SOMA_TRY(check_plan(circuit, plan));
  return Placer(circuit, plan, layout).run();
}

}  // namespace soma
