// Checks what each node says of itself, and what its edges make of it.
//
// Problem: a graph built by code has passed no reader, and what a key means together with others no
// reader checks. Idea: one walk over the nodes, a row of checks for each; nothing here depends on
// an order, so it can all be said even of a graph that has none. Draft::of has checked ids and
// ends. Cost: linear, and parsing of what is written as text.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/text.hpp"
#include "compiler/passes.hpp"
#include "compiler/ports.hpp"
#include "value/value_json.hpp"

namespace soma {

namespace {

// "cpu", "meta" or "cuda:N".
bool is_device(std::string_view device) {
  if (device == "cpu" || device == "meta") return true;
  constexpr std::string_view cuda = "cuda:";
  if (!device.starts_with(cuda)) return false;
  const std::string_view number = device.substr(cuda.size());
  const bool is_plain = number == "0" || (!number.empty() && number[0] != '0');
  return is_plain && number.size() <= 4 && number.find_first_not_of("0123456789") == number.npos;
}

class Validator {
 public:
  Validator(const Draft& draft, const CompileOptions& options, Diagnostics& diagnostics)
      : draft_(draft), diagnostics_(diagnostics) {
    for (const OpRule& rule : options.rules) rules_.emplace(rule.op, &rule);
  }

  void validate() && {
    for (u32 node = 0; node < draft_.nodes.size(); ++node) {
      const bool has_settings = !spec(node).settings.is_usual();
      if (has_settings) {
        check_place(node);
        check_numbers(node);
      }
      if (has_settings || !rules_.empty()) check_settings(node);
      if (spec(node).kind != NodeKind::Function) check_kind(node);
      if (draft_.nodes[node].is_branch) check_arms(node);
      check_isolated(node);
    }
  }

 private:
  const GraphNode& spec(u32 node) const { return *draft_.nodes[node].spec; }
  std::string name(u32 node) const { return quoted(draft_.nodes[node].id()); }
  Diagnostic& complain(Reason reason, u32 node, std::string message) {
    return diagnostics_.error(reason, std::move(message)).node(draft_.nodes[node].id());
  }

  void check_place(u32 node) {
    if (!is_device(spec(node).device())) {
      complain(Reason::graph_device, node,
               text("the device of node {} is {}", name(node), quoted(spec(node).device())))
          .advise("devices are cpu, meta and cuda:N, with N from 0 on");
    }
    const Target& target = spec(node).target();
    if (target.kind != Target::Kind::Local && target.name.empty()) {
      complain(Reason::distribute_target, node,
               text("the target of node {} is a {} without a name", name(node),
                    target.kind == Target::Kind::Tag ? "tag" : "worker"))
          .advise(R"(name it, or leave the target out: "local")");
    }
  }

  void check_numbers(u32 node) {
    const std::optional<double> cost = spec(node).cost_us();
    if (cost && !(std::isfinite(*cost) && *cost >= 0)) {
      complain(Reason::graph_config, node,
               text("the cost of node {} is {} µs, which no time is", name(node), *cost))
          .advise("leave out what isn't known");
    }
    if (spec(node).max_turns() && *spec(node).max_turns() < 1) {
      complain(Reason::graph_config, node,
               text("step {} may take {} turns, and needs one", name(node),
                    *spec(node).max_turns()));
    }
  }

  void check_settings(u32 node) {
    const Value& config = spec(node).config();
    if (rules_.empty() && config.is_null()) return;
    if (!config.is_null() && !config.is(ValueKind::Map)) {
      complain(Reason::graph_config, node,
               text("the config of node {} is no map", name(node)));
      return;
    }
    if (!config.is_null()) check_form(node);
    const NodeKind kind = spec(node).kind;  // some have an op that is never called
    if (kind == NodeKind::Loop || kind == NodeKind::Subgraph || kind == NodeKind::Program) return;
    // An op of a node within a subgraph is named by the node's own id, not by the inlined one.
    const OpRule* const rule = rule_of(spec(node).op_name());
    if (!rule) return;
    if (rule->is_step != (spec(node).kind == NodeKind::Step)) {
      complain(Reason::graph_config, node,
               text("node {} is a {}, and its op {} runs as a {}", name(node),
                    node_kind_name(spec(node).kind), quoted(rule->op),
                    rule->is_step ? "step" : "function"))
          .advise("change the node's kind");
    }
    for (const std::string& fault : broken_settings(*rule, config)) {
      complain(Reason::graph_config, node,
               text("node {} of op {}: {}", name(node), quoted(rule->op), fault));
    }
  }

  void check_form(u32 node) {
    const Result<std::string> json = value_json(spec(node).config());
    if (json) return;
    complain(Reason::graph_config, node,
             text("the config of node {}: {}", name(node), json.error().message()));
  }

  const OpRule* rule_of(std::string_view op) {
    if (op == last_op_) return last_rule_;  // neighbours often share one
    const auto rule = rules_.find(op);
    last_op_ = op;
    return last_rule_ = rule == rules_.end() ? nullptr : rule->second;
  }

  void check_kind(u32 node) {
    switch (spec(node).kind) {
      case NodeKind::Loop: check_cap(node); break;
      case NodeKind::Branch:
        if (draft_.nodes[node].is_branch && !has_arms(node)) {
          complain(Reason::branch_no_arms, node, text("branch {} has no arms", name(node)))
              .advise("lead a control edge with `arm` or `label` from it to each arm");
        }
        break;
      case NodeKind::Program: check_program(node); break;
      case NodeKind::Step:
        if (spec(node).cacheable) {
          diagnostics_
              .warning(Reason::graph_config,
                       text("step {} says that it is cacheable, and no cache keeps what steps "
                            "yield", name(node)))
              .node(draft_.nodes[node].id())
              .advise("leave that out; a run with a journal does no step's work twice");
        }
        break;
      case NodeKind::Function:
      case NodeKind::Subgraph: break;
    }
  }

  void check_program(u32 node) {
    if (spec(node).model().empty()) {
      complain(Reason::graph_config, node, text("program {} names no model", name(node)))
          .advise(R"("model" is the path of a model file)");
    }
    if (spec(node).op.empty()) return;
    diagnostics_
        .warning(Reason::graph_config,
                 text("program {} names op {}, and a program calls none", name(node),
                      quoted(spec(node).op_name())))
        .node(draft_.nodes[node].id())
        .advise("leave out \"op\"; what it does with its model is its \"task\"");
  }

  void check_cap(u32 node) {
    const std::optional<i64> cap = spec(node).max_iterations();
    if (cap && *cap < 1) {
      complain(Reason::loop_cap, node,
               text("loop {} may run {} passes; at least 1 is expected", name(node), *cap));
    } else if (!cap && spec(node).until().kind == StopRule::Kind::Exhaust) {
      complain(Reason::loop_cap, node,
               text("loop {} runs until its bound, and has none", name(node)))
          .advise("set max_iterations");
    } else if (!cap) {
      diagnostics_
          .warning(Reason::loop_uncapped,
                   text("loop {} has no bound: if its signal never says stop, it never ends",
                        name(node)))
          .node(draft_.nodes[node].id())
          .advise("set max_iterations");
    }
  }

  bool has_arms(u32 node) const {
    const std::span<const u32> leaving = draft_.leaving.of(node);
    return std::any_of(leaving.begin(), leaving.end(), [&](u32 edge) {
      return draft_.edges[edge].link == Link::Entry;
    });
  }

  void check_arms(u32 node) {
    std::unordered_map<std::string, std::string_view> known;  // where it leads
    const GraphEdge* last = nullptr;
    for (const u32 index : draft_.leaving.of(node)) {
      const DraftEdge& edge = draft_.edges[index];
      // An arm that enters a subgraph at several roots is one edge of the graph.
      if (edge.link != Link::Entry || edge.edge == last) continue;
      last = edge.edge;
      const std::string_view target = draft_.target_of(edge);
      const Result<Arm> arm = arm_of(draft_, edge);
      if (!arm) {
        complain(arm.error().reason(), node,
                 text("the arm {} -> {}: {}", name(node), quoted(target),
                      arm.error().message()))
            .edge(draft_.nodes[node].id(), draft_.nodes[edge.to].id());
        continue;
      }
      if (known.emplace(arm->text(), target).second) continue;
      const bool is_else = arm->kind() == Arm::Kind::Else;
      complain(is_else ? Reason::branch_two_else : Reason::branch_duplicate_arm, node,
               is_else ? text("branch {} has two arms for all other values, to {} and to {}",
                              name(node), quoted(known[arm->text()]), quoted(target))
                       : text("branch {} has the arm {} twice, to {} and to {}", name(node),
                              arm->text(), quoted(known[arm->text()]), quoted(target)))
          .edge(draft_.nodes[node].id(), draft_.nodes[edge.to].id())
          .advise("the second would never run");
    }
  }

  void check_isolated(u32 node) {
    if (draft_.nodes.size() < 2) return;
    if (!draft_.followers.of(node).empty() || !draft_.entering.of(node).empty()) return;
    diagnostics_
        .warning(Reason::graph_isolated_node, text("no edge touches node {}", name(node)))
        .node(draft_.nodes[node].id())
        .advise("it runs beside all the others; if an edge is missing, add it");
  }

  const Draft& draft_;
  Diagnostics& diagnostics_;
  std::unordered_map<std::string_view, const OpRule*> rules_;
  std::string_view last_op_;      // that was looked up; of none there is no rule
  const OpRule* last_rule_ = nullptr;
};

}  // namespace

Result<Arm> arm_of(const Draft& draft, const DraftEdge& edge) {
  if (edge.edge->label()) return Arm::label(*edge.edge->label());
  if (edge.edge->arm()) return Arm::parse(*edge.edge->arm());
  return Arm::label(draft.target_of(edge));  // of a branch: labelled with where it leads
}

void validate(const Draft& draft, const CompileOptions& options, Diagnostics& diagnostics) {
  Validator(draft, options, diagnostics).validate();
  check_ports(draft, diagnostics);
}

}  // namespace soma
