// The monotonic clock, for who asks it before and after each of millions of short calls.
#pragma once

#include "base/clock.hpp"

namespace soma {

// A moment by both: the processor's counter and the system's clock.
struct TickOrigin {
  u64 ticks = 0;
  i64 at_ns = 0;
  static TickOrigin here();
};

// now_ns() to within some tens of nanoseconds, at the price of reading a counter. For one thread at
// a time, to which it never goes back. `since`: some other moment, outliving it, from which on the
// counter is timed; the longer ago, the better, and for the first 10 ms it is not trusted.
class TickClock {
 public:
  explicit TickClock(const TickOrigin& since) : since_(since) {}
  i64 now_ns();

 private:
  i64 ask_system();

  const TickOrigin& since_;
  TickOrigin last_;                  // that the system was asked for
  u64 valid_ticks_ = 0;              // so long behind it the counter is believed
  u64 ns_per_tick_ = 0;              // times 2^32
  i64 told_ns_ = 0;
};

}  // namespace soma
