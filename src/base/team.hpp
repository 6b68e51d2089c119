// A team of threads that works on one thing at a time: the caller and its helpers.
//
// run() wakes the helpers once and starts at once on the calling thread; whoever arrives joins,
// nobody is waited for before they have joined. The body hands out work by atomic claims, so the
// caller can finish alone when the system gives the helpers no time. Threads are made here only;
// they block all signals.
#pragma once

#include "base/core.hpp"

namespace soma {

class Team {
 public:
  // threads >= 1, the caller included. Helper threads start with the first run().
  static Result<std::unique_ptr<Team>> create(i32 threads);
  ~Team();

  i32 threads() const;

  // body(user, member) on the caller as member 0 and on each helper that arrives as 1, 2, …;
  // returns when the caller's body has returned and every joined helper has left. One run at a
  // time: a second caller waits for the first.
  void run(void (*body)(void* user, i32 member), void* user);

 private:
  struct State;
  explicit Team(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace soma
