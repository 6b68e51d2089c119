// A plan's nodes bound to the code of their ops.
#pragma once

#include <map>

#include "run/ops.hpp"
#include "run/values.hpp"

namespace soma {

struct RunState;

struct Bound {
  Forward forward = nullptr;
  void* user = nullptr;
};

// How a node's gradient is made.
struct NodeVjp {
  u32 node = no_node;
  Vjp code = nullptr;
  void* user = nullptr;
};

// How a node's state is prepared.
struct NodePrepare {
  u32 node = no_node;
  Forward code = nullptr;
  void* user = nullptr;
};

class Binding {
 public:
  Binding();
  Binding(Binding&& other) noexcept;
  ~Binding();

  // run_unbound_op for all ops and models without code at once; else what the ops' own bind says of
  // all nodes.
  static Result<Binding> of(const Ops& ops, const RunState& run);

  std::span<const Bound> nodes() const { return nodes_; }
  // Of a node of kind step.
  StepCode step(u32 node) const { return steps_.at(node); }
  bool has_steps() const { return !steps_.empty(); }
  // In the order of the plan, those of nodes that are differentiable, if the plan's mode is.
  std::span<const NodeVjp> vjps() const { return vjps_; }
  std::span<const NodePrepare> prepares() const { return prepares_; }  // in the order of the plan
  const GradientAdder& gradient_adder() const { return *adder_; }
  // Puts code before a node's own, and returns that.
  Bound replace(u32 node, Bound code);
  // Puts code before all that will ever be put there; what that calls is kept in `inner`, which
  // outlives the binding.
  void cover(u32 node, Bound code, Bound& inner);
  bool is_caller_only(u32 node) const { return !caller_only_.empty() && caller_only_[node]; }
  bool waits(u32 node) const { return !waits_.empty() && waits_[node]; }
  // Of a node of kind program: what its code computes by, if it can be told.
  std::optional<DigestBytes> identity(u32 node) const;

 private:
  struct Made {
    void (*unbind)(void* bound) = nullptr;
    void* bound = nullptr;
  };
  // Asks for a node's named outputs before its own code runs.
  struct Checked;
  // Takes a node's value from the journal, or puts it there.
  struct Recorded;

  Status bind(const Plan& plan, u32 node, const NodeOp& op, const Ops& ops);
  void check_outputs_first(const Values& values, u32 node);
  void record_output(const RunState& run, u32 node);

  std::vector<Bound> nodes_;
  std::vector<Made> made_;
  std::vector<std::unique_ptr<Checked>> checked_;
  std::vector<std::unique_ptr<Recorded>> recorded_;
  std::vector<NodeVjp> vjps_;
  std::vector<NodePrepare> prepares_;
  const GradientAdder* adder_ = nullptr;
  std::map<u32, StepCode> steps_;          // by node
  std::map<u32, Bound*> covered_;          // by node
  std::map<u32, const NodeOp*> programs_;  // by node
  std::vector<bool> caller_only_, waits_;  // by node; empty: none
};

}  // namespace soma
