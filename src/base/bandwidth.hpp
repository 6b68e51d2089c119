// How fast a team reads memory: the bound of everything that reads all weights for each token.
#pragma once

#include "base/cancel.hpp"
#include "base/core.hpp"
#include "base/team.hpp"

namespace soma {

struct Bandwidth {
  double bytes_per_s = 0;  // the median round
  u64 bytes = 0;           // read in a round
  i32 rounds = 0;
};

// Reads the same large block over and over for about a second. out_of_memory; cancelled, deadline.
Result<Bandwidth> measure_read_bandwidth(Team& team, const Cancel* cancel);

}  // namespace soma
