// Binds nodes to code before a run starts, and says of all at once what can't be bound.
#include "run/binding.hpp"

#include <algorithm>

#include "base/problems.hpp"
#include "base/text.hpp"
#include "run/exec.hpp"
#include "run/node_call.hpp"
#include "run/recording.hpp"
#include "run/run_state.hpp"
#include "value/describe.hpp"

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
      SOMA_ASSIGN(Value value, recorded_value(found.content));
      return restore(call, std::move(value));
    }
    SOMA_TRY(code.forward(code.user, call));
    if (call.was_told_to_stop()) return {};
    SOMA_TRY(set_output(record, what_is_left(call)));
    std::vector<Record> one;
    one.push_back(std::move(record));
    return run.journal->append(std::move(one));
  }
  // What the node yielded; of one that keeps a state for the next chunk, a list of that and it.
  static Value what_is_left(NodeCall& call) {
    if (!call.keeps_state()) return call.output();
    return Value::list({call.output(), call.state()});
  }
  static Status restore(NodeCall& call, Value value) {
    if (!call.keeps_state()) {
      call.output() = std::move(value);
      return {};
    }
    if (!value.is(ValueKind::List) || value.list().size() != 2) {
      return fail(Reason::journal_corrupt,
                  "expected what a stateful node yielded and its state, as a list of two, got {}",
                  describe(value));
    }
    call.output() = value.list()[0];
    return call.set_state(value.list()[1]);
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

// By what a node's code is found: its op, or the model of a program, whose op is never called.
struct CodeName {
  bool is_model = false;
  std::string_view name;
  u32 version = 0;
  auto operator<=>(const CodeName&) const = default;
};

CodeName code_name(const PlanNode& node) {
  if (node.kind == NodeKind::Program) return {true, node.model(), 0};
  return {false, node.op_name(), node.op_version};
}

const NodeOp* find(const Ops& ops, const CodeName& code) {
  return code.is_model ? ops.program(code.name) : ops.find(code.name, code.version);
}

// Of an op or a model without code, who needs it.
struct Unbound {
  u32 first_node = 0;
  u64 nodes = 0;
};
using UnboundCode = std::map<CodeName, Unbound>;  // ops, then models

Error unbound_line(const Plan& plan, const Ops& ops, const CodeName& code, const Unbound& who) {
  const std::string more = who.nodes == 1 ? "" : text(" and {} more", who.nodes - 1);
  const std::string node = quoted(plan.nodes[who.first_node].id);
  if (code.is_model) {
    return fail(Reason::run_unbound_op, "model {} (node {}{})", quoted(code.name), node, more)
        .with("model", code.name);
  }
  const std::string versions = ops.versions(code.name);
  const std::string there = !versions.empty() ? text("; there is version {}", versions)
                            : code.name == exec_name
                                ? "; it starts processes, which the host has to allow"
                                : "";
  return fail(Reason::run_unbound_op, "{} version {} (node {}{}{})", quoted(code.name),
              code.version, node, more, there)
      .with("op", code.name);
}

// "2 ops and 1 model", and what to do about them.
std::pair<std::string, std::string> unbound_advice(const UnboundCode& unbound) {
  const auto counted = [](size_t count, std::string_view noun) {
    return text("{} {}{}", count, noun, count == 1 ? "" : "s");
  };
  size_t models = 0;
  for (const auto& [code, who] : unbound) models += code.is_model ? 1 : 0;
  const size_t ops = unbound.size() - models;
  const std::string for_ops = "register them, or correct the nodes' ops";
  const std::string for_models = "add a session for each model to the run's ops, or correct the "
                                 "nodes' models";
  if (models == 0) return {counted(ops, "op"), for_ops};
  if (ops == 0) return {counted(models, "model"), for_models};
  return {counted(ops, "op") + " and " + counted(models, "model"), for_ops + "; " + for_models};
}

Error unbound_error(const Plan& plan, const Ops& ops, const UnboundCode& unbound) {
  constexpr size_t listed_max = 1000;
  std::string list;
  std::vector<Error> each;
  for (const auto& [code, who] : unbound) {
    if (each.size() == listed_max) break;
    Error line = unbound_line(plan, ops, code, who);
    if (each.size() < Problems::kept_max) list += (list.empty() ? "" : ", ") + line.message();
    each.push_back(std::move(line).context(code.is_model ? "no code for" : "no code for op"));
  }
  if (unbound.size() > Problems::kept_max) list += ", …";
  const auto [what, advice] = unbound_advice(unbound);
  Error error = fail(Reason::run_unbound_op,
                     "the plan names {} that the run has no code for: {}: {}", what, list, advice);
  const CodeName& first = unbound.begin()->first;
  error.with(first.is_model ? "model" : "op", first.name);
  for (Error& one : each) {
    if (each.size() > 1) error.add(std::move(one));
  }
  return error;
}

// What an op says of a node's settings, each problem with the node that has it.
Error named(const Error& error, const PlanNode& node) {
  Error out = fail(error.reason(), "node {}: {}", quoted(node.id), error.message());
  for (const Detail& detail : error.details()) out.with(detail.key, detail.value);
  out.with("node", node.id);
  for (const Error& other : error.others()) out.add(named(other, node));
  return out;
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
  UnboundCode unbound;
  Problems problems;
  const NodeOp* op = nullptr;  // neighbours often share one
  CodeName last;
  for (u32 at = 0; at < plan.nodes.size(); ++at) {
    const PlanNode& node = plan.nodes[at];
    if (!is_called(node)) {
      binding.nodes_[at].forward = yield_input;
      continue;
    }
    const CodeName code = code_name(node);
    if (!op || code != last) op = find(ops, code);
    last = code;
    if (!op) {
      const auto [entry, is_new] = unbound.try_emplace(code, Unbound{at, 0});
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
  if (node.kind == NodeKind::Program) programs_[at] = &op;
  if (!op.bind) return {};
  if (op.unbind) made_.emplace_back();  // first, as it may fail
  Result<void*> bound = op.bind(op.user, node);
  if (!bound.ok()) {
    if (op.unbind) made_.pop_back();
    return named(bound.error(), node);
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

std::optional<DigestBytes> Binding::identity(u32 node) const {
  const NodeOp& op = *programs_.at(node);
  return op.identity ? op.identity(op.user) : std::nullopt;
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
