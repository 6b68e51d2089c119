// Proves that a buffer plan is safe, independently of how it was made.
//
// Problem: a wrong offset doesn't crash; it makes a model say something else. place.cpp reasons
// with live ranges, so a mistake there would repeat itself in a check that does so too.
// Idea: replay. Walk the groups in order over an imagined memory in which each stored edge is
// either whole or lost. Writing an edge makes it whole and every other edge that its bytes touch
// lost; reading one demands that it is whole. At the end the bound outputs must be whole. All
// launches of a group may run at once, so within a group no write may touch what the group reads or
// writes otherwise, with one exception: a declared in-place pair at exactly one place, whose
// operand no other member reads.
// Right, because that is what memory does; overlapping lives, an alias of a value that is still
// needed, a stream value read after it was replaced, all show up as reading what is lost. Sizes,
// alignment, ranges and digests are checked beside it. Cost: stored edges squared.
#include <algorithm>
#include <set>

#include "base/problems.hpp"
#include "circuit/fusion/digest.hpp"
#include "circuit/storage/buffer_plan.hpp"

namespace soma {

namespace {

class Verifier {
 public:
  Verifier(const Circuit& circuit, const FusionPlan& plan, const Layout& layout,
           const BufferPlan& buffers)
      : circuit_(circuit),
        plan_(plan),
        layout_(layout),
        buffers_(buffers),
        slots_(circuit.edges.size()),
        whole_(circuit.edges.size()) {}

  Status run() && {
    check_slots();
    check_layout();
    check_totals();
    if (problems_.none()) replay();
    return std::move(problems_).status();
  }

 private:
  template <typename... Args>
  void complain(fmt::format_string<Args...> pattern, Args&&... args) {
    problems_.add(fail(Reason::storage_hazard, pattern, std::forward<Args>(args)...));
  }
  const std::string& name(EdgeId id) const { return circuit_.edges[id].id; }
  bool is_stored(EdgeId id) const {
    return id < plan_.edge_states.size() && plan_.edge_states[id] == EdgeState::Materialized;
  }

  // ---- Each slot in itself

  void check_slots() {
    for (const Slot& slot : buffers_.slots) {
      if (!is_stored(slot.edge)) {
        complain("there is a slot for edge {}, which the plan does not store", slot.edge);
      } else if (slots_[slot.edge] != nullptr ||
                 (&slot != buffers_.slots.data() && (&slot - 1)->edge >= slot.edge)) {
        complain("slots must be one an edge, in their order; '{}' is not", name(slot.edge));
      } else {
        slots_[slot.edge] = &slot;
        check_slot(slot, circuit_.edges[slot.edge]);
      }
    }
    for (EdgeId id = 0; id < slots_.size(); ++id) {
      if (is_stored(id) && slots_[id] == nullptr) complain("edge '{}' has no slot", name(id));
    }
  }

  void check_slot(const Slot& slot, const Edge& edge) {
    const u64 row = row_bytes(edge.format, edge.width).value_or(0);
    const std::optional<u64> needed = checked_mul(row, plan_.request.rows_max);
    if (row == 0 || !needed || slot.row_bytes != row || slot.bytes < *needed) {
      complain("the slot of '{}' has {} bytes, {} a row; {} rows of {} x {} need {}, {} a row",
               edge.id, slot.bytes, slot.row_bytes, plan_.request.rows_max,
               format_info(edge.format).name, edge.width, needed.value_or(0), row);
    }
    const ModelBuffer home = edge.is_stream ? ModelBuffer::Hidden : edge.binds;
    if (slot.buffer != home) {
      complain("'{}' must be in {}, is in {}", edge.id, buffer_name(home),
               buffer_name(slot.buffer));
    }
    if (home != ModelBuffer::None) {
      if (slot.offset != 0) complain("'{}' must be at the start of its buffer", edge.id);
      return;
    }
    const std::optional<u64> end = checked_add(slot.offset, slot.bytes);
    if (!end || *end > buffers_.arena_bytes) {
      complain("the slot of '{}' ends at {}, the arena at {}", edge.id, end.value_or(0),
               buffers_.arena_bytes);
    }
  }

  // ---- What the layout asked for

  void check_layout() {
    std::set<u64> packed;  // the offsets that packs prescribe
    for (const Layout::Alias& alias : layout_.aliases) {
      const Slot* out = slot(alias.out);
      const Slot* in = slot(alias.in);
      if (out == nullptr || in == nullptr || !is_in_place_pair(alias.out, alias.in)) {
        complain("the layout aliases edges {} and {}, which no op declares an in-place pair",
                 alias.out, alias.in);
      } else if (!same_place(*out, *in)) {
        complain("'{}' must take the place of '{}', but has another", name(alias.out),
                 name(alias.in));
      }
    }
    for (const std::vector<EdgeId>& pack : layout_.packs) {
      for (size_t i = 0; i + 1 < pack.size(); ++i) {
        const Slot* left = slot(pack[i]);
        const Slot* right = slot(pack[i + 1]);
        if (left != nullptr && right != nullptr && left->offset + left->bytes == right->offset) {
          packed.insert(right->offset);
          continue;
        }
        complain("edges {} and {} must lie back to back", pack[i], pack[i + 1]);
      }
    }
    for (const Slot& slot : buffers_.slots) {
      if (slot.offset % 256 == 0 || packed.contains(slot.offset)) continue;
      complain("the slot of edge {} starts at {}, which is not a multiple of 256", slot.edge,
               slot.offset);
    }
  }

  const Slot* slot(EdgeId id) const { return id < slots_.size() ? slots_[id] : nullptr; }

  static bool same_place(const Slot& a, const Slot& b) {
    return a.buffer == b.buffer && a.offset == b.offset && a.bytes == b.bytes &&
           a.row_bytes == b.row_bytes;
  }

  bool is_in_place_pair(EdgeId out, EdgeId in) const {
    const Node& node = circuit_.nodes[circuit_.edges[out].producer];
    const i32 operand = op_info(node.op).in_place;
    return operand >= 0 && node.inputs[static_cast<size_t>(operand)] == in;
  }

  void check_totals() {
    u64 hidden = 0, logits_row = 0;
    for (const Slot& slot : buffers_.slots) {
      if (slot.buffer == ModelBuffer::Hidden) hidden = std::max(hidden, slot.bytes);
      if (slot.buffer == ModelBuffer::Logits) logits_row = slot.row_bytes;
    }
    if (buffers_.hidden_bytes < hidden) {
      complain("the stream needs {} bytes, hidden has {}", hidden, buffers_.hidden_bytes);
    }
    if (buffers_.logits_row_bytes != logits_row) {
      complain("a row of logits has {} bytes, the plan says {}", logits_row,
               buffers_.logits_row_bytes);
    }
    if (buffers_.lower_bound_bytes > buffers_.arena_bytes) {
      complain("the arena of {} bytes is below its lower bound of {}", buffers_.arena_bytes,
               buffers_.lower_bound_bytes);
    }
  }

  // ---- The replay

  void replay() {
    std::vector<u32> first(slots_.size()), last(slots_.size());
    const u32 groups = static_cast<u32>(plan_.groups.size());
    for (u32 g = 0; g < groups; ++g) {
      std::vector<EdgeId> reads, writes;
      for (const NodeId id : plan_.groups[g].nodes) {
        const Node& node = circuit_.nodes[id];
        for (const EdgeId input : node.inputs) {
          if (made_by(input, g) || circuit_.edges[input].width == 0) continue;
          if (slots_[input] == nullptr) {
            complain("group {} reads '{}', which is not stored", g, name(input));
          } else {
            reads.push_back(input);
          }
        }
        for (const EdgeId output : node.outputs) {
          if (slots_[output] != nullptr) writes.push_back(output);
        }
      }
      for (const EdgeId read : reads) {
        if (!whole_[read]) {
          complain("group {} reads '{}' after its bytes were overwritten", g, name(read));
        }
        last[read] = std::max(last[read], g);
      }
      for (const EdgeId write : writes) {
        check_write(g, write, reads, writes);
        first[write] = g;
        last[write] = circuit_.edges[write].binds == ModelBuffer::None ? g : groups - 1;
      }
      for (const EdgeId write : writes) store(write);
    }
    for (const Slot& slot : buffers_.slots) {
      if (circuit_.edges[slot.edge].binds != ModelBuffer::None && !whole_[slot.edge]) {
        complain("output '{}' is overwritten before the step ends", name(slot.edge));
      }
      if (slot.first_group != first[slot.edge] || slot.last_group != last[slot.edge]) {
        complain("'{}' lives from group {} to {}, its slot says {} to {}", name(slot.edge),
                 first[slot.edge], last[slot.edge], slot.first_group, slot.last_group);
      }
    }
  }

  bool made_by(EdgeId edge, u32 g) const {
    const std::vector<NodeId>& nodes = plan_.groups[g].nodes;
    return std::find(nodes.begin(), nodes.end(), circuit_.edges[edge].producer) != nodes.end();
  }

  bool overlap(EdgeId a, EdgeId b) const {
    const Slot &x = *slots_[a], &y = *slots_[b];
    return x.buffer == y.buffer && x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
  }

  void check_write(u32 g, EdgeId write, const std::vector<EdgeId>& reads,
                   const std::vector<EdgeId>& writes) {
    for (const EdgeId other : writes) {
      if (other != write && overlap(other, write)) {
        complain("group {} writes '{}' and '{}' over each other", g, name(other), name(write));
      }
    }
    for (const EdgeId read : reads) {
      if (!overlap(read, write)) continue;
      const bool once = std::count(reads.begin(), reads.end(), read) == 1;
      if (once && is_in_place_pair(write, read) && same_place(*slots_[write], *slots_[read])) {
        continue;
      }
      complain("group {} writes '{}' over '{}' while it reads that", g, name(write), name(read));
    }
  }

  void store(EdgeId write) {
    for (const Slot& other : buffers_.slots) {
      if (overlap(other.edge, write)) whole_[other.edge] = false;
    }
    whole_[write] = true;
  }

  const Circuit& circuit_;
  const FusionPlan& plan_;
  const Layout& layout_;
  const BufferPlan& buffers_;
  std::vector<const Slot*> slots_;  // by edge
  std::vector<bool> whole_;         // by edge, as of the group that the replay is at
  Problems problems_;
};

}  // namespace

Status verify_storage(const Circuit& circuit, const FusionPlan& plan, const Layout& layout,
                      const BufferPlan& buffers) {
  SOMA_TRY(check_plan(circuit, plan));
  if (buffers.plan_digest != plan.digest) {
    return fail(Reason::storage_hazard, "the buffers were made for plan {}, this is plan {}",
                buffers.plan_digest, plan.digest);
  }
  return Verifier(circuit, plan, layout, buffers).run();
}

}  // namespace soma
