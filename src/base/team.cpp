// A team of threads behind a gate that each run opens and closes.
//
// Problem. A decoded token is one run of a few milliseconds, the next follows microseconds later,
// and the helpers may have lost their processors at any moment. Waking a sleeping thread costs
// tens of microseconds on both sides, and waiting for one that gets no time costs everything.
//
// Idea. `gate` counts the helpers inside the current run and has a bit that closes it. run() opens
// the gate, advances `epoch`, and goes to work. A helper that sees a new epoch enters by raising
// the count, which fails once the gate is closed: a late helper has missed nothing and is owed
// nothing. Closing the gate and waiting for the count to fall to zero ends the run. Helpers wait
// for the next epoch by spinning for `idle_spin_ns` and then sleep on it; `parked` tells run()
// whether anyone sleeps, so that a run between awake threads makes no system call.
//
// Why it is right. `body` and `user` are written before the gate opens and read only after
// entering, and while anyone is inside, the run can't end, so they can't change under a reader. A
// helper that saw epoch e but enters when e + 1 has already opened does e + 1's work, which is
// fine, and reads the epoch again inside, so it enters each run at most once. No wake-up is lost:
// a helper raises `parked` before it looks at `epoch` for the last time, run() advances `epoch`
// before it looks at `parked`, all in one total order. The same holds for the closing side with
// `gate` and `caller_sleeps`.
#include "base/team.hpp"

#include <mutex>

#include "base/memory.hpp"
#include "base/spin.hpp"
#include "base/thread.hpp"

namespace soma {

namespace {

constexpr i64 idle_spin_ns = 100'000;    // how long a helper waits awake for the next run
constexpr i64 leave_spin_ns = 50'000;    // how long a caller waits awake for the last helper
constexpr i64 leave_yield_ns = 200'000;  // … and then offers its processor, before it sleeps
constexpr u32 closed = u32{1} << 31;
constexpr i32 threads_limit = 1024;

}  // namespace

struct Team::State {
  explicit State(i32 count) : threads(count) {}

  // What waiting threads look at, apart from what the caller alone touches.
  alignas(64) std::atomic<u32> epoch{0};
  std::atomic<u32> parked{0};
  std::atomic<bool> stopping{false};
  alignas(64) std::atomic<u32> gate{closed};
  std::atomic<bool> caller_sleeps{false};
  void (*body)(void* user, i32 member) = nullptr;
  void* user = nullptr;
  Memory* memory = nullptr;  // the caller's: helpers allocate from where it does

  alignas(64) std::mutex callers;
  const i32 threads;
  bool started = false;
  struct Helper {
    State* state = nullptr;
    i32 member = 0;
    std::unique_ptr<Thread> thread;
    static void main(void* self);
  };
  std::vector<Helper> helpers;

  void start_helpers();
  void help(i32 member);
  void await_next(u32 seen);
  bool enter();
  void leave();
  void close();
};

// A system that gives no more threads leaves a smaller team, down to the caller alone.
void Team::State::start_helpers() {
  started = true;
  helpers.resize(static_cast<size_t>(threads - 1));
  for (size_t i = 0; i < helpers.size(); ++i) {
    Helper& helper = helpers[i];
    helper.state = this;
    helper.member = static_cast<i32>(i) + 1;
    helper.thread = std::make_unique<Thread>();
    if (!helper.thread->start(text("{}", helper.member), Helper::main, &helper)) {
      helpers.resize(i);
      break;
    }
  }
}

void Team::State::Helper::main(void* self) {
  auto* helper = static_cast<Helper*>(self);
  helper->state->help(helper->member);
}

void Team::State::help(i32 member) {
  u32 seen = 0;
  while (true) {
    await_next(seen);
    if (stopping.load(std::memory_order_acquire)) return;
    seen = epoch.load(std::memory_order_acquire);
    if (!enter()) continue;
    seen = epoch.load(std::memory_order_acquire);
    {
      const MemoryScope scope(memory);
      body(user, member);
    }
    leave();
  }
}

void Team::State::await_next(u32 seen) {
  Spin spin(idle_spin_ns, 0);
  while (epoch.load(std::memory_order_acquire) == seen) {
    if (spin.wait()) continue;
    parked.fetch_add(1);
    while (epoch.load() == seen) futex_wait(epoch, seen);
    parked.fetch_sub(1);
  }
}

bool Team::State::enter() {
  u32 inside = gate.load(std::memory_order_acquire);
  while ((inside & closed) == 0) {
    if (gate.compare_exchange_weak(inside, inside + 1)) return true;
  }
  return false;
}

void Team::State::leave() {
  const u32 before = gate.fetch_sub(1);
  if (before - 1 == closed && caller_sleeps.load()) futex_wake_all(gate);
}

void Team::State::close() {
  u32 inside = gate.fetch_or(closed) | closed;
  Spin spin(leave_spin_ns, leave_yield_ns);
  while (inside != closed) {
    if (!spin.wait()) {
      caller_sleeps.store(true);
      while ((inside = gate.load()) != closed) futex_wait(gate, inside);
      caller_sleeps.store(false);
      return;
    }
    inside = gate.load();
  }
}

Result<std::unique_ptr<Team>> Team::create(i32 threads) {
  if (threads < 1 || threads > threads_limit) {
    return fail(Reason::argument_range, "a team has 1 to {} threads, got {}", threads_limit,
                threads);
  }
  return std::unique_ptr<Team>(new Team(std::make_unique<State>(threads)));
}

Team::Team(std::unique_ptr<State> state) : state_(std::move(state)) {}

Team::~Team() {
  state_->stopping.store(true);
  state_->epoch.fetch_add(1);
  futex_wake_all(state_->epoch);
  for (State::Helper& helper : state_->helpers) helper.thread->join();
}

i32 Team::threads() const { return state_->threads; }

void Team::run(void (*body)(void* user, i32 member), void* user) {
  State& state = *state_;
  const std::lock_guard lock(state.callers);
  if (state.threads == 1) {
    body(user, 0);
    return;
  }
  state.body = body;
  state.user = user;
  state.memory = current_memory();
  state.gate.store(0);
  state.epoch.fetch_add(1);
  if (!state.started) state.start_helpers();
  if (state.parked.load() != 0) futex_wake_all(state.epoch);
  // Closes on every way out: should the body throw, no helper may be left behind in it.
  struct Closing {
    State& state;
    ~Closing() { state.close(); }
  } closing{state};
  body(user, 0);
}

}  // namespace soma
