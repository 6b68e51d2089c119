// Tells time by the processor's counter, between two looks at the system's clock.
//
// Problem. Asking the system takes 20 to 50 ns, as it reads the same counter with its own care and
// scales it. Who notes when each call of two nanoseconds began and ended would mostly ask for time.
//
// Idea. Reading the counter takes 7 to 18 ns and needs one multiplication to become nanoseconds, if
// one knows how long a tick is. That follows from two moments of which both times are known: the
// origin, which is at least 10 ms ago, and now. Each millisecond the system is asked anew, so an
// error of the rate never adds up, also if the system adjusts its clock; and a counter that jumps,
// as when a virtual machine moves, is believed for a millisecond at most. Where there is no counter
// that runs at a steady rate, the system is asked each time.
//
// Error. A pair is taken within some 50 ns, so that the rate is wrong by at most 1 in 10^5, which
// is 10 ns a millisecond, and the pair itself by half of what asking takes.
#include "base/tick_clock.hpp"

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace soma {

namespace {

constexpr i64 trusted_after_ns = 10'000'000;
constexpr u64 believed_ns = 1'000'000;

#if defined(__x86_64__)
u64 read_ticks() { return __rdtsc(); }
// "Invariant TSC": the counter's rate is the same at whatever speed, and also while cores sleep.
bool look_for_steady_ticks() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
}
// Asked once, as in a virtual machine a question takes microseconds.
bool has_steady_ticks() {
  static const bool found = look_for_steady_ticks();
  return found;
}
#else
u64 read_ticks() { return 0; }
bool has_steady_ticks() { return false; }
#endif

}  // namespace

TickOrigin TickOrigin::here() {
  if (!has_steady_ticks()) return {};
  const i64 before_ns = soma::now_ns();
  const u64 ticks = read_ticks();
  return {ticks, before_ns + (soma::now_ns() - before_ns) / 2};
}

i64 TickClock::now_ns() {
  const u64 passed = read_ticks() - last_.ticks;
  if (passed >= valid_ticks_) return ask_system();
  const i64 at_ns = last_.at_ns + static_cast<i64>(passed * ns_per_tick_ >> 32);
  return told_ns_ = std::max(told_ns_, at_ns);
}

i64 TickClock::ask_system() {
  i64 at_ns = soma::now_ns();
  valid_ticks_ = 0;
  if (since_.ticks != 0 && at_ns - since_.at_ns >= trusted_after_ns) {
    last_.ticks = read_ticks();
    last_.at_ns = at_ns + (soma::now_ns() - at_ns) / 2;
    const u64 ticks = last_.ticks - since_.ticks;
    const auto took_ns = static_cast<double>(last_.at_ns - since_.at_ns);
    const double ns_per_tick = took_ns / static_cast<double>(ticks);
    // A counter that was set back, or stood still, is none.
    if (ns_per_tick > 0.01 && ns_per_tick < 100) {
      ns_per_tick_ = static_cast<u64>(ns_per_tick * 0x1p32);
      valid_ticks_ = static_cast<u64>(static_cast<double>(believed_ns) / ns_per_tick);
    }
    at_ns = last_.at_ns;
  }
  return told_ns_ = std::max(told_ns_, at_ns);
}

}  // namespace soma
