// Wraps what is placed on a target into slices that travel there.
//
// Problem: a node at a time, every edge between two nodes of one worker would cross the wire twice.
// Idea: a subtree has a place if all of its nodes are placed on that one target; the largest such
// subtrees travel, and in a Sequence consecutive children with one place go together, as one
// Remote. A plan keeps what its nodes read, so a slice needs nothing else to know its inputs. Why
// idempotent: what lies in a Remote is left as it is, and a Remote has no place itself. A Branch
// has the place of the node that decides it, if it has one at all, so the two travel together; if
// its arms do not, only that node travels, and its arm is picked here. A step can't be parted from
// its hand-offs like that: if they are not placed where it is, that is an error. A loop that is
// placed where its body is not is only told of, as its passes are counted anywhere. What crosses
// from one slice to another, or to the host, is sent: an opaque value can't be, so a port that
// declares one there is an error. That goes for edges, and as well for what no edge shows: what the
// run or a construct hands to a node, what a loop takes of its body, what the plan yields. Must
// come last, after chains have been fused. Cost: linear.
#include <map>

#include "base/text.hpp"
#include "compiler/passes.hpp"
#include "compiler/rewrite.hpp"

namespace soma {

namespace {

class Distributor {
 public:
  Distributor(const Plan& plan, Diagnostics& diagnostics)
      : plan_(plan), diagnostics_(diagnostics), slice_(plan.nodes.size(), here) {
    find_places();
  }

  std::vector<PlanItem> distribute() && {
    const auto take = [this](ItemWriter& writer, u32 at, u32 limit) {
      if (place_[at] != here) return write_slice(writer, at, limit);
      if (plan_.items[at].variant == Variant::Remote) {
        const u32 end = plan_.items[at].end;
        mark_slice(at, end);
        writer.copy(plan_.items, at, end);
        return end;
      }
      check_driver(at);
      return at;
    };
    std::vector<PlanItem> items = rewrite(plan_.items, take);
    if (slices_ > 0) check_crossings();
    return items;
  }

 private:
  static constexpr u32 here = 0;

  // From the leaves up: the target of each node, and the place of each subtree.
  void find_places() {
    std::map<std::pair<Target::Kind, std::string_view>, u32> known;
    target_of_.reserve(plan_.nodes.size());
    for (const PlanNode& node : plan_.nodes) {
      const bool is_local = node.target().kind == Target::Kind::Local;
      const std::pair key(node.target().kind, std::string_view(node.target().name));
      target_of_.push_back(is_local ? here
                                    : known.emplace(key, static_cast<u32>(known.size() + 1))
                                          .first->second);
    }
    place_.assign(plan_.items.size(), here);
    for (u32 at = static_cast<u32>(plan_.items.size()); at-- > 0;) {
      const PlanItem& item = plan_.items[at];
      if (item.variant == Variant::Remote || item.variant == Variant::Empty) continue;
      bool agrees = true, is_known = item.node != no_node;
      u32 place = is_known ? target_of_[item.node] : here;
      plan_.each_child(at, [&](u32 child) {
        if (!is_known) place = place_[child];
        is_known = true;
        agrees = agrees && place_[child] == place;
      });
      if (agrees) place_[at] = place;
    }
  }

  // The items from `at` on that travel together; returns where they end.
  u32 write_slice(ItemWriter& writer, u32 at, u32 limit) {
    u32 end = at, count = 0;
    while (end < limit && place_[end] == place_[at]) {
      end = plan_.items[end].end;
      ++count;
    }
    const u32 first = first_node(at);
    writer.open(Variant::Remote, first);
    if (count > 1) writer.open(Variant::Sequence);
    writer.copy(plan_.items, at, end);
    if (count > 1) writer.close();
    writer.close();
    mark_slice(at, end);
    return end;
  }

  u32 first_node(u32 at) const {
    while (plan_.items[at].node == no_node) ++at;
    return plan_.items[at].node;
  }

  void mark_slice(u32 at, u32 end) {
    ++slices_;
    for (; at < end; ++at) {
      if (plan_.items[at].node != no_node) slice_[plan_.items[at].node] = slices_;
    }
  }

  // A step or loop that is not in a slice as a whole, but placed on one.
  void check_driver(u32 at) {
    const PlanItem& item = plan_.items[at];
    const bool is_step = item.variant == Variant::Step;
    if (!is_step && item.variant != Variant::Loop) return;
    const u32 other = next_elsewhere(item.node);
    if (target_of_[item.node] == here || other == no_node) return;
    const PlanNode &node = plan_.nodes[item.node], &stays = plan_.nodes[other];
    if (is_step) {
      diagnostics_
          .error(Reason::distribute_target,
                 text("step {} is placed on {}, and {}, behind one of its hand-offs, is not",
                      quoted(node.id), quoted(node.target().name), quoted(stays.id)))
          .node(node.id)
          .node(stays.id)
          .advise("place a step and all behind its hand-offs on one target");
    } else {
      diagnostics_
          .warning(Reason::distribute_target,
                   text("loop {} is placed on {}, and {} in its body is not, so it stays here",
                        quoted(node.id), quoted(node.target().name), quoted(stays.id)))
          .node(node.id)
          .node(stays.id)
          .advise("place all of its body on that target, and the loop goes there as a whole");
    }
  }

  // The first node after this one with another target: that of a subtree, if its nodes differ, as
  // they are neighbours.
  u32 next_elsewhere(u32 node) {
    if (elsewhere_.empty()) {
      elsewhere_.assign(plan_.nodes.size(), no_node);
      for (u32 i = static_cast<u32>(elsewhere_.size() - 1); i-- > 0;) {
        elsewhere_[i] = target_of_[i] != target_of_[i + 1] ? i + 1 : elsewhere_[i + 1];
      }
    }
    return elsewhere_[node];
  }

  // ---- What is sent

  // Does a side declare that what `name` picks of it is, or holds, an opaque value?
  bool is_opaque(const std::vector<Port>& ports, u32 name) const {
    for (const Port& port : ports) {
      const bool is_meant = name == 0 || port.name == plan_.names[name];
      if (is_meant && port.dtype == Dtype::Opaque) return true;
    }
    return false;
  }

  void check_crossings() {
    const std::vector<u32> constructs = find_constructs();
    for (u32 node = 0; node < plan_.nodes.size(); ++node) {
      const std::span<const Source> sources = plan_.sources_of(node);
      for (const Source& source : sources) check_edge(source, node);
      if (sources.empty()) check_fed(constructs[node], node);
    }
    for (const PlanItem& item : plan_.items) {
      if (item.variant != Variant::Loop) continue;
      const PlanLoop& loop = plan_.loops[item.detail];
      check_taken(item.node, loop.carry);
      if (loop.signal != loop.carry) check_taken(item.node, loop.signal);
    }
    for (const u32 leaf : plan_.leaves) {
      if (slice_[leaf] == here || !is_opaque(plan_.nodes[leaf].outputs(), 0)) continue;
      complain(leaf, text("the plan yields the value of {}, which is opaque",
                          quoted(plan_.nodes[leaf].id)));
    }
  }

  // By node: that of the innermost construct whose body, arm or hand-off it lies in.
  std::vector<u32> find_constructs() const {
    std::vector<u32> out(plan_.nodes.size(), no_node), open;
    for (u32 at = 0; at < plan_.items.size(); ++at) {
      while (!open.empty() && plan_.items[open.back()].end <= at) open.pop_back();
      const PlanItem& item = plan_.items[at];
      const bool opens = item.variant == Variant::Loop || item.variant == Variant::Step ||
                         item.variant == Variant::Branch;
      const bool has_place = item.node != no_node && item.variant != Variant::Branch &&
                             item.variant != Variant::Remote;
      if (has_place && !open.empty()) out[item.node] = plan_.items[open.back()].node;
      if (opens) open.push_back(at);
    }
    return out;
  }

  void check_edge(const Source& source, u32 reader) {
    if (slice_[reader] == slice_[source.node]) return;
    const PlanNode &from = plan_.nodes[source.node], &to = plan_.nodes[reader];
    // What a subgraph declares to take, its roots take.
    const bool is_taken = to.kind != NodeKind::Subgraph && is_opaque(to.inputs(), source.input);
    if (!is_taken && !is_opaque(from.outputs(), source.output)) return;
    complain(slice_[reader] != here ? reader : source.node,
             text("{} -> {} carries an opaque value", quoted(from.id), quoted(to.id)))
        .edge(from.id, to.id);
  }

  // A node that reads what the run, or the construct around it, hands over.
  void check_fed(u32 construct, u32 reader) {
    if (slice_[reader] == (construct == no_node ? u32{here} : slice_[construct])) return;
    const PlanNode& to = plan_.nodes[reader];
    if (construct == no_node) {
      if (!is_opaque(to.inputs(), 0)) return;
      complain(reader, text("{} reads the run's input as an opaque value", quoted(to.id)));
      return;
    }
    // The value of a node that decides goes to the arms; a loop or step hands over what it read.
    const PlanNode& from = plan_.nodes[construct];
    const bool decides = from.kind != NodeKind::Loop && from.kind != NodeKind::Step;
    if (!is_opaque(to.inputs(), 0) && !(decides && is_opaque(from.outputs(), 0))) return;
    complain(slice_[reader] != here ? reader : construct,
             text("{} hands an opaque value to {}", quoted(from.id), quoted(to.id)))
        .edge(from.id, to.id);
  }

  void check_taken(u32 loop, u32 node) {
    if (node == no_node || slice_[node] == slice_[loop]) return;
    if (!is_opaque(plan_.nodes[node].outputs(), 0)) return;
    complain(node, text("loop {} takes the value of {} from pass to pass, which is opaque",
                        quoted(plan_.nodes[loop].id), quoted(plan_.nodes[node].id)));
  }

  Diagnostic& complain(u32 remote, const std::string& what) {
    const PlanNode& node = plan_.nodes[remote];
    return diagnostics_
        .error(Reason::distribute_opaque, text("{}, and {} runs on {}", what, quoted(node.id),
                                               quoted(node.target().name)))
        .node(node.id)
        .advise("an opaque value can't be sent: place both ends on one target, or let it be "
                "something that has a form, as text or bytes");
  }

  const Plan& plan_;
  Diagnostics& diagnostics_;
  std::vector<u32> place_;        // by item: which target; `here` also if its nodes differ
  std::vector<u32> slice_;        // by node
  std::vector<u32> target_of_;    // by node
  std::vector<u32> elsewhere_;    // by node, once it is asked for
  u32 slices_ = 0;
};

}  // namespace

void distribute(Plan& plan, Diagnostics& diagnostics) {
  bool has_any = false;
  for (const PlanNode& node : plan.nodes) {
    has_any = has_any || node.target().kind != Target::Kind::Local;
  }
  if (has_any) plan.items = Distributor(plan, diagnostics).distribute();
}

}  // namespace soma
