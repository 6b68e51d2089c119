// Writes the picture of a plan as a page: the SVG, an outline, and what is known of each node.
//
// There is no script in it, and the page says that it wants none, so that whatever an id holds
// could not run even if it came to stand where it must not. What moves is HTML and CSS: parts of
// the outline fold (<details>), boxes and names are links, and what is linked to shows (:target).
#include "plan/picture_text.hpp"
#include "plan/picture_write.hpp"

namespace soma {

namespace {

constexpr std::string_view head = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Plan</title>
<style>
body{margin:0;background:#fff;color:#1f2328;
font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
header,nav{padding:8px 16px}
figure{margin:0;overflow:auto;border-block:1px solid #d1d9e0}
nav details,nav p{margin:0 0 0 1.2em}
summary{cursor:pointer}
a{color:inherit;text-decoration:none}
nav a:hover,aside a:hover{text-decoration:underline}
aside{display:none;position:fixed;right:16px;bottom:16px;max-width:min(44em,80vw);max-height:60vh;
overflow:auto;padding:8px 16px;background:#f6f8fa;border:1px solid #0969da;border-radius:8px}
aside:target{display:block}
dl{display:grid;grid-template-columns:max-content 1fr;gap:0 1em;margin:4px 0}
dt{opacity:.7}
dd{margin:0;overflow-wrap:anywhere;unicode-bidi:isolate}
@media (prefers-color-scheme:dark){
body{background:#0d1117;color:#f0f6fc}
figure{border-color:#3d444d}
aside{background:#151b23;border-color:#4493f8}
}
</style>
</head>
<body>
)";

class PageWriter {
 public:
  explicit PageWriter(const Plan& plan) : plan_(plan), layout_(lay_out(plan)) {}

  std::string write() && {
    out_ = head;
    out_ += text("<header>plan {} · {} · {} nodes</header>\n<figure>\n", plan_.digest(),
                 plan_mode_name(plan_.mode), plan_.nodes.size());
    out_ += svg_of(plan_, layout_, true);
    out_ += "</figure>\n<nav>\n";
    write_outline();
    out_ += "</nav>\n";
    for (const PictureCell& cell : layout_.cells) {
      if (cell.node != no_node) write_facts(cell.node);
    }
    return std::move(out_) + "</body>\n</html>\n";
  }

 private:
  using Kind = PictureCell::Kind;

  void write_outline() {
    std::vector<u32> open;
    for (u32 at = 0; at < layout_.cells.size(); ++at) {
      for (; !open.empty() && layout_.cells[open.back()].end == at; open.pop_back()) {
        out_ += "</details>\n";
      }
      const PictureCell& cell = layout_.cells[at];
      if (cell.end == at + 1) {
        out_ += text("<p>{}</p>\n", name_of(cell));
      } else if (!is_told_by_outer(at)) {
        out_ += text("<details open><summary>{}</summary>\n", name_of(cell));
        open.push_back(at);
      }
    }
    for (; !open.empty(); open.pop_back()) out_ += "</details>\n";
  }

  // The column, wave or layers that a frame is there for.
  bool is_told_by_outer(u32 at) const {
    const PictureCell& cell = layout_.cells[at];
    return at > 0 && cell.kind != Kind::Frame && cell.kind != Kind::Lane &&
           layout_.cells[cell.outer].item == cell.item;
  }

  std::string name_of(const PictureCell& cell) const {
    std::string name = xml_escaped(cell.title);
    switch (cell.kind) {
      case Kind::Column: name = "sequence"; break;
      case Kind::Wave: name = "parallel"; break;
      case Kind::Layers: name = "dataflow"; break;
      case Kind::Box:
      case Kind::More:
      case Kind::Lane:
      case Kind::Frame: break;
    }
    if (cell.kind == Kind::Frame && !cell.note.empty()) name += ", " + xml_escaped(cell.note);
    return cell.node == no_node ? name : text("<a href=\"#n{}\">{}</a>", cell.node, name);
  }

  void write_facts(u32 node) {
    out_ += text("<aside id=\"n{}\"><a href=\"#\">close</a><dl>\n", node);
    for (const NodeFact& fact : node_facts(plan_, node)) {
      out_ += text("<dt>{}</dt><dd>{}</dd>\n", fact.name,
                   xml_escaped(picture_text(fact.value, picture_fact_max)));
    }
    out_ += "</dl></aside>\n";
  }

  const Plan& plan_;
  const PictureLayout layout_;
  std::string out_;
};

}  // namespace

std::string plan_html(const Plan& plan) { return PageWriter(plan).write(); }

}  // namespace soma
