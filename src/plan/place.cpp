// Finds where the items of a plan lie.
#include "plan/place.hpp"

#include "plan/label.hpp"

namespace soma {

namespace {

// Do what lies in it and what lies beside it differ in more than order?
bool is_construct(Variant variant) {
  switch (variant) {
    case Variant::Step:
    case Variant::Loop:
    case Variant::Branch:
    case Variant::Remote:
    case Variant::Composite:
    case Variant::Stream: return true;
    case Variant::Empty:
    case Variant::Execute:
    case Variant::Sequence:
    case Variant::Parallel:
    case Variant::Dataflow: break;
  }
  return false;
}

}  // namespace

PlanLayout::PlanLayout(const Plan& a_plan, Contexts& contexts)
    : plan(a_plan),
      outer(plan.items.size(), no_item),
      index(plan.items.size(), 0),
      depth(plan.items.size(), 0),
      context(plan.items.size(), 0),
      nodes_before(plan.items.size(), 0),
      item_of(plan.nodes.size(), 0) {
  u32 nodes = 0;
  for (u32 at = 0; at < plan.items.size(); ++at) {
    const PlanItem& item = plan.items[at];
    nodes_before[at] = nodes;
    if (places_node(item.variant)) item_of[nodes++] = at;
    u32 children = 0;
    plan.each_child(at, [&](u32 child) {
      outer[child] = at;
      index[child] = children++;
      depth[child] = depth[at] + 1;
      context[child] = context[at];
      if (is_construct(item.variant)) {
        context[child] = contexts.within(context[at], step(child));
      }
    });
  }
}

std::string PlanLayout::step(u32 child) const {
  const PlanItem& around = plan.items[outer[child]];
  const std::string_view name = variant_name(around.variant);
  const auto id = [&] { return shown_id(plan.nodes[around.node].id); };
  switch (around.variant) {
    case Variant::Step:
      return text("{}({})[{}]", name, id(),
                  shown_id(plan.handoffs[around.detail][index[child]]));
    case Variant::Branch:
      return text("{}({})[{}]", name, id(),
                  printable(plan.branches[around.detail][index[child]].text()));
    case Variant::Loop: return text("{}({})", name, id());
    case Variant::Remote:
      return text("{}({})", name, shown_target(plan.nodes[around.node].target()));
    case Variant::Composite:
    case Variant::Stream: return std::string(name);
    case Variant::Empty:
    case Variant::Execute:
    case Variant::Sequence:
    case Variant::Parallel:
    case Variant::Dataflow: break;
  }
  return text("{}[{}]", name, index[child]);
}

std::string PlanLayout::place(u32 node) const {
  constexpr u32 steps_max = 8;
  std::string out;
  u32 steps = 0;
  u32 at = item_of[node];
  for (; outer[at] != no_item && steps < steps_max; at = outer[at], ++steps) {
    out.insert(0, out.empty() ? step(at) : step(at) + " > ");
  }
  if (outer[at] != no_item) out.insert(0, "… > ");
  return out.empty() ? "plan" : out;
}

}  // namespace soma
