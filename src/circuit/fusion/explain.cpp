// Tells for one node what became of every rule that could have taken it.
//
// It runs the selection that fuse() runs, which keeps what it gave up, and asks the matcher about
// rules that never matched around the node: the attempt that came furthest with the node in it says
// why. Nothing is decided here, so the explanation can't differ from the plan.
#include <algorithm>

#include "base/columns.hpp"
#include "base/text.hpp"
#include "circuit/fusion/member_names.hpp"
#include "circuit/fusion/select.hpp"

namespace soma {

namespace {

bool could_take(const Rule& rule, const Node& node) {
  for (const Element& element : rule.pattern.elements) {
    const bool role_fits =
        element.roles.empty() ||
        std::find(element.roles.begin(), element.roles.end(), node.role) != element.roles.end();
    if (element.op == node.op && role_fits) return true;
  }
  return false;
}

class Explanation {
 public:
  Explanation(const Circuit& circuit, const Dependencies& dependencies, const Selection& selection,
              NodeId node)
      : circuit_(circuit), dependencies_(dependencies), selection_(selection), node_(node) {}

  void add_excluded(const Rule& rule, const std::string& why) { row("not used", rule, why); }

  void add(const Rule& rule) {
    bool matched = false;
    for (const Candidate& candidate : selection_.chosen) {
      if (candidate.rule != &rule || !holds_node(candidate.nodes)) continue;
      matched = true;
      row("won", rule,
          text("saves {:.0f} ns as {}", candidate.saved_ns,
               member_names(circuit_, candidate.nodes)));
    }
    for (const Selection::Lost& lost : selection_.lost) {
      if (lost.candidate.rule != &rule || !holds_node(lost.candidate.nodes)) continue;
      matched = true;
      row("lost", rule,
          text("would save {:.0f} ns as {}; {}", lost.candidate.saved_ns,
               member_names(circuit_, lost.candidate.nodes), lost.why));
    }
    if (!matched) row("no match", rule, why_no_match(rule));
  }

  std::string str() const { return columns_.str(); }

 private:
  // The attempt that came furthest with the node among those bound, or that stopped at its reading.
  std::string why_no_match(const Rule& rule) const {
    const std::vector<bool> taken(circuit_.nodes.size());
    Miss best;
    for (NodeId anchor = 0; anchor < circuit_.nodes.size(); ++anchor) {
      Miss miss;
      match(circuit_, dependencies_, rule, anchor, taken, &miss);
      if (holds_node(miss.nodes) && miss.nodes.size() > best.nodes.size()) best = std::move(miss);
    }
    if (best.nodes.empty()) return "no attempt comes as far as this node";
    return text("{} of {} lines fit ({}); {}", best.nodes.size(), rule.pattern.elements.size(),
                member_names(circuit_, best.nodes), best.why);
  }

  bool holds_node(const std::vector<NodeId>& nodes) const {
    return std::find(nodes.begin(), nodes.end(), node_) != nodes.end();
  }

  void row(std::string outcome, const Rule& rule, std::string why) {
    columns_.row({"", std::move(outcome), rule.id, std::move(why)});
  }

  const Circuit& circuit_;
  const Dependencies& dependencies_;
  const Selection& selection_;
  const NodeId node_;
  Columns columns_{"llll"};
};

}  // namespace

Result<std::string> explain_node(const Circuit& circuit, const FusionRules& rules,
                                 const KernelCatalogue& catalogue, const PlanRequest& request,
                                 std::string_view id) {
  SOMA_TRY(circuit.validate());
  const auto has_id = [id](const Node& node) { return node.id == id; };
  const auto found = std::find_if(circuit.nodes.begin(), circuit.nodes.end(), has_id);
  if (found == circuit.nodes.end()) {
    return fail(Reason::circuit_node, "the circuit has no node {}; its dump lists all", quoted(id));
  }
  const Dependencies dependencies = find_dependencies(circuit);
  const Selection selection = select(circuit, dependencies, rules.table(), catalogue, request);
  Explanation explanation(circuit, dependencies, selection,
                          static_cast<NodeId>(found - circuit.nodes.begin()));
  for (const Rule& rule : rules.table().rules) {
    if (!could_take(rule, *found)) continue;
    if (const std::optional<std::string> why = why_excluded(rule, catalogue, request)) {
      explanation.add_excluded(rule, *why);
    } else {
      explanation.add(rule);
    }
  }
  return text("node {} ({}) in {}, up to {} rows, policy {}\n{}", found->id, canonical_name(*found),
              mode_name(request.mode), request.rows_max, policy_name(request.policy),
              explanation.str());
}

}  // namespace soma
