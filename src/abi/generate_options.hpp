// Options that say how to generate, read.
#pragma once

#include "abi/options.hpp"
#include "session/session.hpp"

namespace soma::wall {

// Of settings of kind generate.
Sampling sampling_option(const Settings& settings);
GenerateOptions generate_option(const Settings& settings);

}  // namespace soma::wall
