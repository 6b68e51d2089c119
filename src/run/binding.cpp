// Binds nodes to code before a run starts, and says of all at once what can't be bound.
#include "run/binding.hpp"

#include <algorithm>

#include "base/problems.hpp"
#include "base/text.hpp"
#include "run/exec.hpp"
#include "run/node_call.hpp"
#include "run/recording.hpp"
#include "run/run_state.hpp"

namespace soma {

struct Binding::Checked {
  const Values& values;
  Bound code;

  static Status forward(void* self, NodeCall& call) {
    const auto* checked = static_cast<const Checked*>(self);
    SOMA_TRY(checked->values.check_outputs(call.index()));
    return checked->code.forward(checked->code.user, call);
  }
};

// A node that may yield something else another time yields the same whenever a run is resumed.
struct Binding::Recorded {
  const RunState& run;
  Bound code;

  static Status forward(void* self, NodeCall& call) {
    const Recorded& node = *static_cast<const Recorded*>(self);
    if (!node.run.journal) return node.code.forward(node.code.user, call);
    return node.forward_once(call);
  }
  Status forward_once(NodeCall& call) const {
    const Site site = {call.path(), static_cast<u32>(call.chunk().index), 0};
    Record record = output_record(site, call.node().op_name(), call.input());
    SOMA_ASSIGN(const Journal::Recorded found, run.journal->find(record));
    if (found.state == Journal::Recorded::State::Done) {
      SOMA_ASSIGN(call.output(), recorded_value(found.content));
      return {};
    }
    SOMA_TRY(code.forward(code.user, call));
    if (call.was_told_to_stop()) return {};
    SOMA_TRY(set_output(record, call.output()));
    std::vector<Record> one;
    one.push_back(std::move(record));
    return run.journal->append(std::move(one));
  }
};

namespace {

// A subgraph's node stands for its leaves.
Status yield_input(void*, NodeCall& call) {
  call.output() = call.take_input();
  return {};
}

// A loop's value is made by its passes.
bool is_called(const PlanNode& node) {
  return node.kind != NodeKind::Loop && node.kind != NodeKind::Subgraph;
}

// Of an op without code, who needs it.
struct Unbound {
  u32 first_node = 0;
  u64 nodes = 0;
};
using UnboundOps = std::map<std::pair<std::string_view, u32>, Unbound>;

Error unbound_error(const Plan& plan, const Ops& ops, const UnboundOps& unbound) {
  constexpr size_t listed_max = 1000;
  std::string list;
  std::vector<Error> each;
  for (const auto& [op, who] : unbound) {
    if (each.size() == listed_max) break;
    const std::string versions = ops.versions(op.first);
    const std::string there = !versions.empty() ? text("; there is version {}", versions)
                              : op.first == exec_name
                                  ? "; it starts processes, which the host has to allow"
                                  : "";
    const std::string more = who.nodes == 1 ? "" : text(" and {} more", who.nodes - 1);
    const std::string line =
        text("{} version {} (node {}{}{})", quoted(op.first), op.second,
             quoted(plan.nodes[who.first_node].id), more, there);
    if (each.size() < Problems::kept_max) list += (list.empty() ? "" : ", ") + line;
    each.push_back(fail(Reason::run_unbound_op, "no code for op {}", line).with("op", op.first));
  }
  if (unbound.size() > Problems::kept_max) list += ", …";
  Error error = fail(Reason::run_unbound_op,
                     "the plan names {} op{} that the run has no code for: {}: register them, or "
                     "correct the nodes' ops",
                     unbound.size(), unbound.size() == 1 ? "" : "s", list);
  for (Error& one : each) {
    if (each.size() > 1) error.add(std::move(one));
  }
  return std::move(error).with("op", unbound.begin()->first.first);
}

}  // namespace

Binding::Binding() = default;
Binding::Binding(Binding&& other) noexcept = default;

Binding::~Binding() {
  for (const Made& made : made_) {
    if (made.unbind) made.unbind(made.bound);
  }
}

Result<Binding> Binding::of(const Ops& ops, const RunState& run) {
  const Plan& plan = run.plan;
  Binding binding;
  binding.adder_ = &ops.gradient_adder();
  binding.nodes_.resize(plan.nodes.size());
  UnboundOps unbound;
  Problems problems;
  const NodeOp* op = nullptr;  // neighbours often share one
  u32 version = 0;
  for (u32 at = 0; at < plan.nodes.size(); ++at) {
    const PlanNode& node = plan.nodes[at];
    if (!is_called(node)) {
      binding.nodes_[at].forward = yield_input;
      continue;
    }
    const bool is_same = op && op->name == node.op_name() && version == node.op_version;
    if (!is_same) op = ops.find(node.op_name(), node.op_version);
    version = node.op_version;
    if (!op) {
      const auto [entry, is_new] = unbound.try_emplace({node.op_name(), version}, Unbound{at, 0});
      ++entry->second.nodes;
      continue;
    }
    Status bound = binding.bind(plan, at, *op, ops);
    if (!bound.ok()) problems.add(std::move(bound).error());
    const bool is_step = node.kind == NodeKind::Step;
    if (op->vjp && node.differentiable && plan.mode == PlanMode::Differentiable) {
      void* const own = binding.nodes_[at].user;
      binding.vjps_.push_back({at, op->vjp, op->vjp_user ? op->vjp_user : own});
    }
    if (op->prepare) binding.prepares_.push_back({at, op->prepare, op->prepare_user});
    if (!node.deterministic && !is_step) binding.record_output(run, at);
    if (run.values.names_outputs(at)) binding.check_outputs_first(run.values, at);
  }
  if (!unbound.empty()) return unbound_error(plan, ops, unbound);
  SOMA_TRY(std::move(problems).status());
  return binding;
}

Status Binding::bind(const Plan& plan, u32 at, const NodeOp& op, const Ops& ops) {
  const PlanNode& node = plan.nodes[at];
  const bool is_step = node.kind == NodeKind::Step;
  if (is_step != (op.poll != nullptr)) {
    return fail(Reason::run_unsupported, "node {}: its op {} {}", quoted(node.id),
                quoted(node.op_name()),
                is_step ? "is a function, not a step's: make it a node of kind function"
                        : "works in turns: make it a node of kind step")
        .with("node", node.id);
  }
  nodes_[at] = {op.forward, op.user};
  const auto mark = [&plan, at](std::vector<bool>& marks) {
    if (marks.empty()) marks.resize(plan.nodes.size());
    marks[at] = true;
  };
  if (op.caller_only) mark(caller_only_);
  if (op.waits || node.waits) mark(waits_);
  if (is_step) steps_[at] = {op.poll, op.user, &ops};
  if (!op.bind) return {};
  if (op.unbind) made_.emplace_back();  // first, as it may fail
  Result<void*> bound = op.bind(op.user, node);
  if (!bound.ok()) {
    if (op.unbind) made_.pop_back();
    return std::move(bound).error().context("node " + quoted(node.id)).with("node", node.id);
  }
  nodes_[at].user = *bound;
  if (is_step) steps_[at].user = *bound;
  if (op.unbind) made_.back() = {op.unbind, *bound};
  return {};
}

Bound Binding::replace(u32 node, Bound code) {
  const auto covered = covered_.find(node);
  return std::exchange(covered == covered_.end() ? nodes_[node] : *covered->second, code);
}

void Binding::cover(u32 node, Bound code, Bound& inner) {
  inner = std::exchange(nodes_[node], code);
  covered_[node] = &inner;
}

void Binding::record_output(const RunState& run, u32 node) {
  recorded_.push_back(std::make_unique<Recorded>(Recorded{run, nodes_[node]}));
  nodes_[node] = {Recorded::forward, recorded_.back().get()};
}

void Binding::check_outputs_first(const Values& values, u32 node) {
  checked_.push_back(std::make_unique<Checked>(Checked{values, nodes_[node]}));
  nodes_[node] = {Checked::forward, checked_.back().get()};
}

}  // namespace soma
