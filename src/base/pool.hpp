// A pool of threads that lend a hand: to whoever offers work while they are awake, and at once to
// whoever summons them.
//
// Waking a thread that sleeps costs who wakes it tens of microseconds and helps only later, so
// nobody is woken for work that merely could be shared: it is offered, and threads that have just
// worked look for offers for a while before they go to sleep. Who has enough work invites some; who
// must have threads of its own summons them, beyond the pool's bound if it has to.
#pragma once

#include <atomic>

#include "base/core.hpp"

namespace soma {

class Pool {
 public:
  // What the pool's threads do for a job. None of these may throw; each is only called between
  // open and close, by several threads at once.
  struct Work {
    void* user = nullptr;
    bool (*help)(void* user) = nullptr;   // with what is offered; false: there was nothing
    void (*serve)(void* user) = nullptr;  // once for each thread that was summoned
    void (*watch)(void* user) = nullptr;  // every 10 ms or so, on the ticker's thread
  };
  class Job;
  // What a job looks at from time to time: it rings when a thread is awake and has nothing to do,
  // and `asked` says so. Others may ring it too.
  struct Bell {
    std::atomic<u32> rings{0};
    std::atomic<bool> asked{false};
  };

  // A host's threads instead of the pool's own. submit has the task run once, soon, on another
  // thread; `parallelism` of them can run at the same time.
  static constexpr i32 host_parallelism_max = 1023;
  struct Host {
    void* user = nullptr;
    void (*submit)(void* user, void (*task)(void* argument), void* argument) = nullptr;
    i32 parallelism = 0;
  };

  // Of so many threads, the one that asks for help included. They start when they are needed.
  static Result<std::unique_ptr<Pool>> create(i32 threads);
  // Nobody calls watch. The host's tasks must have run before the pool can go.
  static Result<std::unique_ptr<Pool>> create(const Host& host);
  ~Pool();

  i32 threads() const;              // the bound, with the one that asks for help
  i32 summon_max() const;           // how many can be summoned at the same time at most
  bool watches() const;             // whether anybody calls watch

  // A job is there until it is dismissed, and open while there may be something to do.
  Job* employ(const Work& work);
  void dismiss(Job* job);
  static Bell& bell(Job* job);
  void open(Job* job);
  void close(Job* job);             // returns once everybody has left

  void offer(Job* job, bool has_work);
  // Whether the bell is to ring when threads have nothing to do; it is, unless said otherwise.
  void listen(Job* job, bool listens);
  // Has up to so many threads awake, as far as the bound allows.
  void invite(i32 threads);
  // Threads that are awake and idle.
  i32 awake() const;
  // Has `wanted` threads call serve, all at once. Returns how many really will. Fewer: as many as
  // the bound and the system allow for. AllOrNone: that many, if need be beyond the bound, or none.
  enum class Summon : u8 { Fewer, AllOrNone };
  i32 summon(Job* job, i32 wanted, Summon how);

 private:
  struct State;
  explicit Pool(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace soma
