// The monotonic clock.
#include "base/clock.hpp"

#include <time.h>

namespace soma {

i64 now_ns() {
  timespec at = {};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return i64{at.tv_sec} * 1'000'000'000 + at.tv_nsec;
}

}  // namespace soma
