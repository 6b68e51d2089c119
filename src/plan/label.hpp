// How ids, arms and settings of items are shown to people: in trees and in pictures.
#pragma once

#include "plan/plan.hpp"

namespace soma {

// Text in which no character can steer the terminal that shows it: control characters are \u001b.
std::string printable(std::string_view text);
// An id as it is, or as a JSON string if it could be taken for more than one word.
std::string shown_id(std::string_view id);
// "target=gpu" or "worker=w1".
std::string shown_target(const Target& target);
// "max=4, until=judge, carry=judge"; what is not there is left out.
std::string shown_loop(const Plan& plan, const PlanLoop& loop);
// Two spaces a level, down to a depth at which nobody reads them any more: a million levels would
// be a million times a million spaces.
inline constexpr u32 indented_levels_max = 128;
std::string indentation(u32 level);

}  // namespace soma
