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
  // Puts code before a node's own, and returns that.
  Bound replace(u32 node, Bound code) { return std::exchange(nodes_[node], code); }
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
  std::map<u32, StepCode> steps_;          // by node
  std::map<u32, const NodeOp*> programs_;  // by node
  std::vector<bool> caller_only_, waits_;  // by node; empty: none
};

}  // namespace soma
