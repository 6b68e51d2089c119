// The monotonic clock, in nanoseconds.
#pragma once

#include "base/core.hpp"

namespace soma {

i64 now_ns();

}  // namespace soma
