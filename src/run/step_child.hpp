// A step that another step has begun.
#pragma once

#include "run/step_run.hpp"

namespace soma {

struct StepRun::Child {
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    run.reset();
    if (unbind) unbind(bound);
  }

  PlanNode node;                   // what was asked for
  void* bound = nullptr;           // by its op, which made it of the node's settings
  void (*unbind)(void* bound) = nullptr;
  std::unique_ptr<StepRun> run;
  StepRun::State state = StepRun::State::Waiting;
  std::optional<Error> failure;
  Value value;                     // Done
};

}  // namespace soma
