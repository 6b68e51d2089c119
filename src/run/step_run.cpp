// Drives the turns of a step.
//
// A step is a state machine that never waits: what takes time happens elsewhere, counts down, and
// wakes the strand when it is over. Effects and children are in files of their own; here are the
// turns, and suspensions.
//
// With a journal, what the step asks for is looked up first. What is there is what came of it, and
// is not done again; so the step's code goes through the same turns as before the crash, up to
// where that was. Nothing else of a step is recorded: its code says the same whenever it is told
// the same.
#include "run/step_run.hpp"

#include "base/text.hpp"
#include "run/step_child.hpp"
#include "run/strand.hpp"
#include "value/describe.hpp"
#include "value/value_json.hpp"

namespace soma {

namespace {

std::string shown(const Value& reason) {
  constexpr size_t bytes_max = 512;
  const Result<std::string> json = value_json(reason);
  return json.ok() ? quoted(*json, bytes_max) : describe(reason);
}

}  // namespace

// ---- What the code sees

const PlanNode& StepCall::node() const { return *run_.who_.node; }
const std::string& StepCall::path() const { return run_.who_.path; }
u32 StepCall::turn() const { return run_.turn(); }
const Value& StepCall::input() const { return run_.input_; }
std::span<const std::vector<Value>> StepCall::history() const { return run_.history_; }
Status StepCall::check() const { return run_.strand_.check_in_call(); }

std::span<const Value> StepCall::results() const {
  if (run_.history_.empty()) return {};
  return run_.history_.back();
}

void StepCall::done(Value value) {
  run_.decision_ = {};
  run_.decision_.value = std::move(value);
}
void StepCall::await(std::vector<EffectRequest> requests) {
  run_.decision_ = {};
  run_.decision_.kind = StepRun::Decision::Kind::Await;
  run_.decision_.requests = std::move(requests);
}
void StepCall::spawn(std::vector<ChildRequest> children, ChildJoin join) {
  run_.decision_ = {};
  run_.decision_.kind = StepRun::Decision::Kind::Spawn;
  run_.decision_.children = std::move(children);
  run_.decision_.join = join;
}
void StepCall::suspend(Value reason) {
  run_.decision_ = {};
  run_.decision_.kind = StepRun::Decision::Kind::Suspend;
  run_.decision_.value = std::move(reason);
}
void StepCall::hand_over(std::string target, Value value) {
  run_.decision_ = {};
  run_.decision_.kind = StepRun::Decision::Kind::HandOver;
  run_.decision_.target = std::move(target);
  run_.decision_.value = std::move(value);
}

// ---- Turns

StepRun::StepRun(RunState& run, Strand& strand, Who who, StepCode code, Value input)
    : run_(run),
      strand_(strand),
      who_(std::move(who)),
      code_(code),
      input_(std::move(input)),
      countdown_(Countdown::make(run.crew, strand)) {}

StepRun::~StepRun() {
  drop_effects();
  countdown_->forget();
  countdown_->release();
}

Result<StepRun::State> StepRun::go_on() {
  while (true) {
    if (!countdown_->is_over()) return State::Waiting;
    switch (phase_) {
      case Phase::Turn: SOMA_TRY(take_turn()); break;
      case Phase::Announcing:
        SOMA_TRY(countdown_->status());
        perform();
        break;
      case Phase::Performing: SOMA_TRY(collect()); break;
      case Phase::Asking:
        SOMA_TRY(countdown_->status());
        if (doubt_) return *std::exchange(doubt_, std::nullopt);
        phase_ = Phase::Suspended;
        break;
      case Phase::Children: {
        SOMA_ASSIGN(const State state, go_on_with_children());
        if (phase_ == Phase::Children) return state;
        break;
      }
      case Phase::Choosing:
        SOMA_TRY(countdown_->status());
        conclude({std::move(chosen_)});
        break;
      case Phase::Suspended: return State::Suspended;
      case Phase::Ended:
        return decision_.kind == Decision::Kind::Done ? State::Done : State::HandedOver;
    }
  }
}

Status StepRun::take_turn() {
  const i64 turns = who_.node->max_turns().value_or(turns_max);
  if (static_cast<i64>(turn()) >= turns) {
    return fail(Reason::step_turns,
                "it has not ended in {} turns: raise max_turns, if it needs more", turns);
  }
  decision_ = {};
  StepCall call(*this);
  SOMA_TRY(code_.poll(code_.user, call));
  if (run_.journal) SOMA_TRY(check_rest());
  switch (decision_.kind) {
    case Decision::Kind::Await: return begin_effects();
    case Decision::Kind::Spawn: return begin_children();
    case Decision::Kind::Suspend: return suspend();
    case Decision::Kind::Done:
    case Decision::Kind::HandOver: break;
  }
  phase_ = Phase::Ended;
  return {};
}

// What this turn asked for before a crash and does not now. Its other sites are compared each.
Status StepRun::check_rest() const {
  switch (decision_.kind) {
    case Decision::Kind::Await: {
      const auto count = static_cast<u32>(decision_.requests.size());
      return run_.journal->check_rest(site(count), "asks for nothing");
    }
    case Decision::Kind::Spawn:
      return run_.journal->check_rest(site(decision_.join == ChildJoin::First ? 1 : 0),
                                      "begins children");
    case Decision::Kind::Suspend: return run_.journal->check_rest(site(1), "asks for nothing");
    case Decision::Kind::Done: return run_.journal->check_rest(site(0), "is done");
    case Decision::Kind::HandOver: break;
  }
  return run_.journal->check_rest(site(0), "hands over");
}

void StepRun::conclude(std::vector<Value> results) {
  history_.push_back(std::move(results));
  phase_ = Phase::Turn;
}

// ---- Suspensions

Status StepRun::suspend() {
  if (!run_.journal) {
    return fail(Reason::run_suspended,
                "it waits for an answer ({}), and the run has no journal that would keep one: give "
                "it one",
                shown(decision_.value));
  }
  SOMA_ASSIGN(Record question, suspension_record(site(0), decision_.value));
  SOMA_ASSIGN(const Recorded found, run_.journal->find(question));
  if (found.state == Recorded::State::Done) {
    SOMA_ASSIGN(Value answer, recorded_value(found.content));
    conclude({std::move(answer)});
    return {};
  }
  phase_ = Phase::Asking;
  if (found.state == Recorded::State::Waiting) return {};
  std::vector<Record> records;
  records.push_back(std::move(question));
  return record(std::move(records));
}

Error StepRun::suspension() const {
  if (phase_ == Phase::Children) {
    for (const std::unique_ptr<Child>& child : children_) {
      if (child->state == State::Suspended) return child->run->suspension();
    }
  }
  return fail(Reason::run_suspended,
              "{} waits for an answer (turn {}): {}; answer, and run it again under the same id",
              quoted(who_.path), turn(), shown(decision_.value))
      .with("waiting", who_.path)
      .with("turn", i64{turn()});
}

// ---- The journal

Site StepRun::site(u32 index) const { return {who_.path, turn(), index}; }

// Once they are durable, the strand is woken.
Status StepRun::record(std::vector<Record> records) {
  countdown_->retain();
  CountdownReference held(countdown_);
  countdown_->expect(1);
  Status appended = run_.journal->append(std::move(records), {countdown_, settled});
  if (!appended.ok()) return appended;
  [[maybe_unused]] Countdown* const theirs = held.release();  // settled drops it
  return {};
}

void StepRun::settled(void* user, const Error* failure) {
  auto& countdown = *static_cast<Countdown*>(user);
  if (failure) countdown.fail(*failure);
  countdown.arrive();
  countdown.release();
}

}  // namespace soma
