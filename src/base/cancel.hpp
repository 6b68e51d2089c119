// A caller's wish to stop: a flag that any thread may set, a deadline, and a tick that asks the
// caller. Cooperative: long work looks at it between pieces of at most a few milliseconds.
#pragma once

#include <atomic>

#include "base/core.hpp"

namespace soma {

class Cancel {
 public:
  // Told how far the work is; returning false stops it.
  struct Tick {
    bool (*call)(void* user, const char* phase, u64 done, u64 total) = nullptr;
    void* user = nullptr;
  };

  void request() {
    requested_.store(true, std::memory_order_relaxed);
    changed_.store(true, std::memory_order_release);
  }
  bool requested() const { return requested_.load(std::memory_order_relaxed); }
  // Monotonic nanoseconds (base/clock.hpp); 0: none.
  void set_deadline(i64 at_ns) {
    deadline_ns_.store(at_ns, std::memory_order_relaxed);
    changed_.store(true, std::memory_order_release);
  }
  // For who looks very often: false as long as neither has been called since the last reset.
  const std::atomic<bool>& changed() const { return changed_; }
  i64 deadline_ns() const { return deadline_ns_.load(std::memory_order_relaxed); }
  void reset();  // takes back the request and the deadline

  // For the thread whose call is to be stopped, and no other: what is being done, how far it is,
  // and whether to go on. check() calls the tick when the last one, or its setting, is 20 ms past.
  void set_tick(Tick tick);
  void report(const char* phase, u64 done, u64 total) const;
  Status check() const;  // cancelled, deadline, or fine
  // Whether check() looks at more than requested() does.
  bool needs_clock() const { return deadline_ns() != 0 || tick_.call; }

 private:
  mutable std::atomic<bool> requested_{false};
  std::atomic<bool> changed_{false};
  std::atomic<i64> deadline_ns_{0};
  Tick tick_;
  // The calling thread's notes for the tick; they are no part of the wish itself.
  mutable const char* phase_ = "";
  mutable u64 done_ = 0, total_ = 0;
  mutable i64 ticked_ns_ = 0;
};

}  // namespace soma
