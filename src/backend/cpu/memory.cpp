// Maps zeroed memory, on huge pages where it is large.
#include "backend/cpu/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace soma::cpu {

namespace {

constexpr u64 huge_page = u64{2} << 20;

// A mapping of `bytes` that starts at a multiple of `alignment`: maps more, gives back both ends.
u8* map_aligned(u64 bytes, u64 alignment) {
  const u64 room = bytes + alignment;
  void* mapped = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* begin = static_cast<u8*>(mapped);
  const u64 skip = (alignment - reinterpret_cast<uintptr_t>(begin) % alignment) % alignment;
  if (skip != 0) ::munmap(begin, skip);
  ::munmap(begin + skip + bytes, alignment - skip);
  return begin + skip;
}

}  // namespace

Result<Mapping> Mapping::create(u64 bytes, std::string_view what) {
  Mapping mapping;
  if (bytes == 0) return mapping;
  const auto page = static_cast<u64>(::sysconf(_SC_PAGESIZE));
  const u64 alignment = bytes >= huge_page ? huge_page : page;
  const std::optional<u64> padded = checked_add(bytes, page - 1);
  if (padded && checked_add(*padded, alignment)) {
    const u64 whole = *padded / page * page;
    mapping.data_ = map_aligned(whole, alignment);
    if (mapping.data_ != nullptr) {
      mapping.bytes_ = whole;
      mapping.counted_ = MappedBytes(whole);
    }
  }
  if (mapping.data_ == nullptr) {
    return fail(Reason::out_of_memory, "the system has no {} bytes for {}", bytes, what);
  }
  // A wish only: a system without huge pages goes on with small ones.
  if (alignment == huge_page) ::madvise(mapping.data_, mapping.bytes_, MADV_HUGEPAGE);
  return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      counted_(std::move(other.counted_)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    release();
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    counted_ = std::move(other.counted_);
  }
  return *this;
}

Mapping::~Mapping() { release(); }

void Mapping::release() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
  data_ = nullptr;
  bytes_ = 0;
  counted_ = MappedBytes();
}

}  // namespace soma::cpu
