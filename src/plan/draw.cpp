// Draws a plan: as a flowchart of Mermaid, or as a graph of DOT.
//
// Problem: the two languages differ in spelling only, so the picture should be made once. A plan
// may nest as deep as it likes, and its ids may hold anything.
// Idea: every item has one point at which it is entered and one at which it is left. A Sequence
// leads from where a child is left to where the next is entered; what holds several ways (waves,
// arms, hand-offs) has a point before them and one behind them; a Loop has one, to which its body
// leads back. Points are found from the last item to the first, when those of the children are
// known. A picture is then a list of points, in pre-order, with the frames that open and close
// between them, and a list of arrows; a language prints the two.
// Names in pictures are the numbers of items; ids only occur in labels, in quotes, with whatever
// means something to a language replaced by its number.
// Cost: linear.
#include <array>

#include "plan/label.hpp"

namespace soma {

namespace {

enum class Shape : u8 { Node, Step, Decision, Loop, Junction };

// A place that arrows begin and end at: of an item, the first or the one behind its children.
struct Point {
  u32 item = 0;
  bool is_behind = false;
  bool operator==(const Point&) const = default;
};

std::string name_of(Point point) { return text("{}{}", point.is_behind ? 'o' : 'i', point.item); }

struct Mark {                     // something to draw, in its place
  enum class Kind : u8 { Point, FrameBegin, FrameEnd };
  Kind kind = Kind::Point;
  Shape shape = Shape::Node;
  u32 depth = 0;                  // frames around it
  std::string name, label;
};

struct Arrow {
  Point from, to;
  std::string label;
  bool is_dotted = false;
};

struct Picture {
  std::vector<Mark> marks;
  std::vector<Arrow> arrows;
};

class Artist {
 public:
  explicit Artist(const Plan& plan)
      : plan_(plan), enter_(plan.items.size()), leave_(plan.items.size()) {}

  Picture draw() && {
    for (u32 at = static_cast<u32>(plan_.items.size()); at-- > 0;) find_points(at);
    std::vector<u32> frames;      // the ends of those that are open
    for (u32 at = 0; at < plan_.items.size(); ++at) {
      while (!frames.empty() && frames.back() == at) close_frame(frames);
      const PlanItem& item = plan_.items[at];
      const std::string title = frame_title(item);
      if (!title.empty()) {
        mark({Mark::Kind::FrameBegin, Shape::Node, depth_++, text("f{}", at), title});
        frames.push_back(item.end);
      }
      draw_points(at);
      draw_arrows(at);
    }
    while (!frames.empty()) close_frame(frames);
    return std::move(picture_);
  }

 private:
  // ---- Points

  static Point first(u32 at) { return {at, false}; }
  static Point behind(u32 at) { return {at, true}; }

  bool has_children(u32 at) const { return plan_.items[at].end > at + 1; }

  u32 last_child(u32 at) const {
    u32 last = at;
    plan_.each_child(at, [&](u32 child) { last = child; });
    return last;
  }

  void find_points(u32 at) {
    const PlanItem& item = plan_.items[at];
    enter_[at] = leave_[at] = first(at);
    switch (item.variant) {
      case Variant::Empty:
      case Variant::Execute:
      case Variant::Loop: break;
      case Variant::Sequence:
      case Variant::Composite:
      case Variant::Stream:
      case Variant::Remote:
        enter_[at] = enter_[at + 1];
        leave_[at] = leave_[last_child(at)];
        break;
      case Variant::Parallel:
      case Variant::Branch:
      case Variant::Dataflow: leave_[at] = behind(at); break;
      case Variant::Step:
        if (has_children(at)) leave_[at] = behind(at);
        break;
    }
  }

  std::string id(u32 node) const { return shown_id(plan_.nodes[node].id); }

  void draw_points(u32 at) {
    const PlanItem& item = plan_.items[at];
    switch (item.variant) {
      case Variant::Empty: point(Shape::Node, first(at), "empty"); break;
      case Variant::Execute: point(Shape::Node, first(at), id(item.node)); break;
      case Variant::Step: point(Shape::Step, first(at), id(item.node)); break;
      case Variant::Loop: point(Shape::Loop, first(at), id(item.node)); break;
      case Variant::Branch: point(Shape::Decision, first(at), id(item.node)); break;
      case Variant::Parallel:
      case Variant::Dataflow: point(Shape::Junction, first(at), ""); break;
      case Variant::Sequence:
      case Variant::Composite:
      case Variant::Stream:
      case Variant::Remote: break;
    }
    if (leave_[at] == behind(at)) point(Shape::Junction, behind(at), "");
  }

  void mark(Mark mark) { picture_.marks.push_back(std::move(mark)); }
  void point(Shape shape, Point point, std::string label) {
    mark({Mark::Kind::Point, shape, depth_, name_of(point), std::move(label)});
  }
  void close_frame(std::vector<u32>& frames) {
    frames.pop_back();
    mark({Mark::Kind::FrameEnd, Shape::Node, --depth_, "", ""});
  }

  // Of what has no frame: nothing.
  std::string frame_title(const PlanItem& item) const {
    switch (item.variant) {
      case Variant::Loop: return "loop, " + shown_loop(plan_, plan_.loops[item.detail]);
      case Variant::Remote: return "remote, " + shown_target(plan_.nodes[item.node].target());
      case Variant::Composite: return "composite";
      case Variant::Stream: return text("stream, chunk={}", item.detail);
      case Variant::Dataflow: return "dataflow";
      case Variant::Empty:
      case Variant::Execute:
      case Variant::Sequence:
      case Variant::Parallel:
      case Variant::Step:
      case Variant::Branch: break;
    }
    return "";
  }

  // ---- Arrows

  void arrow(Point from, Point to, std::string label = "", bool is_dotted = false) {
    picture_.arrows.push_back({from, to, std::move(label), is_dotted});
  }

  void draw_arrows(u32 at) {
    const PlanItem& item = plan_.items[at];
    switch (item.variant) {
      case Variant::Empty:
      case Variant::Execute:
      case Variant::Remote: break;
      case Variant::Sequence:
      case Variant::Composite:
      case Variant::Stream: lead_through(at); break;
      case Variant::Parallel:
        plan_.each_child(at, [&](u32 child) { lead_around(at, child, "", false); });
        break;
      case Variant::Branch: {
        size_t index = 0;
        plan_.each_child(at, [&](u32 child) {
          lead_around(at, child, plan_.branches[item.detail][index++].text(), false);
        });
        break;
      }
      case Variant::Step: {
        if (has_children(at)) arrow(first(at), behind(at));
        size_t index = 0;
        plan_.each_child(at, [&](u32 child) {
          lead_around(at, child, plan_.handoffs[item.detail][index++], true);
        });
        break;
      }
      case Variant::Loop:
        arrow(first(at), enter_[at + 1]);
        arrow(leave_[at + 1], first(at), "again");
        break;
      case Variant::Dataflow: lead_by_parts(at); break;
    }
  }

  void lead_through(u32 at) {
    u32 before = at;
    plan_.each_child(at, [&](u32 child) {
      if (before != at) arrow(leave_[before], enter_[child]);
      before = child;
    });
  }

  void lead_around(u32 at, u32 child, std::string_view label, bool is_dotted) {
    arrow(first(at), enter_[child], printable(label), is_dotted);
    arrow(leave_[child], behind(at));
  }

  void lead_by_parts(u32 at) {
    const std::vector<std::vector<u32>>& after = plan_.dataflows[plan_.items[at].detail];
    std::vector<u32> parts;
    plan_.each_child(at, [&](u32 child) { parts.push_back(child); });
    std::vector<bool> is_awaited(parts.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      if (after[i].empty()) arrow(first(at), enter_[parts[i]]);
      for (const u32 before : after[i]) {
        is_awaited[before] = true;
        arrow(leave_[parts[before]], enter_[parts[i]]);
      }
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!is_awaited[i]) arrow(leave_[parts[i]], behind(at));
    }
  }

  const Plan& plan_;
  std::vector<Point> enter_, leave_;  // by item
  u32 depth_ = 0;                     // open frames
  Picture picture_;
};

// ---- Languages

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         static_cast<u8>(c) >= 0x80;
}

// Other characters than words and these stand as their numbers: quotes end a label, and most others
// mean something somewhere in some version.
std::string mermaid_label(std::string_view label) {
  std::string out = "\"";
  for (const char c : label) {
    const bool is_plain =
        is_word(c) || std::string_view(" _-./,=:()[]").find(c) != std::string::npos;
    out += is_plain ? std::string(1, c) : text("#{};", static_cast<u32>(static_cast<u8>(c)));
  }
  return out + "\"";
}

// DOT reads backslashes and entities of HTML in labels.
std::string dot_label(std::string_view label) {
  std::string out = "\"";
  for (const char c : label) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '&' ? std::string("&amp;") : std::string(1, c);
  }
  return out + "\"";
}

}  // namespace

std::string Plan::mermaid() const {
  const Picture picture = Artist(*this).draw();
  constexpr std::array<std::array<std::string_view, 2>, 5> brackets = {
      {{"[", "]"}, {"[[", "]]"}, {"{", "}"}, {"([", "])"}, {"((", "))"}}};
  std::string out = "flowchart TD\n";
  for (const Mark& mark : picture.marks) {
    out += indentation(mark.depth + 1);
    const auto& [before, after] = brackets[static_cast<size_t>(mark.shape)];
    switch (mark.kind) {
      case Mark::Kind::Point:
        out += text("{}{}{}{}\n", mark.name, before,
                    mermaid_label(mark.shape == Shape::Junction ? " " : mark.label), after);
        break;
      case Mark::Kind::FrameBegin:
        out += text("subgraph {}[{}]\n", mark.name, mermaid_label(mark.label));
        break;
      case Mark::Kind::FrameEnd: out += "end\n"; break;
    }
  }
  for (const Arrow& arrow : picture.arrows) {
    const std::string label =
        arrow.label.empty() ? "" : text("|{}|", mermaid_label(arrow.label));
    out += text("  {} {}{} {}\n", name_of(arrow.from), arrow.is_dotted ? "-.->" : "-->", label,
                name_of(arrow.to));
  }
  return out;
}

std::string Plan::dot() const {
  const Picture picture = Artist(*this).draw();
  constexpr std::array<std::string_view, 5> shapes = {
      "box", "component", "diamond", "box, style=rounded", "point"};
  std::string out = "digraph plan {\n  rankdir=TB;\n";
  for (const Mark& mark : picture.marks) {
    out += indentation(mark.depth + 1);
    switch (mark.kind) {
      case Mark::Kind::Point:
        out += text("{} [shape={}, label={}];\n", mark.name,
                    shapes[static_cast<size_t>(mark.shape)], dot_label(mark.label));
        break;
      case Mark::Kind::FrameBegin:
        out += text("subgraph cluster_{} {{ label={};\n", mark.name, dot_label(mark.label));
        break;
      case Mark::Kind::FrameEnd: out += "}\n"; break;
    }
  }
  for (const Arrow& arrow : picture.arrows) {
    std::string settings;
    if (arrow.is_dotted) settings = "style=dotted";
    if (!arrow.label.empty()) {
      settings += text("{}label={}", settings.empty() ? "" : ", ", dot_label(arrow.label));
    }
    out += text("  {} -> {}{};\n", name_of(arrow.from), name_of(arrow.to),
                settings.empty() ? "" : text(" [{}]", settings));
  }
  return out + "}\n";
}

}  // namespace soma
