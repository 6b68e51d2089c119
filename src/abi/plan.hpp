// The plan object.
#pragma once

#include "abi/runtime.hpp"
#include "compiler/diagnostics.hpp"
#include "plan/plan.hpp"

struct soma_plan final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Plan;
  soma_plan(const soma_runtime* owner, soma::Plan content, soma::Diagnostics found)
      : Object(kind, owner), plan(std::move(content)), diagnostics(std::move(found)) {}

  const soma::Plan plan;
  const soma::Diagnostics diagnostics;
};
