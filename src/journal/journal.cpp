// A journal that many threads write at once, at the price of one.
//
// Problem. A record has to be on the disk before what it announces may happen, and the disk takes
// milliseconds for each wait, however little is written. Thirty effects that begin at the same time
// would stand in a line for a tenth of a second.
//
// Idea. Who appends puts its records with those that are pending. If nobody is writing, it writes
// all that is pending, its own and the others', in one go; if somebody is, it sleeps until that one
// is done and looks again. So there is no delay of ours: a lone thread writes at once, and a crowd
// gathers only while the disk is busy anyway. For those who can't wait there is one thread more,
// which writes when there is something to write and nobody else does, and tells them.
//
// Why right. Records are staged and become pending under one mutex, so both have one order; the one
// writer takes all of them and settles them in that order (ledger.hpp). Whoever returns has seen
// its records settled. Sleepers read `turns` under the mutex and writers advance it after they have
// taken the mutex again, so no wake-up is lost.
//
// After a failure nobody knows what the disk holds, so nothing is written after it: everybody who
// waits, and everybody who comes, gets that failure. An exception in the writer is such a failure
// too, or the others would wait for ever.
//
// Listeners are told without the mutex, by whoever wrote their records, before that one returns.
#include "journal/journal.hpp"

#include <algorithm>
#include <mutex>

#include "base/memory.hpp"
#include "base/spin.hpp"
#include "base/text.hpp"
#include "base/thread.hpp"
#include "journal/ledger.hpp"

namespace soma {

using Lock = std::unique_lock<std::mutex>;

struct Journal::State {
  std::unique_ptr<JournalStore> store;     // used by one at a time: who opens, then who writes
  RunIdentity identity;
  mutable std::mutex mutex;                // guards all that follows
  Ledger ledger;
  std::vector<Record> pending;             // staged, and not in the hands of a writer
  std::vector<Listener> listeners;         // of those
  bool is_writing = false;
  std::optional<Error> failure;
  bool is_closing = false;
  std::atomic<u32> turns{0};               // how often somebody has written, or the thread has to
  Thread thread;                           // for those who can't wait; started for the first
  bool has_thread = false;
  Memory* const memory = current_memory();

  ~State();
  Error failed() const;
  Status stage(std::vector<Record>& records, const Listener* listener);
  Status start_thread();
  static void serve(void* self);
  void await_turn(Lock& lock);
  void write(Lock& lock);

  class Turn;
};

namespace {

Status take_loaded(void* ledger, Record record) {
  auto& target = *static_cast<Ledger*>(ledger);
  const Status staged = target.stage({&record, 1});
  if (!staged.ok() && staged.error().reason() == Reason::journal_limit) {
    return fail(Reason::journal_limit, "{}", staged.error().message());
  }
  if (!staged.ok()) {
    return fail(Reason::journal_corrupt,
                "record {} of the journal contradicts those before it: {}; it was not written by "
                "this library: restore a copy, or start a new run",
                target.staged() + 1, staged.error().message());
  }
  std::vector<Record> one;
  one.push_back(std::move(record));
  target.settle(std::move(one));
  return {};
}

template <typename T>
void make_room(std::vector<T>& list, size_t more) {
  const size_t needed = list.size() + more;
  if (list.capacity() < needed) list.reserve(std::max(needed, 2 * list.capacity()));
}

Error other_identity(const RunIdentity& bound, const RunIdentity& asked) {
  if (bound.run != asked.run) {
    return fail(Reason::journal_other_plan,
                "the journal is of run {}, not of {}; put files of journals back under their names",
                quoted(bound.run, 200), quoted(asked.run, 200));
  }
  const bool is_plan = bound.plan != asked.plan;
  return fail(Reason::journal_other_plan,
              "run {} belongs to the {} {}, and was now given {}; resume it with what it began "
              "with, or take another id for a new run",
              quoted(bound.run, 200), is_plan ? "plan" : "input",
              quoted(is_plan ? bound.plan : bound.input),
              quoted(is_plan ? asked.plan : asked.input))
      .with("recorded_plan", bound.plan)
      .with("given_plan", asked.plan)
      .with("recorded_input", bound.input)
      .with("given_input", asked.input);
}

}  // namespace

// ---- Opening

Journal::Journal(std::unique_ptr<State> state) : state_(std::move(state)) {}
Journal::~Journal() = default;

Result<std::unique_ptr<Journal>> Journal::open(std::unique_ptr<JournalStore> store,
                                               const RunIdentity& identity) {
  SOMA_TRY(check_run_id(identity.run));
  SOMA_ASSIGN(const std::optional<RunIdentity> bound, store->identity());
  if (!bound) {
    SOMA_TRY(store->bind(identity));
  } else if (*bound != identity) {
    return other_identity(*bound, identity);
  }
  return open(std::move(store));
}

Result<std::unique_ptr<Journal>> Journal::open(std::unique_ptr<JournalStore> store) {
  auto state = std::make_unique<State>();
  SOMA_ASSIGN(std::optional<RunIdentity> bound, store->identity());
  if (!bound) return fail(Reason::journal_not_found, "no run has written to the journal yet");
  state->identity = *std::move(bound);
  SOMA_TRY(store->load(take_loaded, &state->ledger));
  state->store = std::move(store);
  return std::unique_ptr<Journal>(new Journal(std::move(state)));
}

// ---- Writing

Status Journal::State::stage(std::vector<Record>& records, const Listener* listener) {
  if (failure) return failed();
  make_room(pending, records.size());
  make_room(listeners, 1);
  SOMA_TRY(ledger.stage(records));
  for (Record& record : records) pending.push_back(std::move(record));
  if (listener) listeners.push_back(*listener);
  return {};
}

Status Journal::append(std::vector<Record> records, Listener listener) {
  State& state = *state_;
  const Lock lock(state.mutex);
  SOMA_TRY(state.start_thread());
  SOMA_TRY(state.stage(records, &listener));
  state.turns.fetch_add(1);
  futex_wake_all(state.turns);
  return {};
}

Status Journal::append(std::vector<Record> records) {
  State& state = *state_;
  Lock lock(state.mutex);
  SOMA_TRY(state.stage(records, nullptr));
  const u64 last = state.ledger.staged();
  while (state.ledger.settled() < last) {
    if (state.failure) return state.failed();
    if (state.is_writing) {
      state.await_turn(lock);
    } else {
      state.write(lock);
    }
  }
  return {};
}

Error Journal::State::failed() const {
  Error again = fail(failure->reason(), "{}", failure->message());
  for (const Detail& detail : failure->details()) again.with(detail.key, detail.value);
  return again;
}

void Journal::State::await_turn(Lock& lock) {
  const u32 seen = turns.load();
  lock.unlock();
  futex_wait(turns, seen);
  lock.lock();
}

Status Journal::State::start_thread() {
  if (has_thread) return {};
  has_thread = thread.start("journal", serve, this);
  if (has_thread) return {};
  return fail(Reason::out_of_memory, "the system gives no thread to write the journal of run {}",
              quoted(identity.run, 200));
}

void Journal::State::serve(void* self) {
  constexpr i64 soon_ns = 5'000'000;
  State& state = *static_cast<State*>(self);
  const MemoryScope scope(state.memory);
  Lock lock(state.mutex);
  while (true) {
    const bool has_work = !state.pending.empty() && !state.failure;
    if (state.is_closing && !has_work) return;
    if (!has_work || state.is_writing) {
      state.await_turn(lock);
      continue;
    }
    try {
      state.write(lock);
    } catch (const std::bad_alloc&) {
      // Nothing has begun: there may be more memory soon.
      lock.unlock();
      futex_wait_for(state.turns, state.turns.load(), soon_ns);
      lock.lock();
    }
  }
}

Journal::State::~State() {
  if (!has_thread) return;
  {
    const Lock lock(mutex);
    is_closing = true;
    turns.fetch_add(1);
  }
  futex_wake_all(turns);
  thread.join();
}

// One writer's turn: however it ends, the others learn of it.
class Journal::State::Turn {
 public:
  Turn(State& state, Lock& lock)
      : state_(state),
        lock_(lock),
        outcome_(fail(Reason::out_of_memory, "no memory was left to write the journal of run {}; "
                      "resume it when there is some", quoted(state.identity.run, 200))),
        records_(std::exchange(state.pending, {})),
        listeners_(std::exchange(state.listeners, {})) {
    state.is_writing = true;
    lock_.unlock();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    lock_.lock();
    state_.is_writing = false;
    std::vector<Listener> late;    // whose records are not written any more
    if (outcome_.ok()) {
      state_.ledger.settle(std::move(records_));
    } else {
      state_.failure = std::move(outcome_).error();
      late.swap(state_.listeners);
    }
    state_.turns.fetch_add(1);
    futex_wake_all(state_.turns);
    const Error* const reason = state_.failure ? &*state_.failure : nullptr;  // stays as it is
    lock_.unlock();
    tell(listeners_, reason);
    tell(late, reason);
    lock_.lock();
  }

  void write() {
    try {
      outcome_ = state_.store->append(records_);
    } catch (const std::bad_alloc&) {
    }
  }

 private:
  static void tell(std::span<const Listener> listeners, const Error* reason) {
    for (const Listener& listener : listeners) listener.settled(listener.user, reason);
  }

  State& state_;
  Lock& lock_;
  Status outcome_;
  std::vector<Record> records_;
  std::vector<Listener> listeners_;
};

void Journal::State::write(Lock& lock) { Turn(*this, lock).write(); }

// ---- Reading

Result<Journal::Recorded> Journal::find(const Record& attempted) const {
  const std::lock_guard lock(state_->mutex);
  return state_->ledger.find(attempted);
}

Status Journal::check_rest(const Site& from, std::string_view does) const {
  const std::lock_guard lock(state_->mutex);
  return state_->ledger.check_rest(from, does);
}

const RunIdentity& Journal::identity() const { return state_->identity; }

void Journal::each(Show show, void* user) const {
  const std::lock_guard lock(state_->mutex);
  for (const Record& record : state_->ledger.records()) show(user, record);
}

std::optional<std::string> Journal::result() const {
  const std::lock_guard lock(state_->mutex);
  const Record* end = state_->ledger.end();
  if (!end) return std::nullopt;
  return end->content;
}

std::vector<Record> Journal::waiting() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<Record> sites;
  for (const Record& record : state_->ledger.records()) {
    const bool waits = record.kind == Record::Kind::Suspension;
    if (waits && state_->ledger.is_waiting(record.site)) sites.push_back(record);
  }
  return sites;
}

}  // namespace soma
