// The ops object, and what a host's function gets when its node runs.
#pragma once

#include "abi/callback.hpp"
#include "abi/value.hpp"
#include "run/node_call.hpp"
#include "run/ops.hpp"

// A call lives on the stack of the thread that makes it: it is shared and dropped like every
// object, and never deleted.
struct soma_call final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Call;
  soma_call(const soma_runtime* owner, soma::NodeCall& the_node)
      : Object(kind, owner), node(the_node) {}

  soma::NodeCall& node;
  soma::wall::Ref<soma_value> input;       // made when it is asked for
  std::optional<std::string> failure;
};

namespace soma::wall {

struct HostOp {
  const soma_runtime* runtime;
  soma_node_fn function;
  UserData user;
};

}  // namespace soma::wall

struct soma_ops final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Ops;
  explicit soma_ops(const soma_runtime* owner) : Object(kind, owner) {}

  soma::Ops ops;                            // the host's have a HostOp each
  mutable std::atomic<bool> in_use{false};  // runs have been made with it
};

namespace soma::wall {

// ops_in_use.
inline Status check_open(const soma_ops& ops) {
  if (!ops.in_use.load(std::memory_order_acquire)) return {};
  return fail(Reason::ops_in_use,
              "a run has been made with these ops, which can't change after that: make others");
}

}  // namespace soma::wall
