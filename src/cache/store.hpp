// Where a cache's entries lie: the interface of its tiers.
#pragma once

#include "base/cancel.hpp"
#include "cache/key.hpp"

namespace soma {

struct CacheEntry {
  Value value;
  std::optional<DigestBytes> digest = {};   // of the value, if somebody knows it already
  // In place of a value: it is that of this key. So a recipe finds what lies under its content.
  std::optional<CacheKey> alias = {};
  std::string op = {};                      // of the node that yielded it, and how long that took
  i64 took_ns = 0;
};

// An entry without its value.
struct CacheRecord {
  CacheKey key;
  std::optional<CacheKey> alias = {};
  std::string op = {};
  i64 took_ns = 0;
};

struct CacheUse {
  u64 entries = 0, bytes = 0, bytes_max = 0;
  u64 pinned = 0;
  u64 evicted = 0, damaged = 0;   // since it was opened: for lack of room; found unreadable
};

struct CacheSwept {
  u64 entries = 0, bytes = 0;     // that were removed
  u64 left_overs = 0;             // of writers that were broken off
};

struct CacheCheck {
  u64 entries = 0, bytes = 0;     // that are sound
  u64 damaged = 0;                // that were not, and were removed
  u64 foreign = 0;                // files that are no entries: left alone
  u64 unreadable = 0;             // that the system did not let us read: left alone
};

// Any thread may call any of these at any time. Keys are digests of what the value is made of, so
// two who put the same key put the same value, and it does not matter whose stays.
class CacheStore {
 public:
  virtual ~CacheStore() = default;

  // The entry as it was put, and then it counts as used. Nothing: it was never there, is there no
  // more, or is not what it was.
  virtual std::optional<CacheEntry> get(const CacheKey& key) = 0;
  // The value holds nothing opaque. After a failure (cache_store) the store is as it was.
  virtual Status put(const CacheKey& key, const CacheEntry& entry) = 0;
  // A pinned entry, and what it is an alias of, stays until it is unpinned. cache_not_found,
  // cache_store.
  virtual Status pin(const CacheKey& key) = 0;
  virtual Status unpin(const CacheKey& key) = 0;
  // Removes what was not used for longest until at most so many bytes are left, or only pins.
  virtual Result<CacheSwept> sweep(u64 bytes_max) = 0;
  // Reads every entry. `cancel` may be null: cancelled, deadline.
  virtual Result<CacheCheck> verify(const Cancel* cancel) = 0;
  virtual Result<CacheUse> use() = 0;
  using Visit = void (*)(void* user, const CacheRecord& record);
  virtual Status each(Visit visit, void* user) = 0;
};

}  // namespace soma
