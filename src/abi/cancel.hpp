// The cancel object, and what a blocking call makes of it.
#pragma once

#include "abi/callback.hpp"
#include "base/cancel.hpp"

struct soma_cancel final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Cancel;
  explicit soma_cancel(const soma_runtime* owner) : Object(kind, owner) {}

  mutable soma::Cancel wish;
  std::atomic<bool> in_call{false};
  const soma_runtime* serves = nullptr;  // the runtime of the call
  soma_tick_fn tick = nullptr;
  soma::wall::UserData tick_data;
};

namespace soma::wall {

// A blocking call in progress: refuses to start in a tick, claims the cancel object, keeps it
// alive, and lets the core see it.
class BlockingCall {
 public:
  // `phase` is what the call does first; `cancel` may be NULL. Fails if a stop is already asked.
  Status begin(const soma_runtime* runtime, soma_cancel* cancel, const char* phase);

  const Cancel* cancel() const { return cancel_ ? &cancel_->wish : nullptr; }
  // For the core's progress callbacks: false stops.
  bool report(const char* phase, u64 done, u64 total) const;
  // The core says "cancelled" when a progress callback stopped it, also when that was for the
  // deadline; this finds the true reason.
  Error reason(Error error) const;

 private:
  Ref<soma_cancel> cancel_;
  Claim claim_;
};

}  // namespace soma::wall
