// Where everything in a picture of a plan lies, in whole pixels.
#pragma once

#include "plan/plan.hpp"

namespace soma {

// What a picture shows at most. Behind it nobody finds anything any more: what is left out is
// counted instead.
inline constexpr u32 picture_cells_max = 2000;
inline constexpr u32 picture_depth_max = 64;   // of cells within each other
inline constexpr u32 picture_curves_max = 2000;

inline constexpr i32 picture_text_px = 12, picture_note_px = 10;  // sizes of letters
inline constexpr i32 picture_title_height = 22, picture_note_height = 14;
inline constexpr i32 picture_gap = 24;  // between cells of a column: as long as an arrow

// A part of a picture, in pre-order like the items of a plan. What it holds begins behind it.
struct PictureCell {
  enum class Kind : u8 {
    Box,     // a node, or an empty plan
    More,    // what was left out here
    Column,  // one below the other
    Wave,    // side by side, between two bars
    Lane,    // an arm or a hand-off: a label, and below it what it leads to
    Layers,  // rows, each after those above it
    Frame,   // a title, and below it one cell
  };
  Kind kind = Kind::Box;
  u32 item = 0;                   // of the plan, whose cell or whose part it is
  u32 node = no_node;             // whose place this is
  u32 end = 0;                    // behind the last cell in it
  u32 outer = 0;                  // the cell around it; of the first: itself
  u32 left_out = 0;               // nodes, of More
  i32 x = 0, y = 0, width = 0, height = 0;
  std::string title, note;        // fit in; the note is smaller, below the title

  i32 axis() const { return x + width / 2; }
  i32 bottom() const { return y + height; }
};

struct PictureLine {
  enum class Kind : u8 {
    Bar,      // forks or joins
    Arrow,    // leads on
    Handoff,  // leads on if a step says so
    Again,    // from the end of a loop's body to its beginning
    Wait,     // in a dataflow: a curve from what is done to what waits for it
    Data,     // a value that passes by others: a curve to the cell that reads it
  };
  Kind kind = Kind::Arrow;
  u32 cell = 0;                   // to which it leads
  std::vector<std::pair<i32, i32>> points;  // of a curve: begin, two that bend it, end
};

struct PictureLayout {
  std::vector<PictureCell> cells;
  std::vector<PictureLine> lines;  // Data comes last, in the order of its cells
  i32 width = 0, height = 0;
  u32 nodes_left_out = 0;
  u64 curves_left_out = 0;

  template <typename Use>
  void each_in(u32 cell, Use use) const {
    for (u32 at = cell + 1; at < cells[cell].end; at = cells[at].end) use(at);
  }
};

PictureLayout lay_out(const Plan& plan);

// picture_cells.cpp: the cells of a plan, without their places.
void make_cells(const Plan& plan, PictureLayout& out);
// picture_lines.cpp: the lines between cells that have theirs.
void draw_lines(const Plan& plan, PictureLayout& layout);

}  // namespace soma
