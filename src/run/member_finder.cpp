// Finds members in their order at once, and others by bisection.
#include "run/member_finder.hpp"

#include <algorithm>
#include <numeric>

namespace soma {

size_t MemberFinder::find(std::string_view key) {
  if (next_ < members_.size() && members_[next_].key == key) return next_++;
  const auto key_of = [this](u32 member) -> std::string_view { return members_[member].key; };
  if (by_key_.empty() && !members_.empty()) {
    by_key_.resize(members_.size());
    std::iota(by_key_.begin(), by_key_.end(), u32{0});
    std::ranges::sort(by_key_, {}, key_of);
  }
  const auto at = std::ranges::lower_bound(by_key_, key, {}, key_of);
  if (at == by_key_.end() || key_of(*at) != key) return nowhere;
  next_ = size_t{*at} + 1;
  return *at;
}

}  // namespace soma
