// A fence between two threads of which one must not pay for it.
//
// One thread stores a, then loads b; another stores b, then loads a; at least one has to see what
// the other stored. Usually both need a full fence between store and load. Here the first, which
// does it a hundred million times a second, needs a compiler's fence only, since the second, which
// does it rarely, has the system put a fence into every running thread of the process.
#pragma once

#include <atomic>

namespace soma {

// Whether the system does that; asks it once, and registers the process for it.
bool can_fence_others();

// Between the seldom thread's store and load. Some microseconds.
void fence_others();

// Between the frequent thread's store and load, if can_fence_others(); otherwise it needs
// std::atomic_thread_fence(std::memory_order_seq_cst).
inline void fence_lightly() { std::atomic_signal_fence(std::memory_order_seq_cst); }

}  // namespace soma
