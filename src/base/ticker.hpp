// A thread that calls a function every 10 ms, as long as somebody needs it.
#pragma once

#include <atomic>
#include <mutex>

#include "base/thread.hpp"

namespace soma {

class Ticker {
 public:
  static constexpr i64 every_ns = 10'000'000;

  // `tick` returns whether it was needed; it must not throw. The thread starts with the first need.
  Ticker(bool (*tick)(void* user), void* user) : tick_(tick), user_(user) {}
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;
  ~Ticker();

  // From here on tick is called, until it has not been needed for a second. Where this makes tick
  // needed, it must have become so before.
  void need() {
    if (!is_ticking_.load()) start();
  }

 private:
  static void main(void* self);
  void start();
  void set_timer(i64 period_ns);
  void await_tick();

  bool (*tick_)(void* user);
  void* user_;
  std::mutex starting_;               // guards the thread's and the timer's making
  Thread thread_;
  bool has_thread_ = false;
  int timer_ = -1;
  std::atomic<bool> stopping_{false};
  alignas(64) std::atomic<bool> is_ticking_{false};
};

}  // namespace soma
