// Writes the picture of a plan as SVG.
//
// Frames come first, from the outside, then the lines that lead on, then boxes and labels; so no
// line is hidden by a frame, and none hides a word. The curves of what a node reads stand with its
// box, and show when a pointer is over it. Colours have a second set for those who read in the
// dark; they are no variables, which some viewers don't know. No part has a name, so that a picture
// can stand in a page beside others.
#include "plan/picture_text.hpp"
#include "plan/picture_write.hpp"

namespace soma {

namespace {

constexpr std::string_view style = R"(<style>
.plan{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.plan text{font-size:12px;fill:#1f2328;text-anchor:middle;unicode-bidi:isolate}
.plan text.note{font-size:10px;fill:#59636e}
.plan .page{fill:#fff}
.plan path,.plan .frame{fill:none;stroke:#818b98}
.plan .node rect{fill:#f6f8fa;stroke:#818b98}
.plan .more rect{fill:none;stroke:#818b98;stroke-dasharray:2 3}
.plan .lane rect{fill:#fff;stroke:#9a6700}
.plan .loop,.plan .again{stroke:#8250df}
.plan .branch{stroke:#9a6700;stroke-dasharray:5 3}
.plan .step,.plan .lane.handoff rect,.plan .goto{stroke:#1a7f37}
.plan .remote{stroke:#0969da;stroke-dasharray:2 3}
.plan .composite,.plan .stream,.plan .dataflow,.plan .wait{stroke:#bc4c00}
.plan .goto{stroke-dasharray:3 3}
.plan .data{stroke:#0969da;opacity:.5;pointer-events:none}
.plan .node:hover .data{opacity:1;stroke-width:2}
.plan .node:hover rect,.plan a:focus rect{stroke:#0969da;stroke-width:2}
@media (prefers-color-scheme:dark){
.plan text{fill:#f0f6fc}
.plan text.note{fill:#9198a1}
.plan .page,.plan .lane rect{fill:#0d1117}
.plan .node rect{fill:#151b23}
.plan .loop,.plan .again{stroke:#ab7df8}
.plan .branch,.plan .lane rect{stroke:#d29922}
.plan .step,.plan .lane.handoff rect,.plan .goto{stroke:#3fb950}
.plan .remote,.plan .data,.plan .node:hover rect,.plan a:focus rect{stroke:#4493f8}
.plan .composite,.plan .stream,.plan .dataflow,.plan .wait{stroke:#db6d28}
}
</style>
)";

class SvgWriter {
 public:
  SvgWriter(const Plan& plan, const PictureLayout& layout, bool has_links)
      : plan_(plan), layout_(layout), has_links_(has_links) {}

  std::string write() && {
    out_ = text("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plan\" role=\"img\" "
                "aria-label=\"A plan of {} nodes\" viewBox=\"0 0 {} {}\" width=\"{}\" "
                "height=\"{}\">\n",
                plan_.nodes.size(), layout_.width, layout_.height, layout_.width,
                layout_.height);
    out_ += style;
    out_ += text("<rect class=\"page\" width=\"{}\" height=\"{}\"/>\n", layout_.width,
                 layout_.height);
    write_frames();
    write_lines();
    write_boxes();
    if (layout_.nodes_left_out > 0 || layout_.curves_left_out > 0) write_caption();
    return std::move(out_) + "</svg>\n";
  }

 private:
  using Kind = PictureCell::Kind;
  using Line = PictureLine::Kind;

  // ---- Frames

  void write_frames() {
    for (const PictureCell& cell : layout_.cells) {
      if (cell.kind != Kind::Frame) continue;
      const std::string_view name = variant_name(plan_.items[cell.item].variant);
      rect(cell, cell.height, 8, text(" class=\"frame {}\"", name));
      open_link(cell.node);
      words(cell, true);
      close_link(cell.node);
    }
  }

  void rect(const PictureCell& cell, i32 height, i32 radius, std::string_view more = "") {
    out_ += text("<rect{} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\"/>\n", more,
                 cell.x, cell.y, cell.width, height, radius);
  }

  void words(const PictureCell& cell, bool is_small) {
    out_ += text("<text{} x=\"{}\" y=\"{}\">{}</text>\n", is_small ? " class=\"note\"" : "",
                 cell.axis(), cell.y + 17, xml_escaped(cell.title));
    if (cell.note.empty()) return;
    out_ += text("<text class=\"note\" x=\"{}\" y=\"{}\">{}</text>\n", cell.axis(),
                 cell.y + 17 + picture_note_height, xml_escaped(cell.note));
  }

  void open_link(u32 node) {
    if (has_links_ && node != no_node) out_ += text("<a href=\"#n{}\">\n", node);
  }
  void close_link(u32 node) {
    if (has_links_ && node != no_node) out_ += "</a>\n";
  }

  // ---- Lines

  void write_lines() {
    write_paths(Line::Bar, "");
    write_paths(Line::Arrow, "");
    write_paths(Line::Handoff, " class=\"goto\"");
    write_paths(Line::Again, " class=\"again\"");
    write_paths(Line::Wait, " class=\"wait\"");
  }

  // Heads are a path of their own: lines may be dashed.
  void write_paths(Line kind, std::string_view more) {
    std::string path, heads;
    for (const PictureLine& line : layout_.lines) {
      if (line.kind != kind) continue;
      path += path_of(line);
      const auto [x, y] = line.points.back();
      if (kind != Line::Bar) heads += text("M{} {}l4 5 4-5", x - 4, y - 5);
    }
    if (!path.empty()) out_ += text("<path{} d=\"{}\"/>\n", more, path);
    if (!heads.empty()) out_ += text("<path d=\"{}\"/>\n", heads);
  }

  static std::string path_of(const PictureLine& line) {
    const bool is_curve = line.kind == Line::Wait || line.kind == Line::Data;
    std::string out = text("M{} {}", line.points[0].first, line.points[0].second);
    for (size_t i = 1; i < line.points.size(); ++i) {
      const char* before = is_curve ? (i == 1 ? "C" : " ") : "L";
      out += text("{}{} {}", before, line.points[i].first, line.points[i].second);
    }
    if (line.kind == Line::Data) out += "m5-4l-5 4 5 4";
    return out;
  }

  // ---- Boxes

  void write_boxes() {
    size_t curve = 0;
    for (u32 at = 0; at < layout_.cells.size(); ++at) {
      const PictureCell& cell = layout_.cells[at];
      if (cell.kind == Kind::Lane) {
        write_lane(cell);
      } else if (cell.kind == Kind::Box || cell.kind == Kind::More) {
        write_box(cell, curves_to(at, curve));
      } else if (cell.node != no_node) {
        out_ += curves_to(at, curve);  // of a frame
      }
    }
  }

  void write_lane(const PictureCell& cell) {
    const bool is_handoff = cell.title.starts_with("~> ");
    out_ += text("<g class=\"lane{}\">\n", is_handoff ? " handoff" : "");
    rect(cell, picture_title_height, picture_title_height / 2);
    out_ += text("<text class=\"note\" x=\"{}\" y=\"{}\">{}</text>\n</g>\n", cell.axis(),
                 cell.y + 15, xml_escaped(cell.title));
  }

  void write_box(const PictureCell& cell, const std::string& curves) {
    open_link(cell.node);
    out_ += text("<g class=\"{}\">\n", cell.kind == Kind::More ? "more" : "node");
    if (cell.node != no_node) {
      out_ += text("<title>{}</title>\n", xml_escaped(facts_text(plan_, cell.node)));
    }
    out_ += curves;
    rect(cell, cell.height, 5);
    words(cell, false);
    out_ += "</g>\n";
    close_link(cell.node);
  }

  // `next`: where among the lines those of the next cells begin.
  std::string curves_to(u32 cell, size_t& next) const {
    const std::vector<PictureLine>& lines = layout_.lines;
    std::string path;
    for (; next < lines.size(); ++next) {
      if (lines[next].kind != Line::Data) continue;
      if (lines[next].cell != cell) break;
      path += path_of(lines[next]);
    }
    return path.empty() ? "" : text("<path class=\"data\" d=\"{}\"/>\n", path);
  }

  void write_caption() {
    const size_t nodes = plan_.nodes.size();
    out_ += text("<text class=\"note\" x=\"{}\" y=\"{}\">{} of {} nodes are shown",
                 layout_.width / 2, layout_.height - 14, nodes - layout_.nodes_left_out, nodes);
    if (layout_.curves_left_out > 0) {
      out_ += text(", and {} curves are left out", layout_.curves_left_out);
    }
    out_ += "</text>\n";
  }

  const Plan& plan_;
  const PictureLayout& layout_;
  const bool has_links_;
  std::string out_;
};

}  // namespace

std::string facts_text(const Plan& plan, u32 node) {
  std::string out;
  for (const NodeFact& fact : node_facts(plan, node)) {
    out += text("{}{}: {}", out.empty() ? "" : "\n", fact.name,
                picture_text(fact.value, picture_fact_max));
  }
  return out;
}

std::string svg_of(const Plan& plan, const PictureLayout& layout, bool has_links) {
  return SvgWriter(plan, layout, has_links).write();
}

std::string plan_svg(const Plan& plan) { return svg_of(plan, lay_out(plan), false); }

}  // namespace soma
