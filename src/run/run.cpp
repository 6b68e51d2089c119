// Makes runs, drives them, and gives out what they yield.
#include "run/run.hpp"

#include <sys/random.h>

#include <algorithm>
#include <new>

#include "base/clock.hpp"
#include "base/problems.hpp"
#include "base/text.hpp"
#include "run/backward.hpp"
#include "run/cached.hpp"
#include "run/prepared.hpp"
#include "run/recording.hpp"
#include "run/strand.hpp"

namespace soma {

struct Run::State {
  State(const Plan& plan, const RunOptions& options)
      : run(plan, options.pool, options.launch, options.threads), strand(run, 0) {
    run.probed_since = TickOrigin::here();  // early, as clocks by it need 10 ms to be the faster
    watch(options.observer);
    run.probe = options.probe;
  }
  ~State() { run.crew.abandon(); }  // others may still look at the strand

  enum class Phase : u8 { Idle, Started, Walking, Ended };

  RunState run;
  std::unique_ptr<Prepared> prepared;  // none: no op prepares states
  std::unique_ptr<Cached> cached;   // none: nothing to be cached
  std::unique_ptr<Tape> tape;       // none: no gradient can be traced
  Strand strand;
  Phase phase = Phase::Idle;
  std::optional<Error> error;
  bool is_suspended = false;      // which the error says
  bool lost_memory = false;       // there was none left to say so
  std::optional<Value> known;     // what the run yielded the last time, says its journal

  void walk(i64 pause_at_ns);
  Strand::Outcome go_on(i64 pause_at_ns, bool may_be_parked);
  void tell(Event::Kind kind);
  void watch(Observer observer);
  Status look_up();
  Status record_end(const Value& value);
};

namespace {

// No other execution, of this process or another, has the same.
std::string random_id() {
  u64 words[2] = {};
  // So few bytes come at once, or from boot on never.
  if (getrandom(words, sizeof words, 0) != sizeof words) words[0] = static_cast<u64>(now_ns());
  return text("{:016x}{:016x}", words[0], words[1]);
}

Status check_remote(const Plan& plan, const RunOptions& options) {
  Problems problems;
  if (options.remote_inline) return {};
  for (const PlanItem& item : plan.items) {
    if (item.variant != Variant::Remote) continue;
    const std::string_view id = plan.nodes[item.node].id;
    problems.add(fail(Reason::run_no_transport,
                      "node {} is to run on target {}, and the run has no transport: run it "
                      "here with the option remote=inline",
                      quoted(id), quoted(plan.nodes[item.node].target().name))
                     .with("node", id));
  }
  return std::move(problems).status();
}

}  // namespace

Run::Run(std::unique_ptr<State> state) : state_(std::move(state)) {}
Run::~Run() = default;

Result<std::unique_ptr<Run>> Run::create(const Plan& plan, const Ops& ops,
                                         const RunOptions& options) {
  if (plan.nodes.size() > Values::nodes_max) {
    return fail(Reason::run_unsupported, "the plan has {} nodes, and a run takes {} at most",
                plan.nodes.size(), Values::nodes_max);
  }
  SOMA_TRY(check_remote(plan, options));
  std::unique_ptr<Run> made(new Run(std::make_unique<State>(plan, options)));
  RunState& run = made->state_->run;
  SOMA_TRY(run.values.check_keys());
  SOMA_ASSIGN(Binding binding, Binding::of(ops, run));
  run.binding.emplace(std::move(binding));
  run.streams.cover(*run.binding);
  made->state_->prepared = Prepared::of(run);
  made->state_->tape = Tape::of(run);
  SOMA_TRY(made->use_cache(options.cache));
  SOMA_TRY(run.crew.prepare());
  return made;
}

Status Run::observe(Observer observer) {
  if (state_->phase != State::Phase::Idle) {
    return fail(Reason::busy, "the run has begun already: finish it before others watch it");
  }
  state_->watch(observer);
  return {};
}

Status Run::probe(Observer probe) {
  if (state_->phase != State::Phase::Idle) {
    return fail(Reason::busy, "the run has begun already: finish it before it gets another probe");
  }
  state_->run.probe = probe;
  return {};
}

Status Run::use_cache(Cache* cache) {
  State& state = *state_;
  if (state.phase != State::Phase::Idle) {
    return fail(Reason::busy, "the run has begun already: finish it before it gets another cache");
  }
  state.cached.reset();
  if (state.prepared) {
    state.prepared->use_cache(state.run.plan.mode == PlanMode::NoCache ? nullptr : cache);
  }
  if (cache && state.run.plan.mode == PlanMode::Inference) {
    state.cached = Cached::of(state.run, *cache);
  }
  return {};
}

Status Run::start(Value input, const Cancel* cancel, Journal* journal) {
  State& state = *state_;
  if (state.phase != State::Phase::Idle) {
    return fail(Reason::busy, "the run has begun already: finish it before it starts again");
  }
  state.run.journal = journal;
  SOMA_TRY(state.look_up());
  state.run.values.feed(Course::whole) = std::move(input);
  state.run.cancel = cancel ? cancel : &state.run.never;
  if (state.tape) state.tape->begin(state.known.has_value());
  if (state.cached && !state.known) state.cached->begin(state.run.values.feed(Course::whole));
  state.run.done.store(0, std::memory_order_relaxed);
  state.strand.listen_to(state.run.crew.bell().rings.load(std::memory_order_acquire));
  state.strand.begin(state.run.course.items(0, static_cast<u32>(state.run.plan.items.size())),
                     false);
  if (state.run.forecast) state.run.forecast->begin(journal != nullptr);
  state.phase = State::Phase::Started;  // last: nothing has begun, if there is no memory
  if (state.run.is_watched()) state.tell(Event::Kind::RunStarted);
  return {};
}

// Names the execution, and whether it has ended in its journal.
Status Run::State::look_up() {
  known.reset();
  if (run.journal) {
    run.id = run.journal->identity().run;
    const std::optional<std::string> end = run.journal->result();
    if (!end || end->empty()) return {};
    SOMA_ASSIGN(known, recorded_value(*end));
  } else if (run.binding->has_steps()) {
    run.id = random_id();
  }
  return {};
}

Status Run::State::record_end(const Value& value) {
  if (!run.journal || run.journal->result()) return {};
  std::vector<Record> one;
  one.push_back(end_record(value));
  return run.journal->append(std::move(one));
}

// What is known of times stays, as long as somebody watches.
void Run::State::watch(Observer observer) {
  if (!observer.notify) {
    run.forecast.reset();
  } else if (!run.forecast) {
    run.forecast = std::make_unique<Forecast>(run.plan, run.crew.threads());
  }
  run.observer = observer;
}

void Run::State::tell(Event::Kind kind) {
  Event event;
  event.kind = kind;
  event.error = error ? &*error : nullptr;
  run.notify(event);
}

void Run::State::walk(i64 pause_at_ns) {
  if (phase == Phase::Idle || phase == Phase::Ended) return;
  if (known) {
    phase = Phase::Ended;
    if (run.is_watched()) tell(Event::Kind::RunFinished);
    return;
  }
  const bool begins = phase == Phase::Started;
  phase = Phase::Walking;
  Strand::Outcome outcome = Strand::Outcome::Failed;
  try {
    if (begins) run.crew.begin(strand, pause_at_ns != 0);
    outcome = go_on(pause_at_ns, !begins);
  } catch (const std::bad_alloc&) {
    run.crew.abandon();
    lost_memory = true;
    phase = Phase::Ended;
    return;
  }
  if (outcome == Strand::Outcome::Paused) return;
  const bool has_failed = outcome == Strand::Outcome::Failed;
  Wave::Failure failure = has_failed ? strand.take_failure() : Wave::Failure();
  // Who ended without memory may have left waves open.
  if (run.crew.lost_memory()) run.crew.abandon();
  else run.crew.end(outcome == Strand::Outcome::Done);
  phase = Phase::Ended;
  is_suspended = false;
  if (has_failed) {
    is_suspended = failure.is_suspension;
    try {
      error = failure.error ? *std::move(failure.error) : run.asked_to_stop(failure.node);
    } catch (const std::bad_alloc&) {
      lost_memory = true;
      return;
    }
  }
  if (!run.is_watched()) return;
  tell(is_suspended ? Event::Kind::RunSuspended
       : error      ? Event::Kind::RunFailed
                    : Event::Kind::RunFinished);
}

Strand::Outcome Run::State::go_on(i64 pause_at_ns, bool may_be_parked) {
  while (true) {
    const bool is_parked = may_be_parked && run.crew.is_parked(strand);
    if (is_parked && !run.crew.lead(strand, pause_at_ns)) return Strand::Outcome::Paused;
    const Strand::Outcome outcome = strand.walk(pause_at_ns, true);
    if (outcome != Strand::Outcome::Parked) return outcome;
    run.crew.park(strand);
    may_be_parked = true;
  }
}

bool Run::step(i64 budget_ns) {
  state_->walk(std::max(now_ns() + std::max(budget_ns, i64{0}), i64{1}));
  return state_->phase == State::Phase::Idle || state_->phase == State::Phase::Ended;
}

Result<Value> Run::finish() {
  State& state = *state_;
  if (state.phase == State::Phase::Idle) {
    return fail(Reason::run_not_started, "no execution has begun: start one first");
  }
  state.walk(0);
  state.phase = State::Phase::Idle;
  std::optional<Error> error = std::exchange(state.error, std::nullopt);
  // Also when there is no memory for the result.
  struct LetGo {
    State& state;
    bool is_well = false;
    ~LetGo() {
      state.run.values.clear();
      if (state.prepared) state.prepared->clear();
      if (state.tape) state.tape->end(is_well);
      state.run.streams.clear();
      if (state.cached) state.cached->end();
    }
  } let_go{state};
  if (std::exchange(state.lost_memory, false)) throw std::bad_alloc();
  if (error) return *std::move(error);
  if (state.known) {
    let_go.is_well = true;
    return *std::exchange(state.known, std::nullopt);
  }
  Value value = state.run.values.result();
  SOMA_TRY(state.record_end(value));
  let_go.is_well = true;
  return value;
}

Result<Value> Run::backward(Value gradient, const Cancel* cancel) {
  State& state = *state_;
  if (state.phase != State::Phase::Idle) {
    return fail(Reason::busy, "the run has begun already: finish it before gradients are traced");
  }
  if (!state.tape) {
    const bool is_asked = state.run.plan.mode == PlanMode::Differentiable;
    return fail(Reason::run_no_gradient, "there is no tape to trace a gradient back along: {}",
                is_asked ? "no node that is declared as differentiable, and does not run in "
                           "chunks, has an op with a vjp"
                         : text("the plan's mode is {}: compile it as differentiable",
                                plan_mode_name(state.run.plan.mode)));
  }
  SOMA_TRY(state.tape->check());
  struct Ending {
    RunState& run;
    ~Ending() { run.cancel = &run.never; }
  } ending{state.run};
  if (cancel) state.run.cancel = cancel;
  return Backward(state.run, *state.tape).trace(std::move(gradient));
}

void Run::abandon() {
  State& state = *state_;
  if (state.tape) state.tape->clear();
  if (state.phase == State::Phase::Idle) return;
  const bool has_ended = state.phase == State::Phase::Ended;
  state.run.crew.abandon();
  state.phase = State::Phase::Idle;
  state.error.reset();
  state.known.reset();
  state.lost_memory = false;
  state.run.values.clear();
  state.run.streams.clear();
  if (state.prepared) state.prepared->clear();
  if (has_ended || !state.run.is_watched()) return;
  try {
    state.error = fail(Reason::cancelled, "the run was abandoned");
  } catch (const std::bad_alloc&) {
    // It is abandoned all the same; the event says that it ended, and not why.
  }
  state.tell(Event::Kind::RunFailed);
  state.error.reset();
}

}  // namespace soma
