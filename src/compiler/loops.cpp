// Settles for each loop whose value says stop and whose value the next pass reads.
//
// Problem: "until the body's last node says so" is a rule about a graph, and a plan that held it
// would have to be understood by looking at the graph again. Idea: resolve it here, once. The
// terminals of a body are the nodes in it that nothing follows; a loop within stands for its body,
// the ends of arms count one by one (graph/regions.cpp). The carry is the single terminal, whatever
// the stop rule, unless the user names a node. Both have to be nodes that the outside of inner
// loops can see: what lies in an inner body has a value of its last pass only. Must come after
// regions. Cost: linear, and a table of ids if any loop names a node.
#include <unordered_map>

#include "base/text.hpp"
#include "compiler/passes.hpp"
#include "graph/id_index.hpp"

namespace soma {

namespace {

class Resolver {
 public:
  Resolver(const Draft& draft, const Regions& regions, Diagnostics& diagnostics)
      : draft_(draft), regions_(regions), diagnostics_(diagnostics) {}

  std::vector<PlanLoop> resolve() && {
    find_bodies();
    std::vector<PlanLoop> loops(draft_.nodes.size());
    for (u32 node = 0; node < draft_.nodes.size(); ++node) {
      if (draft_.nodes[node].spec->kind == NodeKind::Loop) resolve_one(node, loops[node]);
    }
    return loops;
  }

 private:
  void find_bodies() {
    for (u32 i = 1; i < regions_.regions.size(); ++i) {
      if (regions_.regions[i].body == i) body_of_.emplace(regions_.regions[i].construct, i);
    }
    if (body_of_.empty()) return;
    for (u32 node = 0; node < draft_.nodes.size(); ++node) {
      const u32 body = regions_.regions[regions_.of[node]].body;
      if (body != Regions::outermost && !draft_.is_followed(node)) ends_[body].push_back(node);
    }
  }

  std::string name(u32 node) const { return quoted(draft_.nodes[node].id()); }

  void resolve_one(u32 node, PlanLoop& loop) {
    const GraphNode& spec = *draft_.nodes[node].spec;
    if (spec.max_iterations() && *spec.max_iterations() > 0) {
      loop.max_iterations = static_cast<u64>(*spec.max_iterations());
    }
    const auto body = body_of_.find(node);
    if (body == body_of_.end()) {
      diagnostics_
          .error(Reason::loop_empty_body, text("loop {} has no body", name(node)))
          .node(draft_.nodes[node].id())
          .advise("lead a control edge from it to the node with which its body starts");
      return;
    }
    const std::vector<u32>& ends = ends_[body->second];
    switch (spec.until().kind) {
      case StopRule::Kind::Exhaust: break;
      case StopRule::Kind::BodyTerminal:
        // A body without any end leaks, and the pass before has said where.
        if (ends.size() == 1) loop.signal = ends[0];
        if (ends.size() > 1) complain_terminals(node, ends);
        break;
      case StopRule::Kind::WhenSignaled:
        loop.signal = find(node, body->second, spec.until().node, Reason::loop_unknown_signal,
                           "waits for the signal of");
        break;
    }
    if (spec.carry_from()) {
      loop.carry = find(node, body->second, *spec.carry_from(), Reason::loop_unknown_carry,
                        "carries the value of");
    } else if (ends.size() == 1) {
      loop.carry = ends[0];
    } else if (ends.size() > 1 && spec.until().kind == StopRule::Kind::Exhaust) {
      warn_of_lost_values(node, ends);
    }
  }

  // With a signal it yields that one's value. Effects may be all that is wanted.
  void warn_of_lost_values(u32 node, const std::vector<u32>& ends) {
    Diagnostic& problem = diagnostics_.warning(
        Reason::loop_terminals,
        text("the body of loop {} ends in {} nodes, {}, and none is named as its carry: each pass "
             "reads the loop's input again, and the loop yields null",
             name(node), ends.size(), list(ends)));
    point_at(problem, node, ends);
    problem.advise(R"(name the node whose value the next pass reads: "carry_from":"ID")");
  }

  void complain_terminals(u32 node, const std::vector<u32>& ends) {
    Diagnostic& problem = diagnostics_.error(
        Reason::loop_terminals,
        text("the body of loop {} ends in {} nodes, {}, so it is open whose value says stop",
             name(node), ends.size(), list(ends)));
    point_at(problem, node, ends);
    problem.advise(R"(name the node: "until":{"when_signaled":"ID"}; or run all passes: )"
                   R"("until":"exhaust" with "max_iterations")");
  }

  void point_at(Diagnostic& problem, u32 node, const std::vector<u32>& ends) const {
    problem.node(draft_.nodes[node].id());
    for (const u32 end : ends) problem.node(draft_.nodes[end].id());
  }

  // A node that the loop names, as its graph does: within the loop's own subgraph.
  u32 find(u32 loop, u32 body, const std::string& named, Reason reason, std::string_view what) {
    if (!index_) {
      index_.emplace(draft_.nodes.size());
      for (const DraftNode& node : draft_.nodes) index_->add(node.id());
    }
    const std::string id = std::string(draft_.graphs[draft_.nodes[loop].graph].inside) + named;
    const u32 at = index_->find(id);
    const bool is_inside = at != IdIndex::none && regions_.lies_in(regions_.of[at], body);
    if (is_inside && regions_.regions[regions_.of[at]].body == body) return at;
    Diagnostic& problem = diagnostics_.error(
        reason, text("loop {} {} {}, {}", name(loop), what, quoted(named),
                     at == IdIndex::none ? "and the graph has no such node"
                     : is_inside         ? "which lies in the body of a loop within its body"
                                         : "which is not in its body"));
    problem.node(draft_.nodes[loop].id());
    if (at != IdIndex::none) problem.node(draft_.nodes[at].id());
    problem.advise(text("its body holds {}", list(members(body))));
    return no_node;
  }

  std::vector<u32> members(u32 body) const {
    std::vector<u32> out;
    for (u32 node = 0; node < draft_.nodes.size() && out.size() <= shown_max; ++node) {
      const u32 region = regions_.of[node];
      if (regions_.regions[region].body == body) out.push_back(node);
    }
    return out;
  }

  std::string list(const std::vector<u32>& nodes) const {
    std::string out;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (i > 0) out += ", ";
      if (i == shown_max) return out + "…";
      out += name(nodes[i]);
    }
    return out;
  }

  static constexpr size_t shown_max = 16;

  const Draft& draft_;
  const Regions& regions_;
  Diagnostics& diagnostics_;
  std::unordered_map<u32, u32> body_of_;            // by loop
  std::unordered_map<u32, std::vector<u32>> ends_;  // by body
  std::optional<IdIndex> index_;  // of all ids, once a loop names one
};

}  // namespace

std::vector<PlanLoop> resolve_loops(const Draft& draft, const Regions& regions,
                                    Diagnostics& diagnostics) {
  if (!draft.traits.has_loops) return {};
  return Resolver(draft, regions, diagnostics).resolve();
}

}  // namespace soma
