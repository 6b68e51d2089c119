// Says before which launches all earlier work must be done.
#pragma once

#include "circuit/program/launch.hpp"

namespace soma {

// Sets barrier_before of every launch. `rows_max` rows are what an edge may span.
void set_barriers(Program& program);

}  // namespace soma
