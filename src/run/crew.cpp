// Shares waves: opens and closes them, leads helpers to them, and looks after those that nobody
// helps with.
//
// Waves that may be helped with stand in lists under one mutex, which is taken to open, to close
// and to look for a wave, but not to claim from one. A hundred thousand waves may be open at once,
// so nothing goes through a list to find one: each wave knows where it stands (wave_lists.hpp), and
// who looks for work takes what has none out of his way for good. Records of waves and strands are
// used again, and live as long as the run.
//
// The sentinel (look_after, every 10 ms) opens what walks are in the middle of, and invites
// threads. If after that branches still have nobody, all threads that the bound allows for are in
// branches: they may be slow, or they may wait for just those branches. Nobody can tell, so threads
// beyond the bound are summoned, but ever more slowly as long as nothing ends: the n-th after 2^n
// looks. Branches that wait for each other are late, and meet; a bound is exceeded by the logarithm
// of how long its branches take. Who waits in a node is in the same one at the next look: as long
// as all strands have moved on, a look counts a 64th, since a thread too many takes the processor
// from one that is at work. (It counts at all as there are loops that ask again and again.)
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

// Strands know their place in the list that they are in, so that none is searched for.
void put_in(std::vector<Strand*>& list, Strand& strand) {
  strand.list_place = static_cast<u32>(list.size());
  list.push_back(&strand);
}

void take_from(std::vector<Strand*>& list, Strand& strand) {
  list.back()->list_place = strand.list_place;
  list[strand.list_place] = list.back();
  list.pop_back();
}

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
  promised_.clear();
  at_work_.clear();                // there may be some that ended without memory
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
  if (is_alone_) return;
  const bool is_stream = run_.plan.items[wave.item].variant == Variant::Stream;
  if (is_stream && launch_ == LaunchMode::Always) pool_->invite(threads_ - 1);
  if (wave.gain_ns == 0) return;
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
  if (worth_.is_measuring() && well) learn();
  if (worth_.gain_ns() > 0) ended_ns_ = now_ns();
}

// It decides about speed only, so a run that has ended well does not fail for it.
void Crew::learn() noexcept {
  try {
    stop_at(worth_.learn(run_.passes, static_cast<u32>(threads_)));
    pool_->listen(job_, !worth_.all_small());
  } catch (const std::bad_alloc&) {
    // A later run is measured again.
  }
}

void Crew::abandon() {
  {
    const std::lock_guard lock(mutex_);
    for (Wave* wave : open_) {
      wave->drop();
      stopped_.add(*wave);
    }
    has_failed_.store(true, std::memory_order_relaxed);
  }
  ring();
  end(false);
  if (caller_) {
    caller_->abandon();
    caller_->parking = Strand::Parking::No;
  }
  at_work_.clear();
  parked_.clear();
  ready_.clear();
  ready_for_caller_.clear();
  spare_strands_.clear();
  for (const std::unique_ptr<Strand>& strand : strands_) {
    strand->abandon();
    strand->parking = Strand::Parking::No;
    spare_strands_.push_back(strand.get());
  }
  for (const std::unique_ptr<Wave>& wave : waves_) wave->give_up_all();
  while (!open_.empty()) put_away(open_.last());
}

Wave* Crew::open(Wave::Terms terms) {
  const std::lock_guard lock(mutex_);
  if (spare_.empty()) {
    auto made = std::make_unique<Wave>(run_.plan, run_.course);
    shared_.prepare(*made);
    waves_.push_back(std::move(made));
    spare_.reserve(waves_.capacity());
    open_.reserve(waves_.capacity());
    pinned_.reserve(waves_.capacity());
    stopped_.reserve(waves_.capacity());
    spare_.push_back(waves_.back().get());
  }
  Wave* wave = spare_.back();
  terms.threads = is_alone_ ? 1 : static_cast<u32>(threads_);
  if (run_.plan.items[terms.item].variant == Variant::Stream) {
    wave->begin_stream(terms, run_.streams.flow(terms.item));
  } else if (needs_queue(terms.item)) {
    const bool is_dataflow = run_.plan.items[terms.item].variant == Variant::Dataflow;
    wave->begin_queue(terms, order_of(terms.item), traits_,
                      launch_ == LaunchMode::Always || !is_dataflow || awaits(terms.item));
  } else {
    wave->begin(terms);
  }
  spare_.pop_back();
  open_.add(*wave);
  return wave;
}

// Made once for all runs.
const BranchOrder& Crew::order_of(u32 item) {
  std::unique_ptr<BranchOrder>& order = orders_[item];
  if (!order) order = std::make_unique<BranchOrder>(run_.plan, item);
  return *order;
}

// Who enters does so under the mutex, so that nobody comes too late, finds another wave there that
// is only being opened, and takes a part of it that its owner has as well.
std::optional<Crew::Closed> Crew::close(Wave& wave) {
  const std::lock_guard lock(mutex_);
  if (!wave.is_empty()) return std::nullopt;
  Closed closed{wave.region(), wave.flow(), wave.take_failure()};
  put_away(wave);
  return closed;
}

// Under the mutex. What is promised stays: hands that come for nothing go again.
void Crew::put_away(Wave& wave) {
  open_.remove(wave);
  shared_.remove(wave);
  pinned_.remove(wave);
  stopped_.remove(wave);
  spare_.push_back(&wave);         // there is room for all
}

void Crew::offer(Wave& wave, bool owner_is_free) {
  std::unique_lock lock(mutex_);
  if (launch_ == LaunchMode::Always && is_open_) {
    const i32 room = std::max(threads_ - 1 - hands_ - coming_, 0);
    summon(wave, std::min(wave.idle_branches(owner_is_free), static_cast<u32>(room)),
           Pool::Summon::Fewer);
  }
  const bool is_callers = !traits_.empty() && (traits_[wave.item()] & has_pinned) != 0;
  const bool can_share = wave.can_share();
  if (is_callers) pinned_.add(wave);
  if (can_share) shared_.add(wave);
  const bool is_offered = can_share && is_open_;
  if (is_callers || can_share) stir();
  lock.unlock();
  // Now that they need not wait for the mutex. Who takes an offer back has it, and has seen that
  // nothing is there: so this one is not among them, or there is nothing left of it.
  if (is_offered) pool_->offer(job_, true);
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
  promised_.reserve(promised_.size() + wanted);
  wave.promise(wanted);             // first, so that nobody else takes what is theirs
  i32 coming = 0;
  try {
    coming = pool_->summon(job_, static_cast<i32>(wanted), how);
  } catch (...) {
    wave.withdraw(wanted);          // nobody comes; a promise would be waited for
    throw;
  }
  wave.withdraw(wanted - static_cast<u32>(coming));
  promised_.insert(promised_.end(), static_cast<size_t>(coming), &wave);
  coming_ += coming;
  return coming;
}

// Those that are parked look too.
void Crew::ring() {
  const std::lock_guard lock(mutex_);
  bell_->rings.fetch_add(1);
  while (!parked_.empty()) wake_now(*parked_.back());
}

void Crew::stop(Wave& wave) {
  {
    const std::lock_guard lock(mutex_);
    stopped_.add(wave);
    has_failed_.store(true, std::memory_order_relaxed);
  }
  ring();
}

const Wave* Crew::stopped_by(u32 node) {
  if (!has_failed_.load(std::memory_order_relaxed)) return nullptr;
  const std::lock_guard lock(mutex_);
  for (const Wave* wave : stopped_) {
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
  if (Strand* strand = hand == Hand::Helper ? ready_.take() : nullptr) {
    go_on(*strand);
    ++hands_;
    return Entered{strand->job.wave, strand};
  }
  if (hand == Hand::Summoned) {
    --coming_;
    if (promised_.empty()) return {};
    Wave* const wave = promised_.back();
    promised_.pop_back();
    const std::optional<Share> share = wave->claim(hand);
    return share ? enter(wave, share) : Entered{};  // it may be over
  }
  if (Wave* const wave = shared_.first()) return enter(wave, std::nullopt);
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

// There is no memory to say more, and nobody may be left behind. Once it is dropped, a wave waits
// for no share, also none that was claimed and that nobody walks.
void Crew::forget_memory(Wave& wave) noexcept {
  lost_memory_.store(true, std::memory_order_relaxed);
  wave.drop();
  stop(wave);
}

bool Crew::help_within(const Region& region, u32 depth) {
  constexpr u32 depth_max = 8;     // walks on one thread's stack
  if (depth == depth_max) return false;
  Wave* inner = nullptr;
  {
    const std::lock_guard lock(mutex_);
    inner = shared_.first(region.item + 1, region.item_end);
    if (!inner) return false;
    inner->enter();
  }
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
        wave.give_up(share);
        return true;
    }
    stop(wave);
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
    if (strands_.size() == strands_.capacity()) {
      // First, so that there is room for all strands that there are, whatever fails.
      const size_t room = 2 * strands_.size() + 8;
      for (std::vector<Strand*>* list : {&spare_strands_, &at_work_, &parked_}) {
        list->reserve(room + 1);    // the root's too
      }
      strands_.reserve(room);
    }
    const auto thread = static_cast<u32>(strands_.size()) + 1;
    strands_.push_back(std::make_unique<Strand>(run_, thread));
    spare_strands_.push_back(strands_.back().get());
  }
  Strand& strand = *spare_strands_.back();
  spare_strands_.pop_back();
  put_in(at_work_, strand);
  return strand;
}

void Crew::give_back(Strand& strand) {
  const std::lock_guard lock(mutex_);
  take_from(at_work_, strand);
  spare_strands_.push_back(&strand);
}

// ---- Strands that wait

bool Crew::park(Strand& strand) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(strand.is_woken, false)) return false;
  if (&strand != caller_) take_from(at_work_, strand);
  strand.parking = Strand::Parking::Parked;
  put_in(parked_, strand);
  return true;
}

void Crew::wake(Strand& strand) {
  const std::lock_guard lock(mutex_);
  wake_now(strand);
}

// Under the mutex.
void Crew::wake_now(Strand& strand) {
  if (strand.parking == Strand::Parking::Ready) return;
  if (strand.parking != Strand::Parking::Parked) {
    strand.is_woken = true;
    return;
  }
  take_from(parked_, strand);
  strand.parking = Strand::Parking::Ready;
  (strand.job.hand == Hand::Caller ? ready_for_caller_ : ready_).add(strand);
  if (is_open_) pool_->offer(job_, true);
  stir();
}

// Under the mutex: one that was ready.
void Crew::go_on(Strand& strand) {
  strand.parking = Strand::Parking::No;
  if (&strand != caller_) put_in(at_work_, strand);
}

void Crew::stir() {
  stirred_.fetch_add(1);
  if (caller_sleeps_.load()) futex_wake_all(stirred_);
}

bool Crew::is_parked(const Strand& strand) {
  const std::lock_guard lock(mutex_);
  return strand.parking != Strand::Parking::No;
}

void StrandLine::add(Strand& strand) {
  strand.next_ready = nullptr;
  (last_ ? last_->next_ready : first_) = &strand;
  last_ = &strand;
}

Strand* StrandLine::take() {
  Strand* const strand = first_;
  if (!strand) return nullptr;
  first_ = strand->next_ready;
  if (!first_) last_ = nullptr;
  return strand;
}

void Crew::lead_into(Entered entered, i64 pause_at_ns) noexcept {
  Wave& wave = *entered.wave;
  bool has_ended = true;
  try {
    Strand& strand = entered.strand ? *entered.strand : borrow_strand();
    if (entered.share) {
      strand.listen_to(entered.rings);
      strand.job = {&wave, *entered.share, Hand::Caller};
      strand.begin(entered.share->region, wave.in_loop());
    }
    has_ended = walk(strand, pause_at_ns, true);
    if (has_ended) give_back(strand);
  } catch (...) {
    forget_memory(wave);
  }
  if (has_ended) leave(wave);
}

bool Crew::lead(Strand& root, i64 pause_at_ns) {
  constexpr i64 spin_ns = 50'000, yield_ns = 200'000, longest_ns = 10'000'000;
  bool has_told = false;
  while (true) {
    const u32 seen = stirred_.load();
    Entered entered = enter_as_caller(root);
    if (entered.strand == &root) return true;
    if (entered.wave) {
      lead_into(entered, pause_at_ns);
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
  Strand* const strand = ready_for_caller_.empty() ? ready_.take() : ready_for_caller_.take();
  if (strand) {
    go_on(*strand);
    return {strand == &root ? nullptr : strand->job.wave, strand, std::nullopt, rings};
  }
  const auto enter = [rings](Wave& wave) -> Entered {
    const std::optional<Share> share = wave.claim(Hand::Caller);
    if (!share) return {};
    wave.enter();
    return {&wave, nullptr, share, rings};
  };
  while (!pinned_.empty()) {
    Wave& wave = pinned_.last();
    if (Entered entered = enter(wave); entered.wave) return entered;
    pinned_.remove(wave);
  }
  while (Wave* const wave = shared_.first()) {
    if (Entered entered = enter(*wave); entered.wave) return entered;
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
  constexpr u64 look = 64;         // at a strand that is where it was before
  const u64 begun = begun_.load(std::memory_order_relaxed);
  const bool is_new = std::exchange(begun_before_, begun) != begun;
  const u64 finished = finished_.load(std::memory_order_relaxed);
  const bool has_finished = std::exchange(finished_before_, finished) != finished;
  if (is_new || has_finished) quiet_ = 0;
  if (is_new) return;  // most runs end before the next look

  bell_->asked.store(true, std::memory_order_relaxed);
  bool some_stay = caller_->expose_if_calling();
  for (size_t next = 0;; ++next) {
    Strand* strand = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (next < at_work_.size()) strand = at_work_[next];
    }
    if (!strand) break;
    some_stay |= strand->expose_if_calling();  // it may have come to an end meanwhile
  }
  if (!has_finished) quiet_ += some_stay ? look : 1;

  bool has_work = false;
  {
    const std::lock_guard lock(mutex_);
    has_work = !ready_.empty() || shared_.first();
  }
  if (!has_work) return;
  pool_->invite(threads_ - 1);
  const u32 beyond = beyond_.load(std::memory_order_relaxed);
  constexpr u32 doublings_max = 32;
  if (quiet_ < look << std::min(beyond, doublings_max)) return;
  beyond_.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  const i32 coming = pool_->summon(job_, 1, Pool::Summon::AllOrNone);
  coming_ += coming;
  if (coming == 0) beyond_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace soma
