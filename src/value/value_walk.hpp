// Visits a value and everything that lies in it, with a stack of its own instead of recursion.
#pragma once

#include "value/value.hpp"

namespace soma {

// visit(key, part) for the value, then for each element or member, and before the next one for all
// that lies in it: the order in which one would read it aloud. `key` is a member's, else nullptr.
// Ends early, and returns false, if visit does. As deep as memory goes.
template <typename Visit>
bool each_part(const Value& value, Visit visit) {
  struct Level {
    const Value* whole;
    size_t at;
  };
  const auto parts = [](const Value& whole) {
    if (whole.is(ValueKind::List)) return whole.list().size();
    return whole.is(ValueKind::Map) ? whole.map().size() : 0;
  };
  if (!visit(static_cast<const std::string*>(nullptr), value)) return false;
  if (parts(value) == 0) return true;
  std::vector<Level> open = {{&value, 0}};
  while (!open.empty()) {
    Level& top = open.back();
    if (top.at == parts(*top.whole)) {
      open.pop_back();
      continue;
    }
    const size_t at = top.at++;
    const Member* member = top.whole->is(ValueKind::Map) ? &top.whole->map()[at] : nullptr;
    const Value& part = member ? member->value : top.whole->list()[at];
    if (!visit(member ? &member->key : nullptr, part)) return false;
    if (parts(part) != 0) open.push_back({&part, 0});
  }
  return true;
}

}  // namespace soma
