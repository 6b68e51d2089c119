// Steps for tests: ops of the test's own, who performs their effects, and plans of them.
#pragma once

#include <doctest/doctest.h>

#include <condition_variable>
#include <mutex>

#include "run/step_run.hpp"
#include "unit/plan/plan_builder.hpp"
#include "unit/run/run_text.hpp"

namespace soma::fixture {

// Ops that work in turns, and who performs their effects.
class StepOps : public TestOps {
 public:
  template <typename Body>
  StepOps& step(std::string_view name, Body& body) {
    NodeOp op;
    op.name = name;
    op.user = &body;
    op.poll = [](void* user, StepCall& call) { return (*static_cast<Body*>(user))(call); };
    CHECK(add(std::move(op)).ok());
    return *this;
  }
  template <typename Body>
  StepOps& effect(std::string_view name, Body& body, InDoubt in_doubt = InDoubt::Fail) {
    EffectHandler handler;
    handler.name = name;
    handler.in_doubt = in_doubt;
    handler.user = &body;
    handler.perform = [](void* user, Effect& effect) { (*static_cast<Body*>(user))(effect); };
    CHECK(add(std::move(handler)).ok());
    return *this;
  }
};

// Asks for one effect "ask" of its input, and yields what came of it.
struct AskOnce {
  Status operator()(StepCall& call) {
    if (call.turn() == 0) {
      call.await({{"ask", call.input()}});
    } else {
      call.done(call.results()[0]);
    }
    return {};
  }
};

// Keeps effects until somebody ends them.
class Desk {
 public:
  ~Desk() {
    for (Effect* effect : held_) effect->release();
  }
  void operator()(Effect& effect) {
    const std::lock_guard lock(mutex_);
    effect.retain();
    held_.push_back(&effect);
    changed_.notify_all();
  }
  // Waits until it holds so many.
  bool holds(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20),
                             [this, count] { return held_.size() >= count; });
  }
  size_t size() {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }
  std::vector<Effect*> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(held_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Effect*> held_;
};

inline // So many branches of one step each.
Plan steps_side_by_side(u32 count, std::string_view op) {
  PlanBuilder builder;
  builder.open(Variant::Parallel);
  for (u32 i = 0; i < count; ++i) {
    builder.step(text("s{}", i), {});
    builder.node().op = op;
    builder.close();
  }
  builder.close();
  return builder.take();
}

}  // namespace soma::fixture
