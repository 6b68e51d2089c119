// A cache of what nodes yield: a tier in memory, and behind it, if one likes, one on disk.
#pragma once

#include <atomic>
#include <mutex>

#include "cache/disk_store.hpp"
#include "cache/memory_store.hpp"

namespace soma {

struct CacheLimits {
  u64 memory_bytes = u64{256} << 20;
  u64 disk_bytes = u64{20} << 30;
};

// What runs did with it since it was made.
struct CacheCounts {
  u64 hits = 0;            // nodes whose value came from it
  u64 misses = 0;          // nodes that were looked for and had to run
  u64 skipped = 0;         // nodes that did not have to run, as nobody needed their value
  u64 failed_writes = 0;
};

class Cache {
 public:
  explicit Cache(const CacheLimits& limits) : memory_(limits.memory_bytes) {}
  // cache_version, cache_store.
  static Result<std::unique_ptr<Cache>> open(const std::string& path, const CacheLimits& limits);

  // From any thread at any time, also for several runs at once. Neither ever throws: what can't be
  // read is not there, and what can't be written is counted, and told unless memory is exhausted
  // (cache_store).
  std::optional<CacheEntry> get(CacheKey key) noexcept;
  Status put(const CacheKey& key, const CacheEntry& entry) noexcept;

  enum class Count : u8 { Hit, Miss, Skipped };
  void count(Count what) { ++counts_[static_cast<size_t>(what)]; }
  CacheCounts counts() const;
  std::string last_failure() const;         // of a write; empty: there was none

  Result<CacheUse> memory_use() { return memory_.use(); }
  bool has_disk() const { return disk_ != nullptr; }
  std::string_view path() const { return disk_ ? disk_->path() : std::string_view(); }
  // The tier that lasts: the disk's if there is one.
  CacheStore& store() { return disk_ ? static_cast<CacheStore&>(*disk_) : memory_; }
  // Both tiers.
  Result<CacheSwept> sweep(u64 bytes_max);

 private:
  std::optional<CacheEntry> find(const CacheKey& key);
  Status write(const CacheKey& key, const CacheEntry& entry);

  MemoryStore memory_;
  std::unique_ptr<DiskStore> disk_;
  std::array<std::atomic<u64>, 3> counts_ = {};
  std::atomic<u64> failed_writes_{0};
  mutable std::mutex failing_;              // guards last_failure_
  std::string last_failure_;
};

}  // namespace soma
