// Ops: names bound to code. A plan names ops, a run finds their code here.
#pragma once

#include "base/hash.hpp"
#include "plan/plan.hpp"
#include "run/effect.hpp"

namespace soma {

class GradientCall;
class NodeCall;
class StepCall;
class Ops;

// Computes one node: reads call.input(), sets call.output() (null otherwise). `user` is what the
// op's bind made, or without one the op's own. A failure is an Error, or an exception.
using Forward = Status (*)(void* user, NodeCall& call);
// A vector-Jacobian product: makes of the gradient of what a node yielded that of what it read.
using Vjp = Status (*)(void* user, GradientCall& call);
// One turn of a node of kind step: says what comes next, and must say the same whenever it is given
// the same. It should not take long.
using Poll = Status (*)(void* user, StepCall& call);

struct NodeOp {
  std::string name;
  u32 version = 0;              // 0: of every version that has no entry of its own
  Forward forward = nullptr;
  Poll poll = nullptr;          // in place of forward, for nodes of kind step
  void* user = nullptr;
  void (*destroy)(void* user) = nullptr;  // with the Ops

  // Makes of a node's settings what forward needs, once for each node of a run, before it starts.
  // Its error, and those attached to it, need not say which node they are about.
  Result<void*> (*bind)(void* user, const PlanNode& node) = nullptr;
  void (*unbind)(void* bound) = nullptr;

  // Of programs: the digest of what the code computes by, beside the node and what it reads, as the
  // name of a model doesn't say what the file holds. Asked for by runs with a cache; may take long.
  // Nothing: its values can't be told from another's, so no cache has them.
  std::optional<DigestBytes> (*identity)(void* user) = nullptr;

  bool caller_only = false;     // only on the thread that waits for the run
  bool waits = false;           // may wait for another branch, whatever the node declares

  // Yields what forward sees as its node's state, from what the node reads; it sees the state that
  // the node declares. None: so does forward.
  Forward prepare = nullptr;
  void* prepare_user = nullptr;
  void (*prepare_destroy)(void* user) = nullptr;

  Vjp vjp = nullptr;            // none: it has no gradient
  void* vjp_user = nullptr;     // null: what forward gets
  void (*vjp_destroy)(void* user) = nullptr;
};

// How gradients are added that only the host can add: a vjp that reads a list of two.
struct GradientAdder {
  Vjp add = nullptr;
  void* user = nullptr;
  void (*destroy)(void* user) = nullptr;
};

// The code of a step's node.
struct StepCode {
  Poll poll = nullptr;
  void* user = nullptr;
  const Ops* ops = nullptr;     // for handlers of its effects
};

class Ops {
 public:
  Ops() = default;
  Ops(const Ops&) = delete;
  Ops& operator=(const Ops&) = delete;
  ~Ops();

  // ops_duplicate, argument_null, argument_range; then `op.user` stays the caller's.
  Status add(NodeOp op);
  // Of an op that is there, under the same version, and has none. ops_duplicate, argument_range.
  Status add_prepare(std::string_view name, u32 version, Forward prepare, void* user,
                     void (*destroy)(void* user));
  Status add_vjp(std::string_view name, u32 version, Vjp vjp, void* user,
                 void (*destroy)(void* user));
  // ops_duplicate.
  Status set_gradient_adder(GradientAdder adder);
  const GradientAdder& gradient_adder() const { return adder_; }
  // The same of what performs effects.
  Status add(EffectHandler handler);
  const EffectHandler* handler(std::string_view name) const;
  // The code of nodes of kind program whose model is the op's name; its version says nothing.
  Status add_program(NodeOp op);
  // nullptr: there is none. What is found stays where it is until the next add.
  const NodeOp* find(std::string_view name, u32 version) const;
  const NodeOp* program(std::string_view model) const;
  // Every version there is, for messages: "1, 2".
  std::string versions(std::string_view name) const;

 private:
  Result<NodeOp*> op_to_extend(std::string_view name, u32 version, std::string_view by);

  std::vector<NodeOp> ops_;         // by name and version
  std::vector<NodeOp> programs_;    // by model
  std::vector<EffectHandler> handlers_;  // by name
  GradientAdder adder_;
};

}  // namespace soma
