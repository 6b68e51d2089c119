// Fuses neighbours that are differentiable, so that values pass between them as they are.
//
// Problem: a host's autograd follows its own handles from one call to the next; a value that was
// copied, cached or sent between two of them ends the trail. Idea: in a Sequence, each maximal run
// of two or more differentiable nodes becomes one Composite, within which nothing happens to
// values. A node with arms is none of them, as its value decides before anybody reads it; nor is
// one that waits for another branch, and a run does not cross from one target or device to another.
// Must come before distribute, so that remote chains fuse too. Cost: linear.
#include "compiler/passes.hpp"
#include "compiler/rewrite.hpp"

namespace soma {

namespace {

class Fuser {
 public:
  explicit Fuser(const Plan& plan) : plan_(plan) {}

  std::vector<PlanItem> fuse() const {
    return rewrite(plan_.items, [this](ItemWriter& writer, u32 at, u32 limit) {
      const u32 end = end_of_run(at, limit);
      if (end <= at + 1) return at;
      writer.open(Variant::Composite);
      writer.copy(plan_.items, at, end);
      writer.close();
      return end;
    });
  }

 private:
  // Behind the last of the items from `at` on that belong together.
  u32 end_of_run(u32 at, u32 end) const {
    const u32 first = at;
    while (at < end && is_fusible(at, end) && is_with(first, at)) ++at;
    return at;
  }

  bool is_fusible(u32 at, u32 end) const {
    const PlanItem& item = plan_.items[at];
    if (item.variant != Variant::Execute) return false;
    const PlanNode& node = plan_.nodes[item.node];
    if (!node.differentiable || node.waits) return false;
    const bool decides = at + 1 < end && plan_.items[at + 1].variant == Variant::Branch;
    return !decides;
  }
  bool is_with(u32 first, u32 at) const {
    const PlanNode& a = plan_.nodes[plan_.items[first].node];
    const PlanNode& b = plan_.nodes[plan_.items[at].node];
    return a.target() == b.target() && a.device() == b.device();
  }

  const Plan& plan_;
};

}  // namespace

void fuse_differentiable(Plan& plan) {
  bool has_any = false;
  for (const PlanNode& node : plan.nodes) has_any = has_any || node.differentiable;
  if (has_any) plan.items = Fuser(plan).fuse();
}

}  // namespace soma
