// What a program does, as one short text.
#pragma once

#include "circuit/program/launch.hpp"

namespace soma {

// Over everything a backend reads, and nothing else: not groups, edge numbers, modes or the plan.
// 32 hex digits.
std::string program_digest(const Program& program);

}  // namespace soma
