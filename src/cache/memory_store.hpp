// The memory tier of a cache: values as they are, the last used ones.
#pragma once

#include <cstring>
#include <list>
#include <mutex>
#include <unordered_map>

#include "cache/store.hpp"

namespace soma {

class MemoryStore final : public CacheStore {
 public:
  explicit MemoryStore(u64 bytes_max) : bytes_max_(bytes_max) {}

  std::optional<CacheEntry> get(const CacheKey& key) override;
  Status put(const CacheKey& key, const CacheEntry& entry) override;
  Status pin(const CacheKey& key) override;
  Status unpin(const CacheKey& key) override;
  Result<CacheSwept> sweep(u64 bytes_max) override;
  Result<CacheCheck> verify(const Cancel* cancel) override;
  Result<CacheUse> use() override;
  Status each(Visit visit, void* user) override;

 private:
  struct Held {
    CacheKey key;
    CacheEntry entry;
    u64 bytes = 0;
    bool is_pinned = false;
  };
  using Order = std::list<Held>;
  // A key is a digest already.
  struct KeyHash {
    size_t operator()(const CacheKey& key) const {
      size_t hash = 0;
      std::memcpy(&hash, key.bytes.data(), sizeof hash);
      return hash;
    }
  };

  Result<Order::iterator> find(const CacheKey& key);
  void remove_down_to(u64 bytes_max, Order& removed);

  const u64 bytes_max_;
  std::mutex entries_;              // guards all of:
  Order order_;                     // the last used first
  std::unordered_map<CacheKey, Order::iterator, KeyHash> by_key_;
  u64 bytes_ = 0, pinned_ = 0, evicted_ = 0;
};

}  // namespace soma
