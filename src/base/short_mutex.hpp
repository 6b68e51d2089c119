// A mutex for what takes less time than putting a thread to sleep.
#pragma once

#include <mutex>

#include "base/spin.hpp"

namespace soma {

// Who finds it taken looks again for about a microsecond before he sleeps: sleeping and being woken
// cost two calls of the system, and some fifty microseconds, for a lock that is held for a tenth of
// one. Only a holder that has lost its processor is slept for.
class ShortMutex {
 public:
  void lock() {
    constexpr u32 looks = 32;
    for (u32 look = 0; look < looks; ++look) {
      if (mutex_.try_lock()) return;
      cpu_pause();
    }
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace soma
