// The ops object, and the host's functions in it.
#pragma once

#include "abi/callback.hpp"
#include "run/ops.hpp"

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
