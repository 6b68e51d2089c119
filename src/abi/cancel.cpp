// Blocking calls: claiming the cancel object, ticking, and telling why a call stopped.
#include "abi/cancel.hpp"

#include <cstring>

namespace soma::wall {

namespace {

bool call_tick(void* user, const char* phase, u64 done, u64 total) {
  const auto* cancel = static_cast<const soma_cancel*>(user);
  const TickScope scope(cancel->serves);
  return cancel->tick(cancel->tick_data.get(), phase, std::strlen(phase), done, total) ==
         SOMA_CONTINUE;
}

}  // namespace

Status BlockingCall::begin(const soma_runtime* runtime, soma_cancel* cancel, const char* phase) {
  SOMA_TRY(refuse_in_tick(runtime));
  SOMA_TRY(check_maybe(cancel));
  if (!cancel) return {};
  SOMA_TRY(claim_.take(cancel->in_call, soma_cancel::kind));
  cancel_ = Ref<soma_cancel>::share(cancel);
  cancel->serves = runtime;
  cancel->wish.set_tick({cancel->tick ? call_tick : nullptr, cancel});
  cancel->wish.report(phase, 0, 0);
  return cancel->wish.check();
}

bool BlockingCall::report(const char* phase, u64 done, u64 total) const {
  if (!cancel_) return true;
  cancel_->wish.report(phase, done, total);
  return cancel_->wish.check().ok();
}

Error BlockingCall::reason(Error error) const {
  if (cancel_ && error.reason() == Reason::cancelled) {
    if (Status status = cancel_->wish.check(); !status.ok()) return std::move(status).error();
  }
  return error;
}

}  // namespace soma::wall
