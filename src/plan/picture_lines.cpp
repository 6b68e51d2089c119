// Draws the lines of a picture: how one cell leads to the next, and which values pass by others.
//
// Lines that lead on follow from the cells: down a column, from bar to bar in a wave, back up in a
// loop. A value needs a line of its own only where it takes another way: not if its reader is
// entered right where its source is left. That is found by climbing from both to the cell that
// holds both; a picture's depth has a bound, so a climb is short.
// Cost: linear in cells and in what the nodes that are shown read.
#include <algorithm>

#include "plan/picture_layout.hpp"

namespace soma {

namespace {

constexpr u32 no_cell = ~u32{0};
constexpr i32 bend_min = 22, bend_max = 90;  // how far a curve goes to the side
constexpr i32 margin = 8;                    // right of the curves
constexpr i32 back_in = 12;                  // a loop's line, from its frame

class LineMaker {
 public:
  LineMaker(const Plan& plan, PictureLayout& out)
      : plan_(plan),
        out_(out),
        depth_(out.cells.size()),
        is_entry_(out.cells.size(), true),
        is_exit_(out.cells.size(), true) {}

  void draw() && {
    for (u32 at = 0; at < out_.cells.size(); ++at) {
      const PictureCell& own = out_.cells[at];
      depth_[at] = at == 0 ? 0 : depth_[own.outer] + 1;
      switch (own.kind) {
        case Kind::Box:
        case Kind::More: break;
        case Kind::Column: find_ends(at); [[fallthrough]];
        case Kind::Lane: lead_down(at); break;
        case Kind::Wave: fork_and_join(at); break;
        case Kind::Layers: lead_by_parts(at); break;
        case Kind::Frame:
          if (plan_.items[own.item].variant == Variant::Loop) lead_back(at);
          break;
      }
    }
    draw_data();
  }

 private:
  using Kind = PictureCell::Kind;
  using Line = PictureLine::Kind;

  const PictureCell& cell(u32 at) const { return out_.cells[at]; }

  void line(Line kind, u32 to, std::vector<std::pair<i32, i32>> points) {
    out_.lines.push_back({kind, to, std::move(points)});
  }

  void arrow(Line kind, u32 to, i32 from_y) {
    line(kind, to, {{cell(to).axis(), from_y}, {cell(to).axis(), cell(to).y}});
  }

  // What a step yields, it yields behind its hand-offs.
  void find_ends(u32 at) {
    const bool is_step = plan_.items[cell(at).item].variant == Variant::Step;
    out_.each_in(at, [&](u32 child) {
      is_entry_[child] = child == at + 1;
      is_exit_[child] = cell(child).end == cell(at).end || (is_step && child == at + 1);
    });
  }

  void lead_down(u32 at) {
    i32 y = cell(at).kind == Kind::Lane ? cell(at + 1).y - picture_gap : -1;
    out_.each_in(at, [&](u32 child) {
      if (y >= 0) arrow(Line::Arrow, child, y);
      y = cell(child).bottom();
    });
  }

  void fork_and_join(u32 at) {
    const PictureCell& own = cell(at);
    const bool is_step = plan_.items[own.item].variant == Variant::Step;
    i32 first = own.axis(), last = own.axis();
    out_.each_in(at, [&](u32 child) {
      const i32 axis = cell(child).axis();
      first = std::min(first, axis);
      last = std::max(last, axis);
      arrow(is_step ? Line::Handoff : Line::Arrow, child, own.y);
      line(Line::Bar, child, {{axis, cell(child).bottom()}, {axis, own.bottom()}});
    });
    for (const i32 y : {own.y, own.bottom()}) line(Line::Bar, at, {{first, y}, {last, y}});
  }

  void lead_back(u32 at) {
    const PictureCell& body = cell(at + 1);
    const i32 x = cell(at).x + back_in, axis = body.axis();
    line(Line::Again, at + 1, {{axis, body.bottom()}, {axis, body.bottom() + 10},
                               {x, body.bottom() + 10}, {x, body.y - 12},
                               {axis, body.y - 12}, {axis, body.y}});
  }

  void lead_by_parts(u32 at) {
    const std::vector<std::vector<u32>>& after =
        plan_.dataflows[plan_.items[cell(at).item].detail];
    std::vector<u32> parts;
    out_.each_in(at, [&](u32 part) {
      if (cell(part).kind == Kind::More) return;
      is_entry_[part] = after[parts.size()].empty();
      for (const u32 before : after[parts.size()]) {
        is_exit_[parts[before]] = false;
        if (!has_room()) continue;
        const i32 x = cell(parts[before]).axis(), y = cell(parts[before]).bottom();
        const i32 half = (cell(part).y - y) / 2;
        line(Line::Wait, part, {{x, y}, {x, y + half}, {cell(part).axis(), cell(part).y - half},
                                {cell(part).axis(), cell(part).y}});
      }
      parts.push_back(part);
    });
  }

  // A curve more, which is counted either way.
  bool has_room() {
    if (curves_ < picture_curves_max) {
      ++curves_;
      return true;
    }
    ++out_.curves_left_out;
    return false;
  }

  // ---- Values

  void draw_data() {
    std::vector<u32> cell_of(plan_.nodes.size(), no_cell);
    for (u32 at = 0; at < out_.cells.size(); ++at) {
      if (cell(at).node != no_node) cell_of[cell(at).node] = at;
    }
    for (u32 at = 0; at < out_.cells.size(); ++at) {
      if (cell(at).node == no_node) continue;
      for (const Source& source : plan_.sources_of(cell(at).node)) {
        const u32 from = cell_of[source.node];
        if (from != no_cell && !is_led(from, at) && has_room()) curve(from, at);
      }
    }
  }

  // Is there an arrow from one to the other, if only by bars between them?
  bool is_led(u32 from, u32 to) const {
    bool is_left = true, is_entered = true;  // is nothing behind the one, and before the other?
    while (cell(from).outer != cell(to).outer) {
      if (depth_[from] >= depth_[to]) {
        is_left = is_left && is_exit_[from];
        from = cell(from).outer;
      } else {
        is_entered = is_entered && is_entry_[to];
        to = cell(to).outer;
      }
    }
    if (!is_left || !is_entered) return false;
    const Kind around = cell(cell(to).outer).kind;
    return around == Kind::Layers || (around == Kind::Column && cell(from).end == to);
  }

  void curve(u32 from, u32 to) {
    const PictureCell &a = cell(from), &b = cell(to);
    const i32 begin_x = a.x + a.width, begin_y = a.y + a.height / 2;
    const i32 end_x = b.x + b.width, end_y = b.y + std::min(b.height / 2, 14);
    const i32 bend = std::clamp((end_y - begin_y) / 5, bend_min, bend_max);
    const i32 x = std::max(begin_x, end_x) + bend;
    line(Line::Data, to, {{begin_x, begin_y}, {x, begin_y}, {x, end_y}, {end_x, end_y}});
    out_.width = std::max(out_.width, x + margin);
  }

  const Plan& plan_;
  PictureLayout& out_;
  std::vector<u32> depth_;        // by cell
  std::vector<bool> is_entry_, is_exit_;  // by cell: of the cell around it
  u32 curves_ = 0;
};

}  // namespace

void draw_lines(const Plan& plan, PictureLayout& layout) { LineMaker(plan, layout).draw(); }

}  // namespace soma
