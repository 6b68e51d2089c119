// Chooses which matches become groups: greedily, by the time they save.
//
// Problem: matches overlap, and two that don't can still interlock (each needs a value of the
// other, so neither could run first).
// Idea: all matches of all usable rules, the most saving first. A match saves what the fallbacks of
// its nodes would cost more: launches, and the bytes of values that no longer go to memory and
// back. Ties go by the rule's priority, then to the lowest node, so the outcome is one for all
// machines. A match whose nodes are partly gone is looked for again among the free ones. A match
// that would close a circle with the groups chosen before is given up, and its nodes are left to
// smaller matches: interlocks are repaired by never being made.
// Right: contracting the chosen groups leaves the dependencies without a circle after every step,
// a group of one node can't close one, and the fallbacks are groups of one node; so every op that
// has a fallback is covered, and the groups can be put in order. It ends because a match comes back
// only after others have taken nodes. Greedy is not optimal in general; it is where, as with our
// rules, the larger of two overlapping matches saves more than what it blocks.
// Cost: for each match of several nodes, one walk over the circuit around it.
#include "circuit/fusion/select.hpp"

#include <algorithm>
#include <queue>

namespace soma {

namespace {

// The groups chosen so far, as a contraction of the circuit.
//
// Dependencies lead forward in the circuit's order, and only a group leads back, from its last
// member to its first. So no path comes back over a boundary between two neighbouring nodes that no
// group crosses, and a search may end at the first such boundary behind its target.
class Contraction {
 public:
  explicit Contraction(const Dependencies& dependencies)
      : after_(dependencies.after), group_of_(after_.size(), alone), crossed_(after_.size()) {}

  // Whether from `nodes`, as one group, a path leads out and back in.
  bool would_close_circle(const std::vector<NodeId>& nodes) const {
    if (nodes.size() == 1) return false;
    NodeId end = *std::max_element(nodes.begin(), nodes.end());
    while (crossed_[end]) ++end;
    std::vector<bool> inside(after_.size()), seen(after_.size());
    for (const NodeId node : nodes) inside[node] = true;
    std::vector<NodeId> open;
    for (const NodeId node : nodes) {
      for (const NodeId next : after_[node]) {
        if (!inside[next]) open.push_back(next);
      }
    }
    while (!open.empty()) {
      const NodeId node = open.back();
      open.pop_back();
      if (inside[node]) return true;
      if (seen[node] || node > end) continue;
      seen[node] = true;
      if (group_of_[node] == alone) {
        open.insert(open.end(), after_[node].begin(), after_[node].end());
        continue;
      }
      for (const NodeId member : groups_[group_of_[node]]) {
        seen[member] = true;
        open.insert(open.end(), after_[member].begin(), after_[member].end());
      }
    }
    return false;
  }

  void contract(const std::vector<NodeId>& nodes) {
    for (const NodeId node : nodes) group_of_[node] = groups_.size();
    const auto [first, last] = std::minmax_element(nodes.begin(), nodes.end());
    for (NodeId node = *first; node < *last; ++node) crossed_[node] = true;
    groups_.push_back(nodes);
  }

 private:
  static constexpr size_t alone = ~size_t{0};
  const std::vector<std::vector<NodeId>>& after_;
  std::vector<size_t> group_of_;  // by node
  std::vector<bool> crossed_;     // by node: a group reaches over the boundary behind it
  std::vector<std::vector<NodeId>> groups_;
};

double saved_ns(const Circuit& circuit, const Rule& rule, const std::vector<NodeId>& nodes,
                const KernelCatalogue& catalogue, u64 rows) {
  double bytes = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (rule.pattern.elements[i].stored) continue;
    const Edge& edge = circuit.edges[circuit.nodes[nodes[i]].outputs[0]];
    bytes += static_cast<double>(row_bytes(edge.format, edge.width).value_or(0)) *
             static_cast<double>(rows);
  }
  const double launches =
      static_cast<double>(nodes.size()) - static_cast<double>(rule.kernels.size());
  return launches * catalogue.launch_ns + bytes / catalogue.bytes_per_ns;
}

NodeId lowest(const Candidate& candidate) {
  return *std::min_element(candidate.nodes.begin(), candidate.nodes.end());
}

// Whether `a` is chosen after `b`.
struct ChosenLater {
  bool operator()(const Candidate& a, const Candidate& b) const {
    if (a.saved_ns != b.saved_ns) return a.saved_ns < b.saved_ns;
    if (a.rule->priority != b.rule->priority) return a.rule->priority < b.rule->priority;
    if (lowest(a) != lowest(b)) return lowest(a) > lowest(b);
    if (a.rule != b.rule) return a.rule > b.rule;  // rules of one file, in its order
    return a.nodes > b.nodes;
  }
};

class Selector {
 public:
  Selector(const Circuit& circuit, const Dependencies& dependencies,
           const KernelCatalogue& catalogue, const PlanRequest& request)
      : circuit_(circuit),
        dependencies_(dependencies),
        catalogue_(catalogue),
        request_(request),
        contraction_(dependencies),
        taken_(circuit.nodes.size()),
        taken_by_(circuit.nodes.size()) {}

  void offer(const Rule& rule, NodeId anchor) {
    std::optional<std::vector<NodeId>> nodes = match(circuit_, dependencies_, rule, anchor, taken_);
    if (!nodes) return;
    const double saved = saved_ns(circuit_, rule, *nodes, catalogue_, request_.rows_max);
    open_.push({&rule, std::move(*nodes), saved});
  }

  Selection run() && {
    while (!open_.empty()) {
      Candidate candidate = open_.top();
      open_.pop();
      consider(std::move(candidate));
    }
    for (NodeId node = 0; node < taken_.size(); ++node) {
      if (!taken_[node]) selection_.uncovered.push_back(node);
    }
    return std::move(selection_);
  }

 private:
  void consider(Candidate candidate) {
    for (const NodeId node : candidate.nodes) {
      if (!taken_[node]) continue;
      const NodeId anchor = candidate.nodes.front();
      const Rule& rule = *candidate.rule;
      lose(std::move(candidate),
           text("rule '{}' took '{}' before", taken_by_[node]->id, circuit_.nodes[node].id));
      if (!taken_[anchor]) offer(rule, anchor);
      return;
    }
    if (contraction_.would_close_circle(candidate.nodes)) {
      lose(std::move(candidate), "a node outside the group must run between its members");
      return;
    }
    contraction_.contract(candidate.nodes);
    for (const NodeId node : candidate.nodes) {
      taken_[node] = true;
      taken_by_[node] = candidate.rule;
    }
    selection_.chosen.push_back(std::move(candidate));
  }

  void lose(Candidate candidate, std::string why) {
    Selection::Lost& lost = selection_.lost.emplace_back();
    lost.candidate = std::move(candidate);
    lost.why = std::move(why);
  }

  const Circuit& circuit_;
  const Dependencies& dependencies_;
  const KernelCatalogue& catalogue_;
  const PlanRequest& request_;
  Contraction contraction_;
  std::vector<bool> taken_;
  std::vector<const Rule*> taken_by_;
  std::priority_queue<Candidate, std::vector<Candidate>, ChosenLater> open_;
  Selection selection_;
};

}  // namespace

std::optional<std::string> why_excluded(const Rule& rule, const KernelCatalogue& catalogue,
                                        const PlanRequest& request) {
  if ((rule.modes >> static_cast<u32>(request.mode) & 1) == 0) {
    return text("it does not serve mode {}", mode_name(request.mode));
  }
  if (request.rows_max < rule.rows_low || request.rows_max > rule.rows_high) {
    return text("it serves {}..{} rows, not {}", rule.rows_low, rule.rows_high, request.rows_max);
  }
  if (rule.policy && *rule.policy != request.policy) {
    return text("it is for the policy {}", policy_name(*rule.policy));
  }
  if (rule.numerics == Numerics::Differs) {
    return text("its numbers differ, and lever '{}' was not asked for", rule.lever);
  }
  for (const std::string& kernel : rule.kernels) {
    if (std::find(catalogue.kernels.begin(), catalogue.kernels.end(), kernel) ==
        catalogue.kernels.end()) {
      return text("the backend has no kernel '{}'", kernel);
    }
  }
  return std::nullopt;
}

Selection select(const Circuit& circuit, const Dependencies& dependencies,
                 const FusionRules::Table& rules, const KernelCatalogue& catalogue,
                 const PlanRequest& request) {
  Selector selector(circuit, dependencies, catalogue, request);
  for (const Rule& rule : rules.rules) {
    if (why_excluded(rule, catalogue, request)) continue;
    for (NodeId anchor = 0; anchor < circuit.nodes.size(); ++anchor) {
      selector.offer(rule, anchor);
    }
  }
  return std::move(selector).run();
}

}  // namespace soma
