// Proves that blocks go to the account they came from, with the size and alignment they came with.
#include "base/memory.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <new>
#include <thread>

#include "base/team.hpp"

using namespace soma;

namespace {

// Checks each release against its allocation. It uses malloc's own containers: none of the library.
struct Host {
  struct Block {
    void* memory;
    size_t size, alignment;
  };
  Block blocks[64] = {};
  int count = 0, wrong = 0;
  bool refuses = false;

  static void* allocate(void* user, size_t size, size_t alignment) {
    auto& host = *static_cast<Host*>(user);
    if (host.refuses || host.count == 64) return nullptr;
    void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    host.blocks[host.count++] = {memory, size, alignment};
    return memory;
  }
  static void release(void* user, void* memory, size_t size, size_t alignment) {
    auto& host = *static_cast<Host*>(user);
    for (Block& block : host.blocks) {
      if (block.memory != memory) continue;
      host.wrong += block.size != size || block.alignment != alignment;
      block = {};
      std::free(memory);
      return;
    }
    ++host.wrong;
  }
  Allocator allocator() { return {allocate, release, this}; }
};

struct alignas(256) Wide {
  u8 bytes[256];
};

}  // namespace

// Left out where a sanitizer brings operators of its own.
TEST_SUITE_BEGIN("own new");

TEST_CASE("a block returns to its account, whatever is current when it goes") {
  Host host;
  Memory memory(host.allocator());
  Memory other({});
  int* number = nullptr;
  Wide* wide = nullptr;
  int* many = nullptr;
  {
    const MemoryScope scope(&memory);
    number = new int(1);
    wide = new Wide();
    many = new int[100];
  }
  CHECK(host.count == 3);
  CHECK(memory.allocated.bytes.load() > 400 + 256);
  CHECK(reinterpret_cast<uintptr_t>(wide) % 256 == 0);
  {
    const MemoryScope scope(&other);
    delete number;
    delete wide;
  }
  std::thread([&] { delete[] many; }).join();
  CHECK(host.wrong == 0);
  CHECK(memory.allocated.bytes.load() == 0);
  CHECK(memory.allocated.peak_bytes.load() > 400 + 256);
  CHECK(other.allocated.bytes.load() == 0);
}

TEST_CASE("without an account blocks come from malloc and are not counted") {
  Host host;
  Memory memory(host.allocator());
  auto* before = new int(1);
  const MemoryScope scope(&memory);
  const MemoryScope none(nullptr);
  delete before;
  delete new int(2);
  CHECK(host.count == 0);
}

TEST_CASE("an exhausted account throws, or says nullptr where asked to") {
  Host host;
  host.refuses = true;
  Memory memory(host.allocator());
  bool thrown = false;
  int* none = reinterpret_cast<int*>(1);
  {
    const MemoryScope scope(&memory);
    try {
      ::operator delete(::operator new(sizeof(int)));  // a new-expression could be elided
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    none = new (std::nothrow) int(1);
  }
  CHECK(thrown);
  CHECK(none == nullptr);
  CHECK(memory.allocated.bytes.load() == 0);
}

TEST_CASE("sizes beyond all memory are refused, not wrapped") {
  volatile size_t huge = SIZE_MAX - 8;
  CHECK_THROWS_AS(static_cast<void>(::operator new(huge)), std::bad_alloc);
  CHECK(::operator new(huge, std::align_val_t(4096), std::nothrow) == nullptr);
}

TEST_SUITE_END();

TEST_CASE("a team's helpers allocate from the caller's account") {
  Memory memory({});
  auto team = Team::create(2);
  REQUIRE(team.ok());
  struct Seen {
    std::atomic<int> members{0}, wrong{0};
    Memory* expected = nullptr;
  } seen;
  seen.expected = &memory;
  {
    const MemoryScope scope(&memory);
    (*team)->run(
        [](void* user, i32) {
          auto& all = *static_cast<Seen*>(user);
          all.wrong += current_memory() != all.expected;
          ++all.members;
          // Gives a helper the time to arrive.
          for (int i = 0; i < 200 && all.members.load() < 2; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
          }
        },
        &seen);
  }
  CHECK(seen.members.load() == 2);
  CHECK(seen.wrong.load() == 0);
  team->reset();
}

TEST_CASE("mapped bytes are counted where they were mapped, also after a move") {
  Memory memory({});
  MappedBytes kept;
  {
    const MemoryScope scope(&memory);
    kept = MappedBytes(4096);
    MappedBytes gone(1000);
    CHECK(memory.mapped.bytes.load() == 5096);
  }
  CHECK(memory.mapped.bytes.load() == 4096);
  kept = MappedBytes();
  CHECK(memory.mapped.bytes.load() == 0);
  CHECK(memory.mapped.peak_bytes.load() == 5096);
}
