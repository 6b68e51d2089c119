// Proves that what a plan reads is there: what nodes read of others, what a loop takes as its
// signal and its carry, and what the plan yields.
//
// Idea: one walk in pre-order with the stack of open items. The tree has the order of the table, so
// what a node may read has been visited before it. Of all items that are open at the reader, those
// that begin at or before the source's item are around the source too: the last of them, which a
// bisection finds, is the innermost item around both. Only two things can hide the source. That
// item may be one whose children do not see each other. Or the source lies in a loop's body that is
// inside of that item, where each pass has another value of it: so it is enough to know the
// innermost body of each node, and whether it begins behind that item.
// A value from an arm or a hand-off that was not taken is absent, which readers are made for.
// Cost: O(sources × log depth). Between children of a Dataflow, another bisection.
#include <algorithm>

#include "base/text.hpp"
#include "plan/verify.hpp"
#include "value/repeats.hpp"

namespace soma {

namespace {

class ReadCheck {
 public:
  explicit ReadCheck(PlanCheck& check)
      : check_(check),
        plan_(check.plan),
        item_of_(plan_.nodes.size(), no_item),
        body_of_(plan_.loops.empty() ? 0 : plan_.nodes.size(), no_item) {}

  void run() && {
    for (u32 at = 0; at < plan_.items.size(); ++at) {
      while (!open_.empty() && plan_.items[open_.back().item].end == at) close();
      open(at);
    }
    while (!open_.empty()) close();
    check_leaves();
  }

 private:
  struct Open {
    u32 item = no_item;
    u32 body = no_item;           // the innermost Loop in whose body its children lie
    size_t begins = 0;            // of a Dataflow: where in begins_ those of its children are,
    u32 children = 0;             // and how many it has so far
  };

  void open(u32 at) {
    const PlanItem& item = plan_.items[at];
    const u32 body = open_.empty() ? no_item : open_.back().body;
    if (!open_.empty() && plan_.items[open_.back().item].variant == Variant::Dataflow) {
      begins_.push_back(at);
      ++open_.back().children;
    }
    if (places_node(item.variant) && item.node < plan_.nodes.size() &&
        item_of_[item.node] == no_item) {
      check_node(item.node);
      item_of_[item.node] = at;
      if (!body_of_.empty()) body_of_[item.node] = body;
    }
    const bool has_nothing_in_it = item.variant == Variant::Execute && item.end == at + 1;
    if (has_nothing_in_it && !open_.empty()) return;
    open_.push_back({at, item.variant == Variant::Loop ? at : body, begins_.size(), 0});
  }

  void close() {
    const Open& done = open_.back();
    const PlanItem& item = plan_.items[done.item];
    if (item.variant == Variant::Loop && item.detail < plan_.loops.size()) {
      const PlanLoop& loop = plan_.loops[item.detail];
      check_in_body(done.item, loop.signal, "signal");
      check_in_body(done.item, loop.carry, "carry");
    }
    begins_.resize(done.begins);
    open_.pop_back();
  }

  void check_in_body(u32 loop, u32 node, std::string_view what) {
    if (node == no_node || (node < plan_.nodes.size() && body_of(node) == loop)) return;
    check_.complain_at(loop, text("its {} is not from a node of its body", what));
  }

  void check_node(u32 reader) {
    const PlanNode& node = plan_.nodes[reader];
    if (node.sources_begin > node.sources_end || node.sources_end > plan_.sources.size()) return;
    const std::span<const Source> sources = plan_.sources_of(reader);
    for (const Source& source : sources) {
      if (source.output >= plan_.names.size() || source.input >= plan_.names.size()) {
        check_.complain_of(reader, text("a port that it reads is name {} of {}",
                                        std::max(source.output, source.input),
                                        plan_.names.size()));
        return;
      }
      if (source.node >= plan_.nodes.size()) {
        check_.complain_of(reader, text("it reads node {}, and the table has {}", source.node,
                                        plan_.nodes.size()));
        return;
      }
    }
    for (const Source& source : sources) check_source(reader, source.node);
    if (sources.size() > 1) check_keys(reader, sources);
  }

  void check_source(u32 reader, u32 source) {
    const std::string_view hidden = why_hidden(source);
    if (hidden.empty()) return;
    check_.complain_of(reader, text("it reads {}, {}", quoted(plan_.nodes[source].id), hidden));
  }

  u32 body_of(u32 node) const { return body_of_.empty() ? no_item : body_of_[node]; }

  // Of the open items, at least the first of which is around all.
  const Open& innermost_around(u32 item) const {
    if (open_.back().item <= item) return open_.back();
    const auto behind =
        std::upper_bound(open_.begin(), open_.end(), item,
                         [](u32 at, const Open& open) { return at < open.item; });
    return *(behind - 1);
  }

  // Why the value of a node is not there for the node that is about to be opened.
  std::string_view why_hidden(u32 source) const {
    const u32 at = item_of_[source];
    if (at == no_item) return "which does not run before it";
    const Open& around = innermost_around(at);
    if (body_of(source) != no_item && body_of(source) > around.item) {
      return "which lies in the body of a loop that is over";
    }
    switch (plan_.items[around.item].variant) {
      case Variant::Parallel: return "which runs at the same time";
      case Variant::Branch: return "which lies in another arm";
      case Variant::Step: return at == around.item ? "" : "which lies in another hand-off";
      case Variant::Loop: return at == around.item ? "which is the loop that it lies in" : "";
      case Variant::Dataflow:
        return is_awaited(around, at) ? "" : "which the part that it lies in is not after";
      case Variant::Empty:
      case Variant::Execute:
      case Variant::Sequence:
      case Variant::Remote:
      case Variant::Composite:
      case Variant::Stream: break;
    }
    return "";
  }

  // The reader lies in the last child so far of a Dataflow: is that one after the child that holds
  // `item`?
  bool is_awaited(const Open& dataflow, u32 item) const {
    const u32 detail = plan_.items[dataflow.item].detail;
    if (detail >= plan_.dataflows.size() || plan_.dataflows[detail].size() < dataflow.children) {
      return true;                // which is complained about elsewhere
    }
    const std::vector<u32>& after = plan_.dataflows[detail][dataflow.children - 1];
    const auto begin = begins_.begin() + static_cast<std::ptrdiff_t>(dataflow.begins);
    const auto behind = std::upper_bound(begin, begin + dataflow.children, item);
    return std::binary_search(after.begin(), after.end(), static_cast<u32>(behind - begin - 1));
  }

  std::string_view key_of(const Source& source) const {
    return source.input == 0 ? plan_.nodes[source.node].id.view() : plan_.names[source.input];
  }

  // Several values make a map, in which each has a key of its own: the name of an input, or the id
  // of the node that it comes from.
  void check_keys(u32 reader, std::span<const Source> sources) {
    const auto key_at = [&](u32 i) { return key_of(sources[i]); };
    for (const u32 i : find_repeats(static_cast<u32>(sources.size()), key_at)) {
      check_.complain_of(reader, text("two of the values that it reads have the key {}",
                                      quoted(key_at(i))));
    }
  }

  void check_leaves() {
    std::vector<bool> is_leaf(plan_.nodes.size());
    for (const u32 leaf : plan_.leaves) {
      if (leaf >= plan_.nodes.size()) {
        check_.complain(text("leaf {} is no node of the table, which has {}", leaf,
                             plan_.nodes.size()));
      } else if (is_leaf[leaf]) {
        check_.complain_of(leaf, "it is a leaf twice");
      } else {
        is_leaf[leaf] = true;
        if (body_of(leaf) != no_item) {
          check_.complain_of(leaf, "it is a leaf, and lies in the body of a loop");
        }
      }
    }
    if (plan_.leaves.empty() && !plan_.nodes.empty()) {
      check_.complain("a plan that has nodes yields the value of one of them, or of more");
    }
  }

  PlanCheck& check_;
  const Plan& plan_;
  std::vector<Open> open_;
  std::vector<u32> item_of_;      // by node: where it has its place
  std::vector<u32> body_of_;      // by node, if there are loops: that in whose body it lies
  std::vector<u32> begins_;       // of the children so far of all open Dataflows
};

}  // namespace

void check_reads(PlanCheck& check) { ReadCheck(check).run(); }

}  // namespace soma
