// Gives every cell of a picture its size and its place.
//
// Problem: a cell's size depends on what it holds, its place on what is around it.
// Idea: cells are in pre-order. From the last to the first, what a cell holds has its size before
// it; from the first to the last, what is around a cell has its place before it. A column, a wave
// and a frame centre what they hold, so a line that leads on is straight.
// Cost: linear, but for the pairs of a dataflow, each of which is looked at once.
#include "plan/picture_layout.hpp"

#include <algorithm>

#include "plan/picture_text.hpp"

namespace soma {

namespace {

constexpr i32 margin = 16;        // around the picture
constexpr i32 aside = 20;         // between cells side by side
constexpr i32 bar_space = 18;     // between a bar and a cell
constexpr i32 layer_gap = 36;     // curves need more room than straight lines
constexpr i32 padding = 14;       // in a frame, around what it holds
constexpr i32 loop_padding = 26;  // where a line leads back
constexpr i32 gap = picture_gap, title_height = picture_title_height;
constexpr i32 note_height = picture_note_height, box_padding = 10;
constexpr i32 caption_height = 24, caption_width = 480;

// The widths of letters of fonts with one width are 0.6 of their size, or a little more.
i32 text_width(std::string_view text, i32 size_px) {
  return static_cast<i32>(picture_columns(text)) * size_px * 61 / 100 + 1;
}

class Layouter {
 public:
  explicit Layouter(const Plan& plan) : plan_(plan) { make_cells(plan, out_); }

  PictureLayout lay_out() && {
    const u32 count = static_cast<u32>(out_.cells.size());
    row_of_.resize(count);
    for (u32 at = count; at-- > 0;) measure(at);
    out_.cells[0].x = out_.cells[0].y = margin;
    for (u32 at = 0; at < count; ++at) place(at);
    out_.width = out_.cells[0].width + 2 * margin;
    out_.height = out_.cells[0].height + 2 * margin;
    draw_lines(plan_, out_);
    if (out_.nodes_left_out > 0 || out_.curves_left_out > 0) {
      out_.height += caption_height;
      out_.width = std::max(out_.width, caption_width);
    }
    return std::move(out_);
  }

 private:
  using Kind = PictureCell::Kind;

  PictureCell& cell(u32 at) { return out_.cells[at]; }

  bool is_loop(u32 at) {
    return cell(at).kind == Kind::Frame && plan_.items[cell(at).item].variant == Variant::Loop;
  }

  // ---- Sizes, from the inside

  void measure(u32 at) {
    PictureCell& own = cell(at);
    const i32 notes = own.note.empty() ? 0 : note_height;
    own.width = std::max(text_width(own.title, picture_text_px),
                         text_width(own.note, picture_note_px)) + 2 * box_padding;
    switch (own.kind) {
      case Kind::Box:
      case Kind::More: own.height = title_height + notes + 6; return;
      case Kind::Column: measure_column(at, 0, -gap); return;
      case Kind::Lane: measure_column(at, own.width, title_height); return;
      case Kind::Wave: measure_wave(at); return;
      case Kind::Layers: measure_layers(at); return;
      case Kind::Frame: break;
    }
    const i32 sides = is_loop(at) ? loop_padding : padding;
    const i32 title_width = own.width;
    measure_column(at, 0, -gap);
    own.width = std::max(own.width + 2 * sides, title_width);
    own.height += title_height + notes + (is_loop(at) ? 2 * padding : 6) + padding;
  }

  void measure_column(u32 at, i32 width, i32 height) {
    out_.each_in(at, [&](u32 child) {
      width = std::max(width, cell(child).width);
      height += cell(child).height + gap;
    });
    cell(at).width = width;
    cell(at).height = height;
  }

  void measure_wave(u32 at) {
    i32 width = -aside, height = 0;
    out_.each_in(at, [&](u32 child) {
      width += cell(child).width + aside;
      height = std::max(height, cell(child).height);
    });
    cell(at).width = width;
    cell(at).height = height + 2 * bar_space;
  }

  struct Row {
    i32 width = -aside, height = 0;
    i32 next_x = 0, y = 0;        // while cells are placed
  };

  // What waits for nothing is in the first row, everything else below what it waits for.
  void measure_layers(u32 at) {
    const std::vector<std::vector<u32>>& after =
        plan_.dataflows[plan_.items[cell(at).item].detail];
    std::vector<u32> rows;        // by child
    std::vector<Row> sizes;
    out_.each_in(at, [&](u32 child) {
      u32 row = 0;
      if (cell(child).kind == Kind::More) {
        row = static_cast<u32>(sizes.size());
      } else {
        for (const u32 before : after[rows.size()]) row = std::max(row, rows[before] + 1);
      }
      rows.push_back(row);
      row_of_[child] = row;
      if (row >= sizes.size()) sizes.resize(row + 1);
      sizes[row].width += cell(child).width + aside;
      sizes[row].height = std::max(sizes[row].height, cell(child).height);
    });
    i32 width = 0, height = -layer_gap;
    for (const Row& row : sizes) {
      width = std::max(width, row.width);
      height += row.height + layer_gap;
    }
    cell(at).width = width;
    cell(at).height = height;
  }

  // ---- Places, from the outside

  void place(u32 at) {
    const PictureCell& own = cell(at);
    switch (own.kind) {
      case Kind::Box:
      case Kind::More: return;
      case Kind::Column: place_column(at, own.y); return;
      case Kind::Lane: place_column(at, own.y + title_height + gap); return;
      case Kind::Wave: place_wave(at); return;
      case Kind::Layers: place_layers(at); return;
      case Kind::Frame: break;
    }
    const i32 notes = own.note.empty() ? 0 : note_height;
    place_column(at, own.y + title_height + notes + (is_loop(at) ? padding : 6));
  }

  void place_column(u32 at, i32 y) {
    const i32 axis = cell(at).axis();
    out_.each_in(at, [&](u32 child) {
      cell(child).x = axis - cell(child).width / 2;
      cell(child).y = y;
      y += cell(child).height + gap;
    });
  }

  void place_wave(u32 at) {
    i32 x = cell(at).x;
    out_.each_in(at, [&](u32 child) {
      cell(child).x = x;
      cell(child).y = cell(at).y + bar_space;
      x += cell(child).width + aside;
    });
  }

  void place_layers(u32 at) {
    std::vector<Row> rows;
    out_.each_in(at, [&](u32 child) {
      const u32 row = row_of_[child];
      if (row >= rows.size()) rows.resize(row + 1);
      rows[row].width += cell(child).width + aside;
      rows[row].height = std::max(rows[row].height, cell(child).height);
    });
    i32 y = cell(at).y;
    for (Row& row : rows) {
      row.next_x = cell(at).axis() - row.width / 2;
      row.y = y;
      y += row.height + layer_gap;
    }
    out_.each_in(at, [&](u32 child) {
      Row& row = rows[row_of_[child]];
      cell(child).x = row.next_x;
      cell(child).y = row.y;
      row.next_x += cell(child).width + aside;
    });
  }

  const Plan& plan_;
  PictureLayout out_;
  std::vector<u32> row_of_;       // by cell, of those in Layers
};

}  // namespace

PictureLayout lay_out(const Plan& plan) { return Layouter(plan).lay_out(); }

}  // namespace soma
