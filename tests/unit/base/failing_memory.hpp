// Runs something again and again, with memory for one block more each time, until it succeeds;
// after each failure everything must have been given back.
#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "base/memory.hpp"

namespace soma::fixture {

struct ShortMemory {
  std::atomic<int> blocks_left{0};
  bool comes_back = false;         // only one block is not there
  static void* allocate(void* user, size_t size, size_t alignment) {
    auto& self = *static_cast<ShortMemory*>(user);
    if (self.blocks_left == 0 && !self.comes_back) return nullptr;
    if (self.blocks_left.fetch_sub(1) == 0) return nullptr;
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  }
  static void release(void*, void* memory, size_t, size_t) { std::free(memory); }
};

// `work` throws bad_alloc or succeeds. Returns how often it failed.
template <typename Work>
int run_out_of_memory(const Work& work) {
  constexpr int blocks_max = 10000;
  for (int blocks = 0; blocks < blocks_max; ++blocks) {
    ShortMemory host{blocks, false};
    Memory memory({ShortMemory::allocate, ShortMemory::release, &host});
    bool failed = false;
    {
      const MemoryScope scope(&memory);
      try {
        work();
      } catch (const std::bad_alloc&) {
        failed = true;
      }
    }
    if (memory.allocated.bytes.load() != 0) {
      FAIL("after ", blocks, " blocks, ", memory.allocated.bytes.load(), " bytes are left behind");
    }
    if (!failed) return blocks;
  }
  FAIL("it never succeeds");
  return 0;
}

// `work` is done again and again, each time without another one block that it asks for, until it
// has got all of them. Returns how many that are.
template <typename Work>
int without_each_block(const Work& work) {
  constexpr int blocks_max = 10000;
  for (int block = 0; block < blocks_max; ++block) {
    ShortMemory host{block, true};
    Memory memory({ShortMemory::allocate, ShortMemory::release, &host});
    {
      const MemoryScope scope(&memory);
      work();
    }
    if (memory.allocated.bytes.load() != 0) {
      FAIL("without block ", block, ", ", memory.allocated.bytes.load(), " bytes are left behind");
    }
    if (host.blocks_left >= 0) return block;
  }
  FAIL("it never has enough");
  return 0;
}

}  // namespace soma::fixture
