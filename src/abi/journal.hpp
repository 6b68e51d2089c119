// The journal object: where many runs have their journals.
#pragma once

#include "abi/handle.hpp"
#include "journal/journals.hpp"

struct soma_journal final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Journal;
  soma_journal(const soma_runtime* owner, std::unique_ptr<soma::Journals> the_runs)
      : Object(kind, owner), runs(std::move(the_runs)) {}

  const std::unique_ptr<soma::Journals> runs;
};
