// The step std.exec, which runs a program: only where the host has allowed processes.
//
// What it asks for is an effect of the same name, of which any step may make use: its payload is a
// map of the settings of std.exec, but for in_doubt, and of "input". Text goes to the program's
// stdin as it is, other values as JSON; the result is what the program writes to its stdout. The
// program finds the effect's key in its variable SOMA_EFFECT_KEY.
#pragma once

#include "run/ops.hpp"

namespace soma {

inline constexpr std::string_view exec_name = "std.exec";

struct ExecOptions {
  std::vector<std::string> environment;  // "NAME=value": what every program is given
  std::string folder;                    // where programs run whose node names no dir, and what a
                                         // relative dir counts from; empty: where this process runs
};

// With these ops the programs go: destroying them stops what still runs. ops_duplicate.
Status add_exec(Ops& ops, ExecOptions options);

}  // namespace soma
