// Waiting for another thread: pause, then yield, then sleep on a futex.
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>

#include "base/clock.hpp"

namespace soma {

inline void cpu_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Sleeps until the word is woken, if it still holds `expected`. May return early: loop.
inline void futex_wait(const std::atomic<u32>& word, u32 expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
inline void futex_wait_for(const std::atomic<u32>& word, u32 expected, i64 longest_ns) {
  const timespec longest = {.tv_sec = longest_ns / 1'000'000'000,
                            .tv_nsec = longest_ns % 1'000'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &longest, nullptr, 0);
}
inline void futex_wake(const std::atomic<u32>& word, i32 threads) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}
inline void futex_wake_all(const std::atomic<u32>& word) { futex_wake(word, INT_MAX); }

// How long a waiting thread goes on without sleeping. A hand-over between two running threads
// takes a quarter of a microsecond and a wake-up some 50, so a short wait is best spent spinning.
// But the thread waited for may have lost its processor, and then spinning keeps it from coming
// back sooner: hence a bound, after which the waiter first offers its own processor, then sleeps.
class Spin {
 public:
  Spin(i64 pause_ns, i64 yield_ns) : pause_ns_(pause_ns), yield_ns_(yield_ns) {}

  // Waits a little. False: the time is over, sleep.
  bool wait() {
    cpu_pause();
    if (++count_ % pauses_between_looks != 0) return true;
    const i64 now = now_ns();
    if (start_ == 0) start_ = now;
    const i64 waited = now - start_;
    if (waited < pause_ns_) return true;
    if (waited >= pause_ns_ + yield_ns_) return false;
    sched_yield();
    return true;
  }

 private:
  static constexpr u32 pauses_between_looks = 64;  // one to three microseconds
  i64 pause_ns_;
  i64 yield_ns_;
  i64 start_ = 0;
  u32 count_ = 0;
};

}  // namespace soma
