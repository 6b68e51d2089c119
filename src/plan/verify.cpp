// Proves that a plan is one: a tree over its table of nodes, in which nothing is read before it is
// there.
//
// Problem: a run indexes items, nodes and details by what the plan says, and asks no question while
// it runs. Plans come from files, so all of that is proven here, once.
// Idea: first that the items nest, for nothing else can be asked of them before. Then what each
// record says by itself, what each item says of the items around and in it, and who reads whom:
// each looks at all there is, whatever the others found, so that one call tells everything.
// Cost: linear, but for a bisection by each source (verify_reads.cpp).
#include "plan/verify.hpp"

#include <algorithm>

#include "base/plain.hpp"
#include "base/text.hpp"
#include "value/repeats.hpp"

namespace soma {

void PlanCheck::complain(std::string_view what) {
  problems.add(fail(Reason::document_type, "{}", what));
}

void PlanCheck::complain_at(u32 item, std::string_view what) {
  const PlanItem& at = plan.items[item];
  const bool has_id = at.node < plan.nodes.size();
  problems.add(fail(Reason::document_type, "item {}, {}{}{}: {}", item, variant_name(at.variant),
                    has_id ? " " : "", has_id ? quoted(plan.nodes[at.node].id) : "", what)
                   .with("item", item));
}

void PlanCheck::complain_of(u32 node, std::string_view what) {
  const std::string_view id = plan.nodes[node].id;
  problems.add(fail(Reason::document_type, "node {}: {}", quoted(id), what).with("node", id));
}

bool check_nesting(PlanCheck& check) {
  const std::vector<PlanItem>& items = check.plan.items;
  if (items.empty()) check.complain("a plan has at least one item, which may be an empty one");
  if (items.size() >= no_item || check.plan.nodes.size() >= no_node) {
    check.complain(text("{} items and {} nodes are more than a plan can number", items.size(),
                        check.plan.nodes.size()));
    return false;
  }
  std::vector<u32> ends;          // of the items around
  for (u32 i = 0; i < items.size() && check.problems.none(); ++i) {
    while (!ends.empty() && ends.back() == i) ends.pop_back();
    const u32 low = i > 0 ? i + 1 : static_cast<u32>(items.size());
    const u32 high = i > 0 ? ends.back() : low;
    const u32 end = items[i].end;
    if (items[i].variant > Variant::Dataflow) {
      check.complain(text("item {} is of variant {}, and there is none of that number", i,
                          static_cast<u32>(items[i].variant)));
    } else if (end < low || end > high) {
      check.complain(text("item {} ends before item {}; from {} to {} is possible", i, end, low,
                          high));
    }
    ends.push_back(end);
  }
  return check.problems.none();
}

namespace {

// Is there a text for it in documents, and no other text that looks the same there?
bool is_id(std::string_view id) {
  if (is_plain(id)) return !id.empty();
  return id.find('\0') == id.npos && find_invalid_utf8(id) == id.npos;
}

bool is_digest(std::string_view digest) {
  return digest.size() == 64 &&
         digest.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void check_nodes(PlanCheck& check) {
  const std::vector<PlanNode>& nodes = check.plan.nodes;
  const std::vector<u32> repeats = find_repeats(
      static_cast<u32>(nodes.size()), [&](u32 i) -> const Name& { return nodes[i].id; });
  auto repeat = repeats.begin();
  for (u32 i = 0; i < nodes.size(); ++i) {
    const PlanNode& node = nodes[i];
    const bool is_repeat = repeat != repeats.end() && *repeat == i;
    if (is_repeat) ++repeat;
    if (!is_id(node.id)) {
      check.complain_of(i, "an id is some UTF-8 text without the character NUL");
    } else if (is_repeat) {
      check.complain_of(i, "another node has the same id");
    }
    if (node.settings.is_usual()) continue;
    if (node.max_iterations() || node.carry_from() || node.until() != StopRule{}) {
      check.complain_of(i, "a loop's bound, stop rule and carry do not lie in its node's record");
    }
  }
}

// The table begins with the first node's sources, then come the second's, and so on.
void check_sources(PlanCheck& check) {
  const Plan& plan = check.plan;
  u32 next = 0;
  for (u32 i = 0; i < plan.nodes.size(); ++i) {
    const u32 begin = plan.nodes[i].sources_begin, end = plan.nodes[i].sources_end;
    if (begin != next || end < begin || end > plan.sources.size()) {
      check.complain_of(i, text("its sources are rows {} to {} of {}; they begin at {}", begin,
                                end, plan.sources.size(), next));
      return;                     // of what follows, nothing is sure
    }
    next = end;
  }
  if (next != plan.sources.size()) {
    check.complain(text("{} of {} sources belong to no node", plan.sources.size() - next,
                        plan.sources.size()));
  }
}

}  // namespace

void check_records(PlanCheck& check) {
  const Plan& plan = check.plan;
  if (plan.mode > PlanMode::NoCache) {
    check.complain(text("mode {} is none", static_cast<u32>(plan.mode)));
  }
  if (!plan.origin.given().empty() && !is_digest(plan.origin.given())) {
    check.complain(text("{} is no digest of a graph, which is 64 hexadecimal digits in lower case",
                        quoted(plan.origin.given())));
  }
  check_nodes(check);
  check_sources(check);
  for (size_t i = 0; i < std::max<size_t>(plan.names.size(), 1); ++i) {
    if (i < plan.names.size() && plan.names[i].empty() == (i == 0)) continue;
    check.complain(text("name {} of the table of ports: the first is empty, all others are not",
                        i));
  }
}

Status Plan::verify() const {
  PlanCheck check = {*this, {}};
  if (check_nesting(check)) {
    check_records(check);
    check_tree(check);
    check_reads(check);
  }
  return std::move(check.problems).status();
}

}  // namespace soma
