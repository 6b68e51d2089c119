// Starts a program as a process of its own.
#pragma once

#include <sys/types.h>

#include "base/descriptor.hpp"

namespace soma {

struct Command {
  std::vector<std::string> argv;         // the first is looked up in PATH, unless it has a slash
  std::vector<std::string> environment;  // "NAME=value", all of it: PATH is taken from here
  std::string folder;                    // where it runs, and whence relative paths count; empty:
                                         // where this process runs
};

struct Launched {
  pid_t id = -1;               // also its group's
  Descriptor process;          // readable once it has ended
  Descriptor input;            // this end never blocks, of all three
  Descriptor output, errors;
};

// In a group of its own, with no signal blocked or ignored, and of this process's descriptors none.
// exec_start.
Result<Launched> launch(Command command);

}  // namespace soma
