// The effects of a turn: announced, performed, recorded.
//
// All effects of a turn are begun before any is waited for. With a journal they are announced
// first, all in one record group, and begin once that is durable: whatever crashes later, the next
// run knows that they may have taken place. What comes of each is recorded as it ends, on whatever
// thread that is, which does not wait; the turn is over when all of that is durable.
//
// An effect that was announced and of which nothing came is in doubt, and nobody here can know. Its
// policy says whether to try again, announced once more and with the same key, or to have somebody
// look. The latter is recorded, so that the answer has a place; until there is one, nothing of the
// turn begins.
//
// Effects may end while others are still being begun: the countdown has one more for the beginning
// itself. A step that has ended or failed meanwhile forgets its effects: afterwards nobody calls
// back, whenever they end, and with a journal they stay in doubt.
#include <new>

#include "base/problems.hpp"
#include "base/text.hpp"
#include "run/step_run.hpp"
#include "run/strand.hpp"

namespace soma {

namespace {

Value as_question(const EffectRequest& request) {
  return Value::map({{"in_doubt", Value::text(request.name)}, {"payload", request.payload}});
}

}  // namespace

Status StepRun::begin_effects() {
  std::vector<EffectRequest> requests = std::move(decision_.requests);
  if (requests.empty()) {
    return fail(Reason::step_no_effects,
                "it waits for no effects in turn {}: that would never end", turn());
  }
  asked_.resize(requests.size());
  SOMA_TRY(find_handlers(requests));
  phase_ = Phase::Announcing;
  return announce(requests);
}

Status StepRun::find_handlers(std::span<const EffectRequest> requests) {
  Problems problems;
  for (size_t i = 0; i < requests.size(); ++i) {
    const std::string& name = requests[i].name;
    asked_[i].handler = code_.ops->handler(name);
    if (asked_[i].handler) continue;
    problems.add(fail(Reason::step_no_handler, "nobody performs the effect {}: register a handler",
                      quoted(name))
                     .with("effect", name));
  }
  return std::move(problems).status();
}

// Makes the effects that are to be performed. All that may fail comes before the first is begun.
Status StepRun::announce(std::span<EffectRequest> requests) {
  std::vector<Record> intents, questions;
  std::vector<EffectRequest> doubtful;
  for (u32 i = 0; i < requests.size(); ++i) {
    EffectRequest& request = requests[i];
    Recorded found;
    Record intent;
    if (run_.journal) {
      SOMA_ASSIGN(intent, intent_record(site(i), request));
      SOMA_ASSIGN(found, run_.journal->find(intent));
    }
    if (found.state == Recorded::State::Done) {
      SOMA_ASSIGN(asked_[i].recorded, recorded_value(found.content));
      continue;
    }
    const InDoubt policy = request.in_doubt.value_or(asked_[i].handler->in_doubt);
    const bool is_again = found.state != Recorded::State::Unknown;
    if (is_again && policy != InDoubt::Retry) {
      if (found.state == Recorded::State::InDoubt) {
        SOMA_ASSIGN(Record question, suspension_record(site(i), as_question(request)));
        questions.push_back(std::move(question));
      }
      request.in_doubt = policy;
      doubtful.push_back(std::move(request));
      continue;
    }
    if (run_.journal) intents.push_back(std::move(intent));
    std::string key = run_.id + ":" + place_text(site(i));
    asked_[i].effect =
        Effect::make(std::move(request), std::move(key), i, is_again, {this, effect_ended});
  }
  if (!doubtful.empty()) return ask_about(doubtful, std::move(questions));
  if (intents.empty()) return {};
  // A turn of which something is missing was the last.
  const Site later = {who_.path, turn() + 1, 0};
  SOMA_TRY(run_.journal->check_rest(later, "asks for more in the turn before"));
  return record(std::move(intents));
}

Status StepRun::ask_about(std::span<const EffectRequest> doubtful, std::vector<Record> questions) {
  drop_effects();
  Problems problems;
  for (const EffectRequest& request : doubtful) {
    if (request.in_doubt == InDoubt::Ask) continue;
    problems.add(fail(Reason::journal_in_doubt,
                      "effect {} of turn {} was begun before the run broke off, and nobody knows "
                      "whether it took place: find out, and answer with its result",
                      quoted(request.name), turn())
                     .with("effect", request.name)
                     .with("waiting", who_.path));
  }
  Status status = std::move(problems).status();
  if (!status.ok()) doubt_ = std::move(status).error();
  decision_.value = as_question(doubtful[0]);
  phase_ = Phase::Asking;
  return questions.empty() ? Status() : record(std::move(questions));
}

void StepRun::perform() {
  phase_ = Phase::Performing;
  u32 count = 0;
  for (const Asked& asked : asked_) count += asked.effect != nullptr;
  countdown_->expect(count + 1);
  for (const Asked& asked : asked_) {
    if (!asked.effect) continue;
    tell_effect(*asked.effect, Event::Kind::EffectStarted, nullptr);
    asked.handler->perform(asked.handler->user, *asked.effect);
  }
  countdown_->arrive_here();
}

// Once the record is durable, the countdown goes on.
Status StepRun::record_outcome(const Effect& effect, const Error* error, const Value& result) {
  const Site where = site(effect.number());
  SOMA_ASSIGN(Record outcome, error ? failure_record(where, *error) : result_record(where, result));
  std::vector<Record> one;
  one.push_back(std::move(outcome));
  return run_.journal->append(std::move(one), {countdown_, settled});
}

void StepRun::effect_ended(void* self, Effect& effect, const Error* error, const Value& result) {
  StepRun& step = *static_cast<StepRun*>(self);
  Countdown& countdown = *step.countdown_;
  countdown.retain();               // for settled
  try {
    const Event::Kind kind = error ? Event::Kind::EffectFailed : Event::Kind::EffectFinished;
    step.tell_effect(effect, kind, error);
    if (step.run_.journal) {
      const Status recorded = step.record_outcome(effect, error, result);
      if (recorded.ok()) return;
      countdown.fail(recorded.error());
    }
  } catch (const std::bad_alloc&) {
    countdown.lose_memory();
  }
  countdown.arrive();
  countdown.release();
}

// The first that failed, in the order of the requests, fails the step.
Status StepRun::collect() {
  SOMA_TRY(countdown_->status());
  std::vector<Value> results;
  results.reserve(asked_.size());
  for (Asked& asked : asked_) {
    if (!asked.effect) {
      results.push_back(std::move(asked.recorded));
      continue;
    }
    Result<Value> result = asked.effect->take_result();
    if (!result.ok()) {
      return std::move(result).error().context("effect " + quoted(asked.effect->name()));
    }
    results.push_back(*std::move(result));
  }
  drop_effects();
  conclude(std::move(results));
  return {};
}

void StepRun::drop_effects() {
  for (const Asked& asked : asked_) {
    if (!asked.effect) continue;
    asked.effect->forget();
    asked.effect->release();
  }
  asked_.clear();
}

void StepRun::tell_effect(const Effect& effect, Event::Kind kind, const Error* error) const {
  if (!run_.is_watched()) return;
  Event event;
  event.kind = kind;
  event.node = who_.index;
  event.path = who_.path;
  event.effect = effect.name();
  event.turn = turn();
  event.error = error;
  run_.notify(event);
}

}  // namespace soma
