// The run object.
#pragma once

#include "abi/cache.hpp"
#include "abi/cancel.hpp"
#include "abi/journal.hpp"
#include "abi/ops.hpp"
#include "abi/plan.hpp"
#include "abi/value.hpp"
#include "run/run.hpp"

struct soma_run final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Run;
  soma_run(const soma_plan* of, const soma_ops* code)
      : Object(kind, of->runtime), plan(soma::wall::Ref<soma_plan>::share(of)),
        ops(soma::wall::Ref<soma_ops>::share(code)),
        null(soma::wall::make<soma_value>(of->runtime, soma::Value())) {}

  const soma::wall::Ref<soma_plan> plan;
  const soma::wall::Ref<soma_ops> ops;
  soma::wall::Ref<soma_cache> cache;       // or none
  const soma::wall::Ref<soma_value> null;  // so that who runs for effects only allocates nothing
  soma_event_fn observe = nullptr;
  soma::wall::UserData observer;
  soma_probe_fn probe = nullptr;
  soma::wall::UserData probe_data;
  soma::wall::Ref<soma_journal> journal;   // of the next executions, under this id
  std::string id, plan_digest;
  std::unique_ptr<soma::Journal> open;     // during an execution
  // By soma_run_start: the execution that is stepped through.
  std::optional<soma::wall::BlockingCall> started;
  std::unique_ptr<soma::Run> run;          // looks into all of the above
  std::atomic<bool> in_call{false};
};
