// soma_cancel_*: stopping blocking calls.
#include "abi/cancel.hpp"
#include "abi/guard.hpp"
#include "abi/runtime.hpp"
#include "base/clock.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

// The moment `from_now_ns` from now; 0, which means none, is never a result.
i64 moment(i64 from_now_ns) {
  i64 at = 0;
  if (__builtin_add_overflow(now_ns(), from_now_ns, &at)) return INT64_MAX;
  return std::max<i64>(at, 1);
}

}  // namespace

soma_code soma_cancel_create(const soma_runtime* runtime, soma_cancel** out,
                             soma_error** error) noexcept {
  return produce(runtime, out, error,
                 [&]() -> Result<Ref<soma_cancel>> { return make<soma_cancel>(runtime); });
}

void soma_cancel_request(const soma_cancel* cancel) noexcept {
  if (is_valid(cancel)) cancel->wish.request();
}

soma_code soma_cancel_set_deadline(const soma_cancel* cancel, int64_t from_now_ns,
                                   soma_error** error) noexcept {
  return perform(cancel, error, [&]() -> Status {
    cancel->wish.set_deadline(from_now_ns == INT64_MAX ? 0 : moment(std::max<i64>(from_now_ns, 0)));
    return {};
  });
}

soma_code soma_cancel_reset(soma_cancel* cancel, soma_error** error) noexcept {
  return perform(cancel, error, [&]() -> Status {
    Claim claim;
    SOMA_TRY(claim.take(cancel->in_call, soma_cancel::kind));
    cancel->wish.reset();
    return {};
  });
}

soma_code soma_cancel_set_tick(soma_cancel* cancel, soma_tick_fn tick, void* user,
                               soma_destroy_fn destroy, soma_error** error) noexcept {
  UserData data(user, destroy);
  return perform(cancel, error, [&]() -> Status {
    Claim claim;
    SOMA_TRY(claim.take(cancel->in_call, soma_cancel::kind));
    cancel->tick = tick;
    std::swap(cancel->tick_data, data);
    if (!tick) cancel->tick_data = UserData();
    return {};
  });
}

void soma_cancel_retain(const soma_cancel* cancel) noexcept { retain(cancel); }
void soma_cancel_release(const soma_cancel* cancel) noexcept { release(cancel); }
