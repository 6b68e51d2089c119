// Finds members of a map, one after the other.
#pragma once

#include "value/value.hpp"

namespace soma {

// At once, if they are asked for in the order of the map, which is how most are; otherwise by an
// index, which is made when it is first needed. So asking for all of them never takes a product of
// two sizes. The map outlives it.
class MemberFinder {
 public:
  static constexpr size_t nowhere = ~size_t{0};

  explicit MemberFinder(std::span<const Member> members) : members_(members) {}
  // Which member it is.
  size_t find(std::string_view key);

 private:
  std::span<const Member> members_;
  size_t next_ = 0;                 // behind the one that was found last
  std::vector<u32> by_key_;
};

}  // namespace soma
