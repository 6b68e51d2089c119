// A strand that waits for several things that happen on other threads.
#pragma once

#include <atomic>
#include <mutex>

#include "base/core.hpp"

namespace soma {

class Crew;
class Strand;

// Wakes the strand once the last of so many has arrived. Whoever is to arrive holds a reference, as
// the strand may go on without him: forget().
class Countdown {
 public:
  static Countdown* make(Crew& crew, Strand& strand);
  Countdown(const Countdown&) = delete;
  Countdown& operator=(const Countdown&) = delete;
  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release();

  // ---- For the strand
  void expect(u32 count) { pending_.store(count, std::memory_order_relaxed); }
  bool is_over() const { return pending_.load(std::memory_order_acquire) == 0; }
  void arrive_here() { pending_.fetch_sub(1, std::memory_order_acq_rel); }  // without waking itself
  // The first that went wrong. Throws bad_alloc, if there was no memory to say what.
  Status status();
  void forget();  // nobody is woken from here on; returns once nobody is being woken

  // ---- From any thread
  void arrive();
  void fail(const Error& error) noexcept;  // keeps reason and message
  void lose_memory() noexcept;

 private:
  Countdown(Crew& crew, Strand& strand) : crew_(&crew), strand_(&strand) {}

  std::atomic<u64> references_{1};
  std::atomic<u32> pending_{0};
  std::mutex mutex_;               // guards:
  Crew* crew_;                     // nullptr: forgotten
  Strand* strand_;
  std::optional<Error> error_;
  bool lost_memory_ = false;
};

struct ReleaseCountdown {
  void operator()(Countdown* countdown) const { countdown->release(); }
};
using CountdownReference = std::unique_ptr<Countdown, ReleaseCountdown>;

}  // namespace soma
