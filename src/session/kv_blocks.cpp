// Hands out KV blocks and takes them back; nothing here allocates after construction.
#include "session/kv_blocks.hpp"

namespace soma {

KvBlocks::KvBlocks(u32 blocks) : free_(blocks), holders_(blocks) {
  for (u32 i = 0; i < blocks; ++i) free_[i] = blocks - 1 - i;  // the lowest first
}

u32 KvBlocks::take() {
  const u32 block = free_.back();
  free_.pop_back();
  holders_[block] = 1;
  return block;
}

void KvBlocks::drop(u32 block) {
  if (--holders_[block] == 0) free_.push_back(block);
}

}  // namespace soma
