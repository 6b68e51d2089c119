// Shares waves: opens and closes them, leads helpers to them, and looks after those that nobody
// helps with.
//
// Waves that may be helped with stand in one list under one mutex, which is taken to open, to close
// and to look for a wave, but not to claim from one. Records of waves and strands are used again,
// and live as long as the run.
//
// The sentinel (look_after, every 10 ms) opens what walks are in the middle of, and invites
// threads. If after that branches still have nobody, all threads that the bound allows for are in
// branches: they may be slow, or they may wait for just those branches. Nobody can tell, so threads
// beyond the bound are summoned, but ever more slowly as long as nothing ends: the n-th after 2^n
// looks. Branches that wait for each other are late, and meet; a bound is exceeded by the logarithm
// of how long its branches take.
#include "run/crew.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/fence.hpp"
#include "base/spin.hpp"
#include "run/run.hpp"
#include "run/strand.hpp"

namespace soma {

namespace {
constexpr i64 pays_ns = 200'000;         // what is gained by threads that have to be woken
constexpr i64 soon_ns = 100'000;         // as long as it takes them to come
}  // namespace

Crew::Crew(RunState& run, Pool* pool, LaunchMode launch, i32 threads)
    : run_(run),
      pool_(pool),
      launch_(launch),
      threads_(pool ? std::min(threads > 0 ? threads : pool->threads(), pool->threads()) : 1),
      worth_(run.plan, run.course) {}

Crew::~Crew() {
  if (job_) pool_->dismiss(job_);
}

bool Crew::is_wave(u32 item) const {
  const Variant variant = run_.plan.items[item].variant;
  return variant == Variant::Parallel || variant == Variant::Dataflow;
}

bool Crew::needs_queue(u32 item) const {
  return run_.plan.items[item].variant == Variant::Dataflow || launch_ == LaunchMode::Always ||
         (!traits_.empty() && traits_[item] != 0);
}

// ---- Runs

void Crew::begin(Strand& caller, bool alone) {
  caller_ = &caller;
  is_alone_ = !job_ || (alone && needed_ == 1);
  has_failed_.store(false, std::memory_order_relaxed);
  lost_memory_.store(false, std::memory_order_relaxed);
  if (is_alone_) return;
  coming_ = 0;
  begun_.store(begun_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  pool_->open(job_);
  is_open_ = true;
  if (launch_ == LaunchMode::Always || threads_ == 1) return;
  worth_.begin_run();
  has_decided_ = false;
  if (worth_.gain_ns() > 0 && worth_.lead_ns() < soon_ns) invite();
}

// Waking threads costs the caller some thirty microseconds and they come a hundred later: that pays
// if a run is long, or if many come one right after the other and the threads stay awake. But for
// who has nothing to do that is not for long: so they are woken as the run begins if its first
// shared wave begins soon, otherwise as that one does.
void Crew::invite() {
  constexpr i64 right_after_ns = 100'000;
  has_decided_ = true;
  if (pool_->awake() > 0) return;
  const i64 now = now_ns();
  if (ended_ns_ == 0 || now - ended_ns_ > right_after_ns) missed_ns_ = 0;
  missed_ns_ += worth_.gain_ns();
  if (missed_ns_ < pays_ns) return;
  missed_ns_ = 0;
  invited_ns_ = now;
  pool_->invite(threads_ - 1);
}

// Once more, if a long part that nobody could help with has sent them to sleep again.
void Crew::invite_to(const Stop& wave) {
  constexpr i64 on_their_way_ns = 300'000;
  if (is_alone_ || wave.gain_ns == 0) return;
  if (!has_decided_) {
    invite();
    return;
  }
  if (wave.gain_ns < pays_ns || pool_->awake() > 0) return;
  const i64 now = now_ns();
  if (now - invited_ns_ < on_their_way_ns) return;
  invited_ns_ = now;
  pool_->invite(threads_ - 1);
}

void Crew::end(bool well) {
  if (!is_open_) return;
  pool_->close(job_);
  is_open_ = false;
  if (worth_.is_measuring() && well) {
    stop_at(worth_.learn(run_.passes, static_cast<u32>(threads_)));
    pool_->listen(job_, !worth_.all_small());
  }
  if (worth_.gain_ns() > 0) ended_ns_ = now_ns();
}

void Crew::abandon() {
  {
    const std::lock_guard lock(mutex_);
    for (Wave* wave : open_) wave->drop();
  }
  ring();
  end(false);
  if (caller_) {
    caller_->abandon();
    caller_->parking = Strand::Parking::No;
  }
  parked_.clear();
  ready_.clear();
  spare_strands_.clear();
  for (const std::unique_ptr<Strand>& strand : strands_) {
    strand->abandon();
    strand->parking = Strand::Parking::No;
    spare_strands_.push_back(strand.get());
  }
  spare_.insert(spare_.end(), open_.begin(), open_.end());  // there is room for all
  open_.clear();
  shared_.clear();
}

Wave* Crew::open(Wave::Terms terms) {
  const std::lock_guard lock(mutex_);
  if (spare_.empty()) {
    waves_.push_back(std::make_unique<Wave>(run_.plan, run_.course));
    spare_.reserve(waves_.capacity());
    open_.reserve(waves_.capacity());
    spare_.push_back(waves_.back().get());
  }
  Wave* wave = spare_.back();
  terms.threads = static_cast<u32>(threads_);
  if (needs_queue(terms.item)) {
    const bool is_dataflow = run_.plan.items[terms.item].variant == Variant::Dataflow;
    wave->begin_queue(terms, order_of(terms.item), traits_,
                      launch_ == LaunchMode::Always || !is_dataflow || awaits(terms.item));
  } else {
    wave->begin(terms);
  }
  spare_.pop_back();
  open_.push_back(wave);
  return wave;
}

// Made once for all runs.
const BranchOrder& Crew::order_of(u32 item) {
  std::unique_ptr<BranchOrder>& order = orders_[item];
  if (!order) order = std::make_unique<BranchOrder>(run_.plan, item);
  return *order;
}

void Crew::close(Wave* wave) {
  const std::lock_guard lock(mutex_);
  // The innermost closes first.
  const auto drop = [wave](auto& list) {
    const auto at = std::find(list.rbegin(), list.rend(), wave);
    if (at != list.rend()) list.erase(std::next(at).base());
  };
  drop(open_);
  drop(shared_);
  spare_.push_back(wave);
}

void Crew::offer(Wave& wave, bool owner_is_free) {
  const std::lock_guard lock(mutex_);
  if (launch_ == LaunchMode::Always && is_open_) {
    const i32 room = std::max(threads_ - 1 - hands_ - coming_, 0);
    summon(wave, std::min(wave.idle_branches(owner_is_free), static_cast<u32>(room)),
           Pool::Summon::Fewer);
  }
  if (!wave.can_share()) return;
  // The innermost comes last, and is the one that is offered most.
  if (std::find(shared_.rbegin(), shared_.rend(), &wave) == shared_.rend()) {
    shared_.push_back(&wave);
  }
  if (is_open_) pool_->offer(job_, true);
  stir();
}

Status Crew::share(Wave& wave, bool owner_is_free) {
  u32 missing = 0;
  i32 coming = 0;
  {
    const std::lock_guard lock(mutex_);
    missing = wave.missing_hands(owner_is_free);
    coming = summon(wave, missing, Pool::Summon::AllOrNone);
  }
  if (coming < static_cast<i32>(missing)) {
    return fail(Reason::run_threads,
                "branches that may wait for each other need {} more threads at the same time, and "
                "there are not so many now: other runs have them, or the system gives no more",
                missing);
  }
  offer(wave, owner_is_free);
  return {};
}

// Under the mutex, under which promises are kept too: there are as many as threads to come.
i32 Crew::summon(Wave& wave, u32 wanted, Pool::Summon how) {
  if (wanted == 0) return 0;
  wave.promise(wanted);             // first, so that nobody else takes what is theirs
  const i32 coming = pool_->summon(job_, static_cast<i32>(wanted), how);
  wave.withdraw(wanted - static_cast<u32>(coming));
  coming_ += coming;
  return coming;
}

// Those that are parked look too.
void Crew::ring() {
  has_failed_.store(true, std::memory_order_relaxed);
  bell_->rings.fetch_add(1);
  const std::lock_guard lock(mutex_);
  while (!parked_.empty()) wake_now(*parked_.back());
}

const Wave* Crew::stopped_by(u32 node) {
  if (!has_failed_.load(std::memory_order_relaxed)) return nullptr;
  const std::lock_guard lock(mutex_);
  for (const Wave* wave : open_) {
    if (wave->stops(node)) return wave;
  }
  return nullptr;
}

// ---- Helpers

bool Crew::help(void* self) noexcept {
  auto& crew = *static_cast<Crew*>(self);
  const Entered entered = crew.enter_one(Hand::Helper);
  if (!entered.wave) return false;
  crew.work_on(entered);
  return true;
}

void Crew::serve(void* self) noexcept {
  auto& crew = *static_cast<Crew*>(self);
  Entered entered = crew.enter_one(Hand::Summoned);
  if (entered.wave) {
    crew.work_on(entered);
    return;
  }
  // The sentinel's.
  entered = crew.enter_one(Hand::Helper);
  if (entered.wave) crew.work_on(entered);
  if (crew.beyond_.load(std::memory_order_relaxed) > 0) {
    crew.beyond_.fetch_sub(1, std::memory_order_relaxed);
  }
}

Crew::Entered Crew::enter_one(Hand hand) {
  const u32 rings = bell_->rings.load(std::memory_order_acquire);
  const std::lock_guard lock(mutex_);
  const auto enter = [this, rings](Wave* wave, std::optional<Share> share) {
    wave->enter();
    ++hands_;
    return Entered{wave, nullptr, share, rings};
  };
  if (Strand* strand = hand == Hand::Helper ? take_ready(false) : nullptr) {
    ++hands_;
    return Entered{strand->job.wave, strand};
  }
  if (hand == Hand::Summoned) {
    --coming_;
    // The promise is likely to be young.
    for (auto at = open_.rbegin(); at != open_.rend(); ++at) {
      Wave* const wave = *at;
      if (wave->promised() == 0) continue;
      const std::optional<Share> share = wave->claim(hand);
      return share ? enter(wave, share) : Entered{};  // somebody else was faster
    }
    return {};
  }
  while (!shared_.empty()) {
    if (shared_.front()->can_share()) return enter(shared_.front(), std::nullopt);
    shared_.pop_front();
  }
  pool_->offer(job_, false);
  return {};
}

// As long as there is something in this wave; who was summoned runs one branch and leaves, as he
// may be one more than the bound. Who parks leaves the strand behind, which keeps the wave open.
void Crew::work_on(Entered entered) noexcept {
  Wave& wave = *entered.wave;
  bool has_ended = true;
  try {
    Strand& strand = entered.strand ? *entered.strand : borrow_strand();
    if (entered.strand) {
      has_ended = walk(strand, 0, false);
    } else if (entered.share) {
      strand.listen_to(entered.rings);
      has_ended = work_on(wave, *entered.share, Hand::Summoned, strand);
    } else {
      do {
        strand.listen_to(bell_->rings.load(std::memory_order_acquire));
        const std::optional<Share> share = wave.claim(Hand::Helper);
        if (!share) break;
        has_ended = work_on(wave, *share, Hand::Helper, strand);
      } while (has_ended && may_go_on());
    }
    if (has_ended) give_back(strand);
  } catch (...) {
    forget_memory(wave);
  }
  {
    const std::lock_guard lock(mutex_);
    --hands_;
  }
  if (has_ended) leave(wave);
}

// Somebody who waits for the wave to end may be parked.
void Crew::leave(Wave& wave) {
  const bool has_steps_inside = awaits(wave.item());
  Strand* const owner = wave.owner();
  wave.leave();
  if (!has_steps_inside) return;
  // The wave may be another's by now: then its owner is woken for nothing.
  wake(*owner);
}

// There is no memory to say more, and nobody may be left behind.
void Crew::forget_memory(Wave& wave) noexcept {
  lost_memory_.store(true, std::memory_order_relaxed);
  wave.drop();
  ring();
}

bool Crew::help_within(const Region& region, u32 depth) {
  constexpr u32 depth_max = 8;     // walks on one thread's stack
  if (depth == depth_max) return false;
  Wave* inner = nullptr;
  {
    const std::lock_guard lock(mutex_);
    for (Wave* wave : shared_) {
      const Region& other = wave->region();
      const bool is_within = region.item < other.item && other.item_end <= region.item_end;
      if (!is_within || !wave->can_share()) continue;
      inner = wave;
      inner->enter();
      break;
    }
  }
  if (!inner) return false;
  bool helped = false;
  try {
    const u32 rings = bell_->rings.load(std::memory_order_acquire);
    if (const std::optional<Share> share = inner->claim(Hand::Helper)) {
      Strand& strand = borrow_strand();
      strand.listen_to(rings);
      strand.set_depth(depth + 1);
      work_on(*inner, *share, Hand::Helper, strand);  // no step in it: it does not park
      strand.set_depth(0);
      give_back(strand);
      helped = true;
    }
  } catch (...) {
    forget_memory(*inner);
  }
  inner->leave();
  return helped;
}

bool Crew::work_on(Wave& wave, const Share& share, Hand hand, Strand& strand) {
  strand.job = {&wave, share, hand};
  strand.begin(share.region, wave.in_loop());
  return walk(strand, 0, false);
}

// A strand with a share. True: the share has ended, and its wave knows. False: the strand is parked
// or paused.
bool Crew::walk(Strand& strand, i64 pause_at_ns, bool is_caller) {
  Wave& wave = *strand.job.wave;
  const Share share = strand.job.share;
  while (true) {
    const Strand::Outcome outcome = strand.walk(pause_at_ns, is_caller);
    finished_.fetch_add(1, std::memory_order_relaxed);  // or got somewhere, at least
    switch (outcome) {
      case Strand::Outcome::Parked:
        if (park(strand)) return false;
        continue;
      case Strand::Outcome::Paused:
        // What it was woken for meanwhile does not count: it comes back anyhow.
        while (!park(strand)) {
        }
        wake(strand);
        return false;
      case Strand::Outcome::Done: {
        if (!wave.finish(share)) return true;
        Status shared = this->share(wave, false);
        if (shared.ok()) return true;
        wave.fail(share, {share.region.end - 1, std::move(shared).error()});
        break;
      }
      case Strand::Outcome::Failed: {
        Wave::Failure failure = strand.take_failure();
        const bool stops_others = !failure.is_suspension;
        wave.fail(share, std::move(failure));
        if (!stops_others) return true;
        break;
      }
      case Strand::Outcome::Dropped:  // nobody looks at what it left undone
        wave.finish(share);
        return true;
    }
    ring();
    return true;
  }
}

// Whether a helper that has ended a share may take another.
bool Crew::may_go_on() {
  const std::lock_guard lock(mutex_);
  return hands_ < threads_;
}

Strand& Crew::borrow_strand() {
  const std::lock_guard lock(mutex_);
  if (spare_strands_.empty()) {
    const auto thread = static_cast<u32>(strands_.size()) + 1;
    // First, so that there is room for all strands that there are, whatever fails.
    spare_strands_.reserve(strands_.size() + 1);
    parked_.reserve(strands_.size() + 2);
    ready_.reserve(strands_.size() + 2);
    strands_.push_back(std::make_unique<Strand>(run_, thread));
    return *strands_.back();
  }
  Strand* strand = spare_strands_.back();
  spare_strands_.pop_back();
  return *strand;
}

void Crew::give_back(Strand& strand) {
  const std::lock_guard lock(mutex_);
  spare_strands_.push_back(&strand);
}

// ---- Strands that wait

bool Crew::park(Strand& strand) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(strand.is_woken, false)) return false;
  strand.parking = Strand::Parking::Parked;
  parked_.push_back(&strand);
  return true;
}

void Crew::wake(Strand& strand) {
  const std::lock_guard lock(mutex_);
  wake_now(strand);
}

// Under the mutex.
void Crew::wake_now(Strand& strand) {
  if (strand.parking == Strand::Parking::No) {
    strand.is_woken = true;
    return;
  }
  if (strand.parking == Strand::Parking::Ready) return;
  *std::ranges::find(parked_, &strand) = parked_.back();
  parked_.pop_back();
  strand.parking = Strand::Parking::Ready;
  ready_.push_back(&strand);
  if (is_open_) pool_->offer(job_, true);
  stir();
}

void Crew::stir() {
  stirred_.fetch_add(1);
  if (caller_sleeps_.load()) futex_wake_all(stirred_);
}

bool Crew::is_parked(const Strand& strand) {
  const std::lock_guard lock(mutex_);
  return strand.parking != Strand::Parking::No;
}

// Under the mutex: the one that has been ready for longest.
Strand* Crew::take_ready(bool for_caller) {
  for (size_t i = 0; i < ready_.size(); ++i) {
    Strand* strand = ready_[i];
    if (!for_caller && strand->job.hand == Hand::Caller) continue;
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(i));
    strand->parking = Strand::Parking::No;
    return strand;
  }
  return nullptr;
}

bool Crew::lead(Strand& root, i64 pause_at_ns) {
  constexpr i64 spin_ns = 50'000, yield_ns = 200'000, longest_ns = 10'000'000;
  bool has_told = false;
  while (true) {
    const u32 seen = stirred_.load();
    Entered entered = enter_as_caller(root);
    if (entered.strand == &root) return true;
    if (entered.wave) {
      Wave& wave = *entered.wave;
      Strand& strand = entered.strand ? *entered.strand : borrow_strand();
      if (entered.share) {
        strand.listen_to(entered.rings);
        strand.job = {&wave, *entered.share, Hand::Caller};
        strand.begin(entered.share->region, wave.in_loop());
      }
      if (walk(strand, pause_at_ns, true)) {
        give_back(strand);
        leave(wave);
      }
      if (pause_at_ns != 0 && now_ns() >= pause_at_ns) return false;
      continue;
    }
    if (pause_at_ns != 0) return false;
    if (!run_.cancel->check().ok() && !std::exchange(has_told, true)) ring();
    Spin spin(spin_ns, yield_ns);
    while (stirred_.load() == seen && spin.wait()) {
    }
    caller_sleeps_.store(true);
    if (stirred_.load() == seen) futex_wait_for(stirred_, seen, longest_ns);
    caller_sleeps_.store(false);
  }
}

// What goes on comes first: it keeps waves open.
Crew::Entered Crew::enter_as_caller(Strand& root) {
  const u32 rings = bell_->rings.load(std::memory_order_acquire);
  const std::lock_guard lock(mutex_);
  if (Strand* strand = take_ready(true)) {
    return {strand == &root ? nullptr : strand->job.wave, strand, std::nullopt, rings};
  }
  for (Wave* wave : open_) {
    const std::optional<Share> share = wave->claim(Hand::Caller);
    if (!share) continue;
    wave->enter();
    return {wave, nullptr, share, rings};
  }
  return {};
}

// ---- The sentinel

void Crew::watch(void* self) noexcept {
  try {
    static_cast<Crew*>(self)->look_after();
  } catch (...) {
    // Out of memory: the next look may have more.
  }
}

void Crew::look_after() {
  const u64 begun = begun_.load(std::memory_order_relaxed);
  const bool is_new = std::exchange(begun_before_, begun) != begun;
  const u64 finished = finished_.load(std::memory_order_relaxed);
  quiet_looks_ = std::exchange(finished_before_, finished) != finished ? 0 : quiet_looks_ + 1;
  if (is_new) quiet_looks_ = 0;
  if (is_new) return;  // most runs end before the next look

  bell_->asked.store(true, std::memory_order_relaxed);
  size_t strands = 0;
  {
    const std::lock_guard lock(mutex_);
    strands = strands_.size();
  }
  caller_->expose_if_calling();
  for (size_t i = 0; i < strands; ++i) {
    Strand* strand = nullptr;
    {
      const std::lock_guard lock(mutex_);
      strand = strands_[i].get();
    }
    strand->expose_if_calling();
  }

  bool has_work = false;
  {
    const std::lock_guard lock(mutex_);
    has_work = !ready_.empty() ||
               std::ranges::any_of(shared_, [](Wave* wave) { return wave->can_share(); });
  }
  if (!has_work) return;
  pool_->invite(threads_ - 1);
  const u32 beyond = beyond_.load(std::memory_order_relaxed);
  constexpr u32 doublings_max = 32;
  if (quiet_looks_ < u64{1} << std::min(beyond, doublings_max)) return;
  beyond_.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  const i32 coming = pool_->summon(job_, 1, Pool::Summon::AllOrNone);
  coming_ += coming;
  if (coming == 0) beyond_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace soma
