// Makes the cells of a plan's picture: which boxes, frames and labels there are, and what they say.
//
// An item is one cell, or a few within each other: a Branch is a frame around a wave of labelled
// lanes. Items are passed in pre-order with a stack of those that are open, so depth costs nothing.
// As soon as a picture is full or too deep, items are passed over as whole subtrees, and what they
// hold is counted in a cell of the innermost open one.
// Cost: linear.
#include <algorithm>

#include "plan/label.hpp"
#include "plan/node_facts.hpp"
#include "plan/picture_layout.hpp"
#include "plan/picture_text.hpp"
#include "plan/place.hpp"

namespace soma {

namespace {

constexpr u32 title_characters_max = 32, note_characters_max = 44;

class CellMaker {
 public:
  CellMaker(const Plan& plan, PictureLayout& out) : plan_(plan), out_(out) {
    nodes_before_.reserve(plan.items.size() + 1);
    u32 nodes = 0;
    for (const PlanItem& item : plan.items) {
      nodes_before_.push_back(nodes);
      nodes += places_node(item.variant) ? 1U : 0U;
    }
    nodes_before_.push_back(nodes);
  }

  void make() && {
    const u32 count = static_cast<u32>(plan_.items.size());
    for (u32 at = 0; at < count;) {
      while (!open_.empty() && open_.back().item_end == at) close();
      if (is_full()) {
        leave_out(at);
        at = plan_.items[at].end;
        continue;
      }
      make_item(at);
      ++at;
    }
    while (!open_.empty()) close();
  }

 private:
  struct Open {
    u32 cell = 0;
    u32 item_end = 0;
    u32 children = 0;             // items in it so far
  };

  bool is_full() const {
    return !open_.empty() && (out_.cells.size() >= picture_cells_max ||
                              open_.size() >= picture_depth_max);
  }

  void leave_out(u32 at) {
    const u32 nodes = nodes_before_[plan_.items[at].end] - nodes_before_[at];
    const bool is_first = out_.cells.back().kind != Kind::More ||
                          out_.cells.back().outer != open_.back().cell;
    if (is_first) add(Kind::More, at);
    PictureCell& more = out_.cells.back();
    more.left_out += nodes;
    more.title = text("… {} more", more.left_out);
    out_.nodes_left_out += nodes;
  }

  using Kind = PictureCell::Kind;

  PictureCell& add(Kind kind, u32 item) {
    PictureCell cell;
    cell.kind = kind;
    cell.item = item;
    cell.outer = open_.empty() ? 0 : open_.back().cell;
    cell.end = static_cast<u32>(out_.cells.size()) + 1;
    return out_.cells.emplace_back(std::move(cell));
  }

  PictureCell& open(Kind kind, u32 item) {
    const u32 index = static_cast<u32>(out_.cells.size());
    PictureCell& cell = add(kind, item);
    open_.push_back({index, plan_.items[item].end, 0});
    return cell;
  }

  void close() {
    out_.cells[open_.back().cell].end = static_cast<u32>(out_.cells.size());
    open_.pop_back();
  }

  std::string title(std::string_view raw) const {
    return picture_text(raw, title_characters_max);
  }

  void make_item(u32 at) {
    make_lane(at);
    const PlanItem& item = plan_.items[at];
    switch (item.variant) {
      case Variant::Empty: add(Kind::Box, at).title = "empty"; break;
      case Variant::Execute: make_box(at); break;
      case Variant::Sequence: open(Kind::Column, at); break;
      case Variant::Parallel: open(Kind::Wave, at); break;
      case Variant::Step: make_step(at); break;
      case Variant::Loop:
        open_frame(at, "loop " + id(item.node), shown_loop(plan_, plan_.loops[item.detail]));
        out_.cells.back().node = item.node;
        break;
      case Variant::Branch:
        open_frame(at, "branch " + id(item.node), "");
        open(Kind::Wave, at);
        break;
      case Variant::Remote:
        open_frame(at, "remote", shown_target(plan_.nodes[item.node].target()));
        break;
      case Variant::Composite:
        open_frame(at, "composite", "");
        open(Kind::Column, at);
        break;
      case Variant::Stream:
        open_frame(at, "stream", text("chunk={}", item.detail));
        open(Kind::Column, at);
        break;
      case Variant::Dataflow:
        open_frame(at, "dataflow", "");
        open(Kind::Layers, at);
        break;
    }
  }

  // What leads to the next item, where that needs a label. It ends with the item.
  void make_lane(u32 at) {
    if (open_.empty()) return;
    Open& around = open_.back();
    const u32 index = around.children++;
    const PlanItem& outer = plan_.items[out_.cells[around.cell].item];
    if (out_.cells[around.cell].kind != Kind::Wave) return;
    if (outer.variant == Variant::Branch) {
      open(Kind::Lane, at).title = title(plan_.branches[outer.detail][index].text());
    } else if (outer.variant == Variant::Step) {
      open(Kind::Lane, at).title = "~> " + title(plan_.handoffs[outer.detail][index]);
    }
  }

  void make_step(u32 at) {
    const bool has_handoffs = plan_.items[at].end > at + 1;
    if (has_handoffs) {
      open_frame(at, "step " + id(plan_.items[at].node), "");
      open(Kind::Column, at);
    }
    make_box(at);
    if (has_handoffs) open(Kind::Wave, at);
  }

  void open_frame(u32 at, std::string_view name, std::string_view note) {
    PictureCell& frame = open(Kind::Frame, at);
    frame.title = name;
    frame.note = picture_text(note, note_characters_max);
  }

  std::string id(u32 node) const { return title(plan_.nodes[node].id); }

  void make_box(u32 at) {
    const u32 node = plan_.items[at].node;
    PictureCell& box = add(Kind::Box, at);
    box.node = node;
    box.title = id(node);
    std::string note;
    for (const NodeFact& fact : node_facts(plan_, node)) {
      if (fact.name == "op" && fact.value != plan_.nodes[node].id) note = fact.value;
      if (fact.name == "cost_us") note += (note.empty() ? "" : " · ") + fact.value + " µs";
    }
    box.note = picture_text(note, note_characters_max);
  }

  const Plan& plan_;
  PictureLayout& out_;
  std::vector<u32> nodes_before_;  // by item
  std::vector<Open> open_;
};

}  // namespace

void make_cells(const Plan& plan, PictureLayout& out) { CellMaker(plan, out).make(); }

}  // namespace soma
