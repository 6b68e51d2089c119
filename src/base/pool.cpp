// Threads between jobs: what they look at while they are awake, and how they are woken.
//
// Problem. Several runs at once want help, none of them may wait for a thread that got no
// processor, a job may end at any moment while others look at it, and threads that were promised
// must be there even if all others are stuck in work that waits for them.
//
// Idea. A thread between two pieces of work is idle, and takes the next one under one mutex: first
// what was promised (tickets), then what is offered. So who summons knows, under the same mutex,
// how many idle threads are not promised yet, and starts those that are missing. Idle threads spin
// for a while, looking at the jobs' flags without any lock, and then sleep on `signal`.
//
// If all other processors are busy, the system starts a thread that is woken on the processor of
// who woke it. Spinning there would keep just him from working whom it is to help: a run of half a
// millisecond took 1.3 times as long as alone. So who opens a job notes on which processor, and who
// spins on the same one offers it; then the system finds another one for one of the two (0.6 times
// as long as alone; tests/bench/graphs.cpp, "wide:8" with bodies of 50 µs beside a busy process).
//
// A job's gate counts the threads inside, and has a bit that closes it. Who enters a closed job has
// missed nothing; who closes one waits until the count is zero. Records of jobs live as long as the
// pool, so that a look at one is always a look at a job, perhaps another's.
//
// Why no wake-up is lost: who summons or invites advances `signal` before it wakes; who goes to
// sleep read `signal` before it looked for work, and sleeps only if it is unchanged.
#include "base/pool.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/memory.hpp"
#include "base/short_mutex.hpp"
#include "base/spin.hpp"
#include "base/thread.hpp"
#include "base/ticker.hpp"

namespace soma {

namespace {

constexpr u32 closed = u32{1} << 31;
constexpr i32 threads_limit = Pool::host_parallelism_max + 1;
constexpr i64 idle_spin_ns = 150'000;    // how long an idle thread looks for work before it sleeps
constexpr i64 ask_every_ns = 5'000;      // how often it asks open jobs for work

}  // namespace

class Pool::Job {
 public:
  Work work;
  Memory* memory = nullptr;              // of who opened it: helpers allocate from there
  Job* next = nullptr;                   // of all; written once
  alignas(64) std::atomic<u32> gate{closed};
  std::atomic<u32> opened{0};            // how often, for the sentinel
  std::atomic<bool> has_work{false};
  std::atomic<bool> was_summoned{false}; // since it was opened
  std::atomic<bool> listens{true};
  std::atomic<i32> processor{-1};        // on which it was opened
  bool is_employed = false;              // guarded by the pool's mutex
  alignas(64) Bell bell;

  bool enter() {
    u32 inside = gate.load(std::memory_order_acquire);
    while ((inside & closed) == 0) {
      if (gate.compare_exchange_weak(inside, inside + 1)) return true;
    }
    return false;
  }
  void leave() { gate.fetch_sub(1); }
};

struct Pool::State {
  // Threads that were promised to a job at once. Each takes one of them.
  struct Tickets {
    Job* job;
    u64 number;
    i32 left;
  };
  // What a thread of the pool knows of itself.
  struct Helper {
    State* state = nullptr;
    u64 last_tickets = 0;                // the number of those of which it has had one
    Thread thread;
  };

  ShortMutex mutex;                      // guards who takes which work
  std::vector<std::unique_ptr<Helper>> helpers;
  std::vector<Tickets> tickets;          // in the order of their numbers
  u64 tickets_made = 0;
  i32 bound = 1;
  i32 idle = 0, promised = 0;            // threads, or tasks that have not begun; of these
  i32 tasks = 0;                         // submitted to the host and not ended
  std::atomic<u32> tasks_ended{0};
  std::optional<Host> host;
  std::vector<std::unique_ptr<Job>> owned_jobs;
  std::atomic<Job*> jobs{nullptr};       // the same as a list, for who has no mutex
  std::atomic<bool> stopping{false};
  alignas(64) std::atomic<u32> signal{0};
  std::atomic<i32> parked{0};
  std::atomic<i32> spinning{0};

  Ticker ticker{visit_jobs, this};

  template <typename Use>
  void each_job(Use use) {
    for (Job* job = jobs.load(std::memory_order_acquire); job; job = job->next) use(*job);
  }

  // ---- Helpers
  static void help_main(void* self);
  static void host_main(void* self);
  using Lock = std::unique_lock<ShortMutex>;
  bool work_once(Lock& lock, u64& last_tickets);
  bool may_help() const;
  Job* take_ticket(u64& last_tickets);
  bool do_work(Lock& lock, Job& job, bool is_promised);
  void await(u32 seen, bool may_help);
  bool await_awake(u32 seen);
  bool is_offered();
  void ask();
  bool is_in_the_way();
  bool start_thread();
  void wake(i32 count);
  void submit(i32 count);

  static bool visit_jobs(void* self);
};

// ---- Helpers

void Pool::State::help_main(void* self) {
  auto& helper = *static_cast<Helper*>(self);
  State& state = *helper.state;
  Lock lock(state.mutex);
  while (!state.stopping.load(std::memory_order_relaxed)) {
    const u32 seen = state.signal.load();
    if (state.work_once(lock, helper.last_tickets)) continue;
    const bool may_help = state.may_help();
    lock.unlock();
    state.await(seen, may_help);
    lock.lock();
  }
}

void Pool::State::host_main(void* self) {
  auto& state = *static_cast<State*>(self);
  Lock lock(state.mutex);
  u64 last_tickets = 0;
  while (state.work_once(lock, last_tickets)) {
  }
  --state.idle;
  --state.tasks;
  state.tasks_ended.fetch_add(1);
  futex_wake_all(state.tasks_ended);
}

bool Pool::State::work_once(Lock& lock, u64& last_tickets) {
  if (Job* job = take_ticket(last_tickets)) return do_work(lock, *job, true);
  if (!may_help()) return false;
  for (Job* job = jobs.load(std::memory_order_acquire); job; job = job->next) {
    if (job->has_work.load(std::memory_order_acquire) && do_work(lock, *job, false)) return true;
  }
  return false;
}

// Whether an idle thread is within the bound.
bool Pool::State::may_help() const {
  return host || static_cast<i32>(helpers.size()) - idle < bound - 1;
}

// The first of which the thread has had none: threads that were summoned together are different
// ones. Oldest first, so that whoever could still take an old one does.
Pool::Job* Pool::State::take_ticket(u64& last_tickets) {
  for (size_t i = 0; i < tickets.size(); ++i) {
    if (tickets[i].number <= last_tickets) continue;
    Job* job = tickets[i].job;
    last_tickets = tickets[i].number;
    --promised;
    if (--tickets[i].left == 0) tickets.erase(tickets.begin() + static_cast<std::ptrdiff_t>(i));
    return job;
  }
  return nullptr;
}

bool Pool::State::do_work(Lock& lock, Job& job, bool is_promised) {
  if (!job.enter()) return false;
  --idle;
  lock.unlock();
  bool did_something = true;
  {
    const MemoryScope scope(job.memory);
    if (is_promised) {
      job.work.serve(job.work.user);
    } else {
      did_something = job.work.help(job.work.user);
    }
  }
  lock.lock();
  ++idle;
  job.leave();  // who closes the job and then summons again finds this thread idle, or gone
  return did_something;
}

void Pool::State::await(u32 seen, bool may_help) {
  if (may_help && await_awake(seen)) return;
  parked.fetch_add(1);
  while (signal.load() == seen && !stopping.load()) futex_wait(signal, seen);
  parked.fetch_sub(1);
}

// False: nothing came for long.
bool Pool::State::await_awake(u32 seen) {
  Spin spin(idle_spin_ns, 0);
  i64 asked_ns = now_ns();
  u32 looks = 0;
  bool goes_on = true;
  spinning.fetch_add(1, std::memory_order_relaxed);
  if (is_in_the_way()) sched_yield();
  while (goes_on && signal.load(std::memory_order_acquire) == seen && !is_offered()) {
    goes_on = spin.wait();
    if (++looks % 32 != 0) continue;
    const i64 now = now_ns();
    if (now - asked_ns < ask_every_ns) continue;
    asked_ns = now;
    ask();
    if (is_in_the_way()) sched_yield();
  }
  spinning.fetch_sub(1, std::memory_order_relaxed);
  return goes_on;
}

bool Pool::State::is_offered() {
  bool offered = false;
  each_job([&offered](const Job& job) {
    offered = offered || job.has_work.load(std::memory_order_relaxed);
  });
  return offered;
}

// No need to enter: the bell is the pool's own memory.
void Pool::State::ask() {
  each_job([](Job& job) {
    if ((job.gate.load(std::memory_order_relaxed) & closed) != 0) return;
    if (!job.listens.load(std::memory_order_relaxed)) return;
    job.bell.asked.store(true, std::memory_order_relaxed);
    job.bell.rings.fetch_add(1, std::memory_order_relaxed);
  });
}

// Whether the thread spins on a processor on which a job's owner would work.
bool Pool::State::is_in_the_way() {
  const i32 here = sched_getcpu();
  bool found = false;
  each_job([&found, here](const Job& job) {
    const bool is_open = (job.gate.load(std::memory_order_relaxed) & closed) == 0;
    found = found || (is_open && job.processor.load(std::memory_order_relaxed) == here);
  });
  return found;
}

// Under the mutex. The thread counts as idle from here on.
bool Pool::State::start_thread() {
  helpers.reserve(helpers.size() + 1);
  auto helper = std::make_unique<Helper>();
  helper->state = this;
  if (!helper->thread.start(text("{}", helpers.size() + 1), help_main, helper.get())) return false;
  helpers.push_back(std::move(helper));
  ++idle;
  return true;
}

void Pool::State::wake(i32 count) {
  signal.fetch_add(1);
  if (parked.load() != 0) futex_wake(signal, count);
}

// Without the mutex: a host may run the task right away.
void Pool::State::submit(i32 count) {
  for (i32 i = 0; i < count; ++i) host->submit(host->user, host_main, this);
}

// ---- Watching

// False: none was open since the last visit.
bool Pool::State::visit_jobs(void* self) {
  bool was_open = false;
  static_cast<State*>(self)->each_job([&was_open](Job& job) {
    was_open = was_open || job.opened.exchange(0, std::memory_order_relaxed) != 0;
    if (!job.enter()) return;
    was_open = true;
    {
      const MemoryScope scope(job.memory);
      job.work.watch(job.work.user);
    }
    job.leave();
  });
  return was_open;
}

// ---- The pool

Pool::Pool(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Pool>> Pool::create(i32 threads) {
  if (threads < 1 || threads > threads_limit) {
    return fail(Reason::argument_range, "a pool has 1 to {} threads, got {}", threads_limit,
                threads);
  }
  auto state = std::make_unique<State>();
  state->bound = threads;
  return std::unique_ptr<Pool>(new Pool(std::move(state)));
}

Result<std::unique_ptr<Pool>> Pool::create(const Host& host) {
  if (!host.submit) return fail(Reason::argument_null, "a host's pool has a function submit");
  if (host.parallelism < 0 || host.parallelism > host_parallelism_max) {
    return fail(Reason::argument_range, "a host's pool runs 0 to {} tasks at once, got {}",
                host_parallelism_max, host.parallelism);
  }
  auto state = std::make_unique<State>();
  state->bound = host.parallelism + 1;
  state->host = host;
  return std::unique_ptr<Pool>(new Pool(std::move(state)));
}

Pool::~Pool() {
  State& state = *state_;
  {
    State::Lock lock(state.mutex);
    state.stopping.store(true);
    while (state.tasks > 0) {
      const u32 seen = state.tasks_ended.load();
      lock.unlock();
      futex_wait(state.tasks_ended, seen);
      lock.lock();
    }
  }
  state.signal.fetch_add(1);
  futex_wake_all(state.signal);
  for (const std::unique_ptr<State::Helper>& helper : state.helpers) helper->thread.join();
}

Pool::Bell& Pool::bell(Job* job) { return job->bell; }
i32 Pool::threads() const { return state_->bound; }
i32 Pool::summon_max() const { return state_->host ? state_->bound - 1 : threads_limit - 1; }
bool Pool::watches() const { return !state_->host; }
i32 Pool::awake() const { return state_->spinning.load(std::memory_order_relaxed); }

Pool::Job* Pool::employ(const Work& work) {
  State& state = *state_;
  const State::Lock lock(state.mutex);
  Job* job = state.jobs.load(std::memory_order_relaxed);
  while (job && job->is_employed) job = job->next;
  if (!job) {
    state.owned_jobs.push_back(std::make_unique<Job>());
    job = state.owned_jobs.back().get();
    job->next = state.jobs.load(std::memory_order_relaxed);
    state.jobs.store(job, std::memory_order_release);
  }
  job->work = work;
  job->is_employed = true;
  job->listens.store(true, std::memory_order_relaxed);
  return job;
}

void Pool::dismiss(Job* job) {
  const State::Lock lock(state_->mutex);
  job->is_employed = false;
}

void Pool::open(Job* job) {
  State& state = *state_;
  job->memory = current_memory();
  job->opened.store(1, std::memory_order_relaxed);
  job->was_summoned.store(false, std::memory_order_relaxed);
  job->processor.store(sched_getcpu(), std::memory_order_relaxed);
  job->gate.store(0);
  if (state.host) return;
  try {
    state.ticker.need();            // last: where it is about to stop, it looks for an open job
  } catch (...) {
    close(job);
    throw;
  }
}

void Pool::close(Job* job) {
  State& state = *state_;
  job->has_work.store(false, std::memory_order_relaxed);
  if (job->was_summoned) {
    const State::Lock lock(state.mutex);
    std::erase_if(state.tickets, [&state, job](const State::Tickets& tickets) {
      if (tickets.job == job) state.promised -= tickets.left;
      return tickets.job == job;
    });
  }
  // Whoever is still inside is between two looks, not at work: soon gone, unless it has lost its
  // processor.
  if (job->gate.fetch_or(closed) == 0) return;
  constexpr i64 spin_ns = 5'000;
  Spin spin(spin_ns, 0);
  while (job->gate.load(std::memory_order_acquire) != closed) {
    if (!spin.wait()) sched_yield();
  }
}

void Pool::listen(Job* job, bool listens) {
  job->listens.store(listens, std::memory_order_relaxed);
}

void Pool::offer(Job* job, bool has_work) {
  job->has_work.store(has_work, std::memory_order_release);
}

void Pool::invite(i32 threads) {
  State& state = *state_;
  if (state.host) {
    i32 count = 0;
    {
      const State::Lock lock(state.mutex);
      count = std::max(std::min(threads, state.host->parallelism - state.tasks), 0);
      state.tasks += count;
      state.idle += count;
    }
    state.submit(count);
    return;
  }
  {
    const State::Lock lock(state.mutex);
    const auto wanted = static_cast<size_t>(std::min(threads, state.bound - 1));
    while (state.helpers.size() < wanted && state.start_thread()) {
    }
  }
  state.wake(threads);
}

i32 Pool::summon(Job* job, i32 wanted, Summon how) {
  State& state = *state_;
  i32 coming = 0, submitted = 0;
  {
    const State::Lock lock(state.mutex);
    state.tickets.reserve(state.tickets.size() + 1);  // what fails comes before what counts
    if (state.host) {
      const i32 busy = state.tasks - state.idle;
      coming = std::max(std::min(wanted, state.host->parallelism - busy - state.promised), 0);
      if (how == Summon::AllOrNone && coming < wanted) return 0;
      submitted = std::max(coming - (state.idle - state.promised), 0);
      state.tasks += submitted;
      state.idle += submitted;
    } else {
      const i32 busy = static_cast<i32>(state.helpers.size()) - state.idle;
      const i32 allowed = how == Summon::AllOrNone ? threads_limit - 1 : state.bound - 1;
      const i32 room = std::max(allowed - busy - state.promised, 0);
      coming = std::min(wanted, room);
      while (state.idle - state.promised < coming && state.start_thread()) {
      }
      coming = std::min(coming, state.idle - state.promised);
    }
    if (coming == 0 || (how == Summon::AllOrNone && coming < wanted)) return 0;
    job->was_summoned.store(true, std::memory_order_relaxed);
    state.tickets.push_back({job, ++state.tickets_made, coming});
    state.promised += coming;
  }
  if (state.host) {
    state.submit(submitted);
  } else {
    state.wake(coming);
  }
  return coming;
}

}  // namespace soma
