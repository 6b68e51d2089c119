// Ticks on a timer of the system.
//
// Waking a thread costs who wakes it tens of microseconds; setting a timer costs one. So who needs
// the ticker sets its timer going if it stands still, at most once a second, and the system wakes
// the thread. After a second in which nobody needed it, the thread stops the timer.
//
// Why no need is lost: the thread notes that it stands still before it looks for need a last time,
// and who needs it does so before he looks at that note, all in one total order.
#include "base/ticker.hpp"

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

namespace soma {

namespace {
constexpr u32 idle_ticks_max = 100;
}

Ticker::~Ticker() {
  stopping_.store(true);
  if (has_thread_) {
    set_timer(1);
    thread_.join();
  }
  if (timer_ >= 0) ::close(timer_);
}

void Ticker::start() {
  const std::lock_guard lock(starting_);
  if (!has_thread_) {
    timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    has_thread_ = thread_.start("ticker", main, this);
  }
  if (!is_ticking_.exchange(true)) set_timer(every_ns);
}

void Ticker::set_timer(i64 period_ns) {
  if (timer_ < 0) return;
  itimerspec times = {};
  times.it_value.tv_nsec = times.it_interval.tv_nsec = static_cast<long>(period_ns);
  timerfd_settime(timer_, 0, &times, nullptr);
}

void Ticker::await_tick() {
  u64 ticks = 0;
  if (timer_ >= 0 && read(timer_, &ticks, sizeof(ticks)) == sizeof(ticks)) return;
  const timespec pause = {.tv_sec = 0, .tv_nsec = every_ns};
  nanosleep(&pause, nullptr);         // the system has no such timer: the thread ticks for ever
}

void Ticker::main(void* self) {
  auto& ticker = *static_cast<Ticker*>(self);
  u32 idle_ticks = 0;
  while (true) {
    ticker.await_tick();
    if (ticker.stopping_.load()) return;
    idle_ticks = ticker.tick_(ticker.user_) ? 0 : idle_ticks + 1;
    if (idle_ticks < idle_ticks_max) continue;
    ticker.is_ticking_.store(false);
    if (ticker.tick_(ticker.user_)) {
      ticker.is_ticking_.store(true);
      idle_ticks = 0;
      continue;
    }
    ticker.set_timer(0);
    if (ticker.is_ticking_.load()) ticker.set_timer(every_ns);  // needed meanwhile
  }
}

}  // namespace soma
