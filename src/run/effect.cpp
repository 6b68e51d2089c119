// Effects between two owners: the run, which may end first, and whoever performs them.
#include "run/effect.hpp"

namespace soma {

Effect* Effect::make(EffectRequest request, std::string key, u32 number, bool is_retry,
                     Listener listener) {
  std::unique_ptr<Effect> made(
      new Effect(std::move(request), std::move(key), number, is_retry, listener));
  return made.release();  // to whoever holds the first reference
}

void Effect::release() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const std::unique_ptr<Effect> last(this);
}

bool Effect::complete(Value result) { return end(std::nullopt, std::move(result)); }
bool Effect::fail(Error error) { return end(std::move(error), Value()); }

bool Effect::end(std::optional<Error> error, Value result) {
  const std::lock_guard lock(mutex_);
  if (has_ended_) return false;
  has_ended_ = true;
  error_ = std::move(error);
  result_ = std::move(result);
  if (listener_.ended) {
    listener_.ended(listener_.user, *this, error_ ? &*error_ : nullptr, result_);
  }
  return true;
}

void Effect::forget() {
  abandon();
  const std::lock_guard lock(mutex_);
  listener_ = {};
}

Result<Value> Effect::take_result() {
  const std::lock_guard lock(mutex_);
  if (error_) return *std::move(error_);
  return std::move(result_);
}

}  // namespace soma
