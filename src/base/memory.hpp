// Where memory comes from: one runtime's allocator and account, and which runtime a thread works
// for. Everything the library allocates goes through the operators in memory.cpp.
#pragma once

#include <atomic>

#include "base/core.hpp"

namespace soma {

// A host's allocator. Without functions: malloc.
struct Allocator {
  void* (*allocate)(void* user, size_t size, size_t alignment) = nullptr;
  void (*release)(void* user, void* memory, size_t size, size_t alignment) = nullptr;
  void* user = nullptr;
};

// The account of one runtime. It outlives every block that was allocated while it was current.
class Memory {
 public:
  explicit Memory(Allocator allocator) : allocator_(allocator) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* allocate(size_t size, size_t alignment) noexcept;  // nullptr: there is none
  void release(void* memory, size_t size, size_t alignment) noexcept;

  struct Count {
    std::atomic<u64> bytes{0};
    std::atomic<u64> peak_bytes{0};
    void add(u64 size);
    void subtract(u64 size) { bytes.fetch_sub(size, std::memory_order_relaxed); }
  };
  Count allocated;  // through the allocator, headers included
  Count mapped;     // from the system directly: files, weights, KV memory

 private:
  Allocator allocator_;
};

// The account that this thread's allocations go to; nullptr: none, plain malloc.
Memory* current_memory();
// Where that is noted for this thread, for who changes it more than once in a call.
Memory*& current_memory_note();

// Makes an account the thread's current one for a scope.
class MemoryScope {
 public:
  explicit MemoryScope(Memory* memory);
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

 private:
  Memory* before_;
};

// Counts bytes that their owner mapped, on the account current at its construction.
class MappedBytes {
 public:
  MappedBytes() = default;
  explicit MappedBytes(u64 bytes);
  MappedBytes(MappedBytes&& other) noexcept;
  MappedBytes& operator=(MappedBytes&& other) noexcept;
  ~MappedBytes();

 private:
  Memory* memory_ = nullptr;
  u64 bytes_ = 0;
};

}  // namespace soma
