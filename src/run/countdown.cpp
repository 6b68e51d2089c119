// Counts down on any thread, and wakes the strand that waits.
//
// Who arrives last wakes the strand under the mutex, which forget() takes too: so the strand is
// there while it is being woken. It may have gone on already, as it looks at the count by itself;
// then it is woken for nothing, which strands can bear.
#include "run/countdown.hpp"

#include <new>

#include "run/crew.hpp"

namespace soma {

Countdown* Countdown::make(Crew& crew, Strand& strand) {
  std::unique_ptr<Countdown> made(new Countdown(crew, strand));
  return made.release();  // to whoever holds the first reference
}

void Countdown::release() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const std::unique_ptr<Countdown> last(this);
}

Status Countdown::status() {
  const std::lock_guard lock(mutex_);
  if (lost_memory_) throw std::bad_alloc();
  if (error_) return *std::exchange(error_, std::nullopt);
  return {};
}

void Countdown::forget() {
  const std::lock_guard lock(mutex_);
  crew_ = nullptr;
}

void Countdown::arrive() {
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const std::lock_guard lock(mutex_);
  if (crew_) crew_->wake(*strand_);
}

void Countdown::fail(const Error& error) noexcept {
  const std::lock_guard lock(mutex_);
  if (error_) return;
  try {
    error_ = Error(error.reason(), error.message());
  } catch (const std::bad_alloc&) {
    lost_memory_ = true;
  }
}

void Countdown::lose_memory() noexcept {
  const std::lock_guard lock(mutex_);
  lost_memory_ = true;
}

}  // namespace soma
