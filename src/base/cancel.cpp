// Looking at a wish to stop, and asking the caller at a steady pace.
#include "base/cancel.hpp"

#include "base/clock.hpp"

namespace soma {

namespace {
constexpr i64 tick_interval_ns = 20'000'000;
}

void Cancel::reset() {
  requested_.store(false, std::memory_order_relaxed);
  deadline_ns_.store(0, std::memory_order_relaxed);
  changed_.store(false, std::memory_order_relaxed);
}

void Cancel::set_tick(Tick tick) {
  tick_ = tick;
  ticked_ns_ = now_ns();
}

void Cancel::report(const char* phase, u64 done, u64 total) const {
  phase_ = phase;
  done_ = done;
  total_ = total;
}

Status Cancel::check() const {
  if (requested()) return fail(Reason::cancelled, "the caller asked to stop");
  const i64 deadline = deadline_ns();
  if (deadline == 0 && !tick_.call) return {};
  const i64 now = now_ns();
  if (deadline != 0 && now >= deadline) {
    return fail(Reason::deadline, "the caller's deadline passed {} ms ago",
                (now - deadline) / 1'000'000);
  }
  if (!tick_.call || now - ticked_ns_ < tick_interval_ns) return {};
  ticked_ns_ = now;
  if (tick_.call(tick_.user, phase_, done_, total_)) return {};
  requested_.store(true, std::memory_order_relaxed);
  return fail(Reason::cancelled, "the caller's tick asked to stop");
}

}  // namespace soma
