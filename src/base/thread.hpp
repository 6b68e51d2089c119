// The library's own threads.
#pragma once

#include <pthread.h>

#include "base/core.hpp"

namespace soma {

// A thread that blocks all signals, which are the host's business, names itself "soma-…", and
// computes in the default floating-point environment. False: the system gives no more threads.
class Thread {
 public:
  Thread() = default;
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  // Once. `main` and `user` must live until join returns; what `main` throws must not leave it.
  bool start(std::string_view name, void (*main)(void* user), void* user);
  void join();

 private:
  static void* enter(void* self);

  pthread_t thread_ = {};
  bool started_ = false;
  char name_[16] = {};
  void (*main_)(void* user) = nullptr;
  void* user_ = nullptr;
};

}  // namespace soma
