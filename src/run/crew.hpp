// The threads at work on a run: the waves that they share, and who comes to help.
#pragma once

#include <map>

#include "base/pool.hpp"
#include "base/short_mutex.hpp"
#include "run/wave_lists.hpp"
#include "run/worth.hpp"

namespace soma {

class Strand;
struct RunState;

enum class LaunchMode : u8;  // run.hpp

// First in, first out, without memory of its own.
class StrandLine {
 public:
  bool empty() const { return !first_; }
  void add(Strand& strand);
  Strand* take();                  // nullptr: there is none
  void clear() { first_ = last_ = nullptr; }

 private:
  Strand *first_ = nullptr, *last_ = nullptr;
};

class Crew {
 public:
  // Without a pool the caller is alone.
  Crew(RunState& run, Pool* pool, LaunchMode launch, i32 threads);
  ~Crew();

  // run_threads, if branches that may wait for each other can't run at the same time, whatever
  // happens. Once, when the ops are bound.
  Status prepare();
  u32 threads() const { return static_cast<u32>(threads_); }  // at most, the caller included

  // Between these, threads may come. `alone`: only those that have to.
  void begin(Strand& caller, bool alone);
  void end(bool well);
  void abandon();  // the same in the middle of a run: nobody needs it any more

  // ---- For strands
  Pool::Bell& bell() { return *bell_; }
  // Has every strand look whether it must stop.
  void ring();
  // The same, as a branch of this wave failed, or the wave was dropped.
  void stop(Wave& wave);
  bool has_light_fence() const { return has_light_fence_; }
  bool is_alone() const { return is_alone_; }
  bool has_sentinel() const { return job_ != nullptr; }
  bool is_measuring() const { return worth_.is_measuring(); }
  void measured(u32 node, i64 took_ns) { worth_.add(node, took_ns); }
  bool is_small(u32 item) const { return worth_.is_small(item); }
  bool needs_queue(u32 item) const;
  bool waits(u32 item) const { return !traits_.empty() && (traits_[item] & has_waits) != 0; }
  // Whether a strand in it may park: there is a step.
  bool awaits(u32 item) const { return !traits_.empty() && (traits_[item] & has_steps) != 0; }
  // As a walk comes to a wave that is worth sharing.
  void invite_to(const Stop& wave);
  // Opens a wave; and closes it when it is over, for another to be opened in its place. Nothing:
  // somebody is inside.
  Wave* open(Wave::Terms terms);
  struct Closed {
    Region region;
    Flow* flow;
    std::optional<Wave::Failure> failure;
  };
  std::optional<Closed> close(Wave& wave);
  // There is more to share in a wave than before: offers it to those who are awake, and summons
  // hands for branches that must begin (run_threads, if they don't come).
  void offer(Wave& wave, bool owner_is_free);
  Status share(Wave& wave, bool owner_is_free);
  // For who waits for a part of the plan to end: helps with a wave in it. False: there is none, or
  // `depth` says that he already does so for others who wait on the same thread's stack.
  bool help_within(const Region& region, u32 depth);
  // ---- For strands that wait for something else than threads
  // Its walk has returned Parked. False: it was woken meanwhile, and walks on.
  bool park(Strand& strand);
  // From any thread: what it waits for may have happened.
  void wake(Strand& strand);
  bool is_parked(const Strand& strand);
  // For the caller, whose own strand is parked: does what there is to do until that one can go on.
  // False: the time is over.
  bool lead(Strand& root, i64 pause_at_ns);

  // A wave of which an earlier branch failed, so that this node need not run; nullptr: none.
  const Wave* stopped_by(u32 node);
  bool lost_memory() const { return lost_memory_.load(std::memory_order_relaxed); }

 private:
  static constexpr u8 has_pinned = BranchQueue::has_pinned, has_waits = BranchQueue::has_waits,
                      has_steps = BranchQueue::has_steps;

  Status find_traits();
  u32 threads_needed() const;
  void stop_at(std::vector<WorthyWave> waves);
  void invite();
  void learn() noexcept;

  static bool help(void* self) noexcept;
  static void serve(void* self) noexcept;
  static void watch(void* self) noexcept;
  // A wave with something to do, and for who was summoned a branch of it.
  struct Entered {
    Wave* wave = nullptr;
    Strand* strand = nullptr;      // that was parked in it, and goes on
    std::optional<Share> share = {};
    u32 rings = 0;                 // of the bell, before that
  };
  Entered enter_one(Hand hand);
  i32 summon(Wave& wave, u32 wanted, Pool::Summon how);
  void work_on(Entered entered) noexcept;
  void lead_into(Entered entered, i64 pause_at_ns) noexcept;
  bool work_on(Wave& wave, const Share& share, Hand hand, Strand& strand);
  bool walk(Strand& strand, i64 pause_at_ns, bool is_caller);
  void leave(Wave& wave);
  void put_away(Wave& wave);
  void wake_now(Strand& strand);
  void go_on(Strand& strand);
  void stir();
  Entered enter_as_caller(Strand& root);
  bool may_go_on();
  void forget_memory(Wave& wave) noexcept;
  Strand& borrow_strand();
  void give_back(Strand& strand);
  const BranchOrder& order_of(u32 item);
  void look_after();

  RunState& run_;
  Pool* const pool_;
  const LaunchMode launch_;
  const i32 threads_;
  Pool::Job* job_ = nullptr;
  Pool::Bell own_bell_;            // of a run without a pool
  Pool::Bell* bell_ = &own_bell_;
  Strand* caller_ = nullptr;
  bool is_alone_ = true, is_open_ = false;
  std::vector<u8> traits_;         // by item; empty: none has any
  u32 needed_ = 1;                 // threads
  bool has_light_fence_ = true;    // or nobody on the other side of it
  Worth worth_;
  i64 ended_ns_ = 0;               // the last run, if it would have gained by help
  i64 missed_ns_ = 0;              // by runs that had no help, one right after the other
  bool has_decided_ = false;       // whether threads are woken for this run as a whole
  i64 invited_ns_ = 0;             // when they were

  ShortMutex mutex_;               // guards:
  std::vector<std::unique_ptr<Wave>> waves_;
  std::vector<Wave*> spare_;
  WaveBag<&Wave::open_place> open_;
  // Of the open ones: those in which there may be work, also such as only the caller may do; those
  // of which branches need not run any more; and one for each hand that is promised to it.
  WaveRow shared_;
  WaveBag<&Wave::pinned_place> pinned_;
  WaveBag<&Wave::stopped_place> stopped_;
  std::vector<Wave*> promised_;
  std::map<u32, std::unique_ptr<BranchOrder>> orders_;  // by item
  std::vector<std::unique_ptr<Strand>> strands_;
  std::vector<Strand*> spare_strands_;
  std::vector<Strand*> at_work_;   // but the root's
  std::vector<Strand*> parked_;    // of all, the root's too
  StrandLine ready_, ready_for_caller_;
  i32 hands_ = 0;                  // at work on shares, without the owners of waves
  i32 coming_ = 0;                 // summoned

  std::atomic<bool> has_failed_{false};  // some wave's branch, in this run
  std::atomic<bool> lost_memory_{false};
  std::atomic<u64> begun_{0};      // runs
  std::atomic<u64> finished_{0};   // shares
  std::atomic<u32> beyond_{0};     // threads that the sentinel summoned
  std::atomic<u32> stirred_{0};    // what a caller without work waits for
  std::atomic<bool> caller_sleeps_{false};
  u64 begun_before_ = 0, finished_before_ = 0;  // the sentinel's: at its last look
  u64 quiet_ = 0;                  // since then nothing was finished: see look_after
};

}  // namespace soma
