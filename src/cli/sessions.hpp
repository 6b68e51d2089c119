// The models that a plan's nodes of kind program name, made ready to run.
#pragma once

#include "cli/client.hpp"

namespace cli {

// Opens each model of the plan once, by its path from the folder of `document`, and gives it a
// session. Cancellable; shows how far it is.
void add_sessions(const Runtime& runtime, const Plan& plan, const Ops& ops,
                  const std::string& document, const Cancel& cancel);

}  // namespace cli
