// The ops object, and the host's functions in it.
#pragma once

#include "abi/callback.hpp"
#include "plan/label.hpp"
#include "run/ops.hpp"

struct soma_ops final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Ops;
  explicit soma_ops(const soma_runtime* owner) : Object(kind, owner) {}

  soma::Ops ops;                            // the host's have a Host each
  mutable std::atomic<bool> in_use{false};  // runs have been made with it
};

namespace soma::wall {

// ops_in_use.
inline Status check_open(const soma_ops& ops) {
  if (!ops.in_use.load(std::memory_order_acquire)) return {};
  return fail(Reason::ops_in_use,
              "a run has been made with these ops, which can't change after that: make others");
}

// A function of the host's, with what belongs to it.
template <typename Function>
struct Host {
  const soma_runtime* runtime;
  Function function;
  UserData user;

  static void drop(void* self) { const std::unique_ptr<Host> last(static_cast<Host*>(self)); }
};

// give(host, drop) hands a host's function to the ops, which drop it, unless that fails.
template <typename Function, typename Give>
Status give_host(const soma_ops& ops, Function function, UserData user, Give give) {
  std::unique_ptr<Host<Function>> host(
      new Host<Function>{ops.runtime, function, std::move(user)});
  SOMA_TRY(give(host.get(), Host<Function>::drop));
  [[maybe_unused]] Host<Function>* const theirs = host.release();
  return {};
}

// An op or a handler of effects with a host's function behind it.
template <typename Function, typename Entry>
Status add_host(soma_ops& ops, Function function, UserData user, Entry entry) {
  return give_host(ops, function, std::move(user), [&](void* host, void (*drop)(void*)) {
    entry.user = host;
    entry.destroy = drop;
    return ops.ops.add(std::move(entry));
  });
}

// What a function's return means, and what it said before.
inline Status said_by_host(i32 answer, const std::optional<std::string>& failure) {
  if (failure) return Error(Reason::callback_failed, printable(*failure));
  if (answer == SOMA_CONTINUE) return {};
  return fail(Reason::callback_failed,
              "the function returned {} instead of SOMA_CONTINUE, and gave no reason", answer);
}

// What the core calls for each node whose op is a host's: the function of a Host<soma_node_fn>.
Status call_host(void* user, NodeCall& node);

}  // namespace soma::wall
