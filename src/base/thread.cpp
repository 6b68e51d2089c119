// Starts threads that leave the host's signals alone.
#include "base/thread.hpp"

#include <signal.h>

#include <algorithm>

#include "base/float_environment.hpp"

namespace soma {

namespace {

// A new thread inherits the mask.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_ = {};
};

}  // namespace

bool Thread::start(std::string_view name, void (*main)(void* user), void* user) {
  const std::string full = text("soma-{}", name);
  std::copy_n(full.begin(), std::min(full.size(), sizeof(name_) - 1), name_);
  main_ = main;
  user_ = user;
  const BlockedSignals blocked;
  started_ = pthread_create(&thread_, nullptr, enter, this) == 0;
  return started_;
}

// It names itself: a name given from outside could come after its first work.
void* Thread::enter(void* self) {
  auto* thread = static_cast<Thread*>(self);
  pthread_setname_np(pthread_self(), thread->name_);
  const DefaultFloats floats;
  thread->main_(thread->user_);
  return nullptr;
}

void Thread::join() {
  if (started_) pthread_join(thread_, nullptr);
  started_ = false;
}

}  // namespace soma
