// Leave for a document to start programs.
#pragma once

#include "cli/client.hpp"

namespace cli {

// With the tool's own environment, in the folder of `document`; of standard input, where it runs.
void allow_processes(const Runtime& runtime, const Ops& ops, const std::string& document);

}  // namespace cli
