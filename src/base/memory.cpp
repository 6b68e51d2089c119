// The library's operator new and delete, which serve each block from the runtime it belongs to.
//
// Problem. A host gives each runtime its own allocator, and wants to see all of its memory go
// through it, but the core is written with strings and vectors that know nothing of runtimes.
// Allocator-aware types everywhere would be paid for in every signature.
//
// Idea. The wall notes on the thread which runtime a call works for, and the team passes that note
// to its helpers. Allocating asks the note. Releasing must not: a block may be freed in another
// call, on another thread, after other calls. So each block starts with a header that names its
// owner, and its size and alignment, which the host's function wants to know.
//
// Why it is right. The operators are the only ones that the library's code sees: the export map
// hides them, so the host's own operators and the library's never meet, and no block crosses.
// That holds as long as nothing inlined from libstdc++ frees what code inside libstdc++.so
// allocated; streams, locales, regular expressions and file systems do that, and are banned.
// Owners outlive their blocks: objects hold their runtime. Cost: 16 bytes a block, one
// thread-local read, three relaxed atomic additions.
#include "base/memory.hpp"

#include <sys/mman.h>

#include <bit>
#include <cstdlib>
#include <new>

namespace soma {

namespace {

thread_local constinit Memory* current = nullptr;

constexpr size_t smallest_alignment = 16;
constexpr unsigned size_bits = 56;

// Stands right before the block. Its 16 bytes keep the smallest alignment.
struct Header {
  Memory* owner;
  u64 size_and_shift;  // the size below, the alignment's logarithm in the top byte
};
static_assert(sizeof(Header) == smallest_alignment);

#ifdef MADV_HUGEPAGE
// The system hands out memory page by page, when it is first touched, and takes about 1 ns for each
// byte of small pages, 0.15 for huge ones. So huge pages are asked for where a block has several:
// as many as lie in it, since a last one would be paid for as a whole. Where the system knows none,
// nothing is lost.
constexpr size_t huge_page = size_t{2} << 20;

void* allocate_huge(size_t size) {
  void* memory = nullptr;
  if (posix_memalign(&memory, huge_page, size) != 0) return nullptr;
  madvise(memory, size / huge_page * huge_page, MADV_HUGEPAGE);
  return memory;
}
#else
constexpr size_t huge_page = SIZE_MAX;
void* allocate_huge(size_t) { return nullptr; }
#endif

void* plain_allocate(size_t size, size_t alignment) {
  if (size / 2 >= huge_page && alignment <= huge_page) return allocate_huge(size);
  if (alignment <= smallest_alignment) return std::malloc(size);
  if (size > SIZE_MAX - alignment) return nullptr;
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_block(size_t size, size_t alignment) noexcept {
  if (alignment < smallest_alignment) alignment = smallest_alignment;
  if (size >> (size_bits - 1) != 0) return nullptr;
  const size_t total = size + alignment;
  Memory* owner = current;
  void* base = owner ? owner->allocate(total, alignment) : plain_allocate(total, alignment);
  if (!base) return nullptr;
  u8* block = static_cast<u8*>(base) + alignment;
  const u64 shift = static_cast<u64>(std::countr_zero(alignment));
  new (block - sizeof(Header)) Header{owner, shift << size_bits | size};
  return block;
}

void release_block(void* memory) noexcept {
  if (!memory) return;
  u8* block = static_cast<u8*>(memory);
  const Header header = *std::launder(reinterpret_cast<Header*>(block - sizeof(Header)));
  const size_t alignment = size_t{1} << (header.size_and_shift >> size_bits);
  const size_t size = header.size_and_shift & ((u64{1} << size_bits) - 1);
  u8* base = block - alignment;
  if (header.owner) {
    header.owner->release(base, size + alignment, alignment);
  } else {
    std::free(base);
  }
}

void* allocate_or_throw(size_t size, size_t alignment) {
  void* block = allocate_block(size, alignment);
  if (!block) throw std::bad_alloc();
  return block;
}

}  // namespace

void* Memory::allocate(size_t size, size_t alignment) noexcept {
  void* memory = allocator_.allocate ? allocator_.allocate(allocator_.user, size, alignment)
                                     : plain_allocate(size, alignment);
  if (memory) allocated.add(size);
  return memory;
}

void Memory::release(void* memory, size_t size, size_t alignment) noexcept {
  allocated.subtract(size);
  if (allocator_.release) {
    allocator_.release(allocator_.user, memory, size, alignment);
  } else {
    std::free(memory);
  }
}

void Memory::Count::add(u64 size) {
  const u64 now = bytes.fetch_add(size, std::memory_order_relaxed) + size;
  u64 peak = peak_bytes.load(std::memory_order_relaxed);
  while (now > peak &&
         !peak_bytes.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

Memory* current_memory() { return current; }
Memory*& current_memory_note() { return current; }

MemoryScope::MemoryScope(Memory* memory) : before_(current) { current = memory; }
MemoryScope::~MemoryScope() { current = before_; }

MappedBytes::MappedBytes(u64 bytes) : memory_(current), bytes_(bytes) {
  if (memory_) memory_->mapped.add(bytes_);
}

MappedBytes::MappedBytes(MappedBytes&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

MappedBytes& MappedBytes::operator=(MappedBytes&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedBytes::~MappedBytes() {
  if (memory_) memory_->mapped.subtract(bytes_);
}

}  // namespace soma

using soma::allocate_block;
using soma::allocate_or_throw;
using soma::release_block;

namespace {
constexpr size_t plain = 0;
constexpr size_t bytes_of(std::align_val_t alignment) { return static_cast<size_t>(alignment); }
}  // namespace

void* operator new(size_t size) { return allocate_or_throw(size, plain); }
void* operator new[](size_t size) { return allocate_or_throw(size, plain); }
void* operator new(size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, bytes_of(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, bytes_of(alignment));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return allocate_block(size, plain);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return allocate_block(size, plain);
}
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate_block(size, bytes_of(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate_block(size, bytes_of(alignment));
}

void operator delete(void* memory) noexcept { release_block(memory); }
void operator delete[](void* memory) noexcept { release_block(memory); }
void operator delete(void* memory, size_t) noexcept { release_block(memory); }
void operator delete[](void* memory, size_t) noexcept { release_block(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release_block(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release_block(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { release_block(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { release_block(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release_block(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release_block(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  release_block(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  release_block(memory);
}
