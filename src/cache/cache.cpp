// Two tiers as one: what is found on disk is kept in memory, and both are written.
#include "cache/cache.hpp"

#include <new>

namespace soma {

Result<std::unique_ptr<Cache>> Cache::open(const std::string& path, const CacheLimits& limits) {
  auto cache = std::make_unique<Cache>(limits);
  SOMA_ASSIGN(cache->disk_, DiskStore::open(path, limits.disk_bytes));
  return cache;
}

std::optional<CacheEntry> Cache::get(CacheKey key) noexcept {
  try {
    std::optional<CacheEntry> found = find(key);
    if (!found || !found->alias) return found;
    key = *found->alias;
    found = find(key);
    if (found && !found->alias) return found;  // nobody makes an alias of an alias
  } catch (const std::bad_alloc&) {
  }
  return std::nullopt;
}

std::optional<CacheEntry> Cache::find(const CacheKey& key) {
  std::optional<CacheEntry> found = memory_.get(key);
  if (found || !disk_) return found;
  found = disk_->get(key);
  if (found) static_cast<void>(memory_.put(key, *found));  // one too large is read again
  return found;
}

Status Cache::put(const CacheKey& key, const CacheEntry& entry) noexcept {
  ++failed_writes_;               // until it has not
  try {
    Status written = write(key, entry);
    if (written.ok()) {
      --failed_writes_;
    } else {
      const std::lock_guard lock(failing_);
      last_failure_ = written.error().message();
    }
    return written;
  } catch (const std::bad_alloc&) {
    return {};                    // without memory nothing can be said
  }
}

// What memory has no room for may still lie on disk.
Status Cache::write(const CacheKey& key, const CacheEntry& entry) {
  Status in_memory = memory_.put(key, entry);
  return disk_ ? disk_->put(key, entry) : std::move(in_memory);
}

CacheCounts Cache::counts() const {
  const auto of = [this](Count what) { return counts_[static_cast<size_t>(what)].load(); };
  return {of(Count::Hit), of(Count::Miss), of(Count::Skipped), failed_writes_.load()};
}

std::string Cache::last_failure() const {
  const std::lock_guard lock(failing_);
  return last_failure_;
}

Result<CacheSwept> Cache::sweep(u64 bytes_max) {
  SOMA_ASSIGN(const CacheSwept swept, memory_.sweep(bytes_max));
  return disk_ ? disk_->sweep(bytes_max) : swept;
}

}  // namespace soma
