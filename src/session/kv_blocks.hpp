// The session's pool of KV blocks: which are free, and how many sequences share each.
#pragma once

#include "base/core.hpp"

namespace soma {

class KvBlocks {
 public:
  explicit KvBlocks(u32 blocks);

  u32 total() const { return static_cast<u32>(holders_.size()); }
  u32 available() const { return static_cast<u32>(free_.size()); }
  u32 take();               // with one holder; only while there are available ones
  void share(u32 block) { ++holders_[block]; }
  void drop(u32 block);     // the last holder's drop makes it available
  bool is_shared(u32 block) const { return holders_[block] > 1; }

 private:
  std::vector<u32> free_;     // a stack: what was used last is used next, while it is in a cache
  std::vector<u32> holders_;  // [block]
};

}  // namespace soma
