// Shows a plan as a tree: two spaces a level, one item a line.
//
// An arm or a hand-off has a line of its own, and its item is one level deeper.
#include "plan/label.hpp"

namespace soma {

namespace {

class Display {
 public:
  explicit Display(const Plan& plan) : plan_(plan) {}

  std::string print() && {
    for (u32 at = 0; at < plan_.items.size();) {
      while (!open_.empty() && plan_.items[open_.back().item].end == at) open_.pop_back();
      const u32 level = level_of_next();
      const PlanItem& item = plan_.items[at];
      line(level, label(at));
      const bool is_in_its_line =
          item.variant == Variant::Composite || item.variant == Variant::Stream;
      if (is_in_its_line) {
        at = item.end;
        continue;
      }
      open_.push_back({at, level});
      ++at;
    }
    return std::move(out_);
  }

 private:
  struct Open {
    u32 item = 0;
    u32 level = 0;
    u32 children = 0;             // so far
  };

  void line(u32 level, std::string_view text) {
    out_ += indentation(level);
    if (level > indented_levels_max) out_ += soma::text("(level {}) ", level);
    out_ += text;
    out_ += '\n';
  }

  // The level of the next item, after the line of its arm or hand-off if there is one.
  u32 level_of_next() {
    if (open_.empty()) return 0;
    Open& around = open_.back();
    const PlanItem& item = plan_.items[around.item];
    const u32 index = around.children++;
    if (item.variant == Variant::Branch) {
      line(around.level + 1,
           text("[{}]:", printable(plan_.branches[item.detail][index].text())));
    } else if (item.variant == Variant::Step) {
      line(around.level + 1, text("~> {}:", shown_id(plan_.handoffs[item.detail][index])));
    } else {
      return around.level + 1;
    }
    return around.level + 2;
  }

  std::string label(u32 at) const {
    const PlanItem& item = plan_.items[at];
    switch (item.variant) {
      case Variant::Empty: return "Empty";
      case Variant::Execute: return text("Execute({})", id(item.node));
      case Variant::Sequence: return "Sequence:";
      case Variant::Parallel: return "Parallel:";
      case Variant::Step: return text("Step({}){}", id(item.node), item.end > at + 1 ? ":" : "");
      case Variant::Loop:
        return text("Loop({}, {}):", id(item.node), shown_loop(plan_, plan_.loops[item.detail]));
      case Variant::Branch: return text("Branch({}):", id(item.node));
      case Variant::Remote:
        return text("Remote({}, {}):", id(item.node),
                    shown_target(plan_.nodes[item.node].target()));
      case Variant::Composite: return text("Composite({})", chain(at));
      case Variant::Stream: return text("Stream({}, chunk={})", chain(at), item.detail);
      case Variant::Dataflow: return "Dataflow:";
    }
    return "";
  }

  std::string id(u32 node) const { return shown_id(plan_.nodes[node].id); }

  std::string chain(u32 at) const {
    std::string out;
    plan_.each_child(at, [&](u32 child) {
      out.append(out.empty() ? "" : ", ").append(id(plan_.items[child].node));
    });
    return out;
  }

  const Plan& plan_;
  std::vector<Open> open_;
  std::string out_;
};

}  // namespace

std::string Plan::display() const { return Display(*this).print(); }

}  // namespace soma
