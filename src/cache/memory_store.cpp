// Keeps values in the order of their use, and lets go of the oldest.
//
// Values are shared, so a hit costs a look into a table and a reference. Whoever reads a value that
// the cache holds too is not its sole owner: nobody changes it in place. What is removed is let go
// of after the lock, as a large value takes its time.
#include "cache/memory_store.hpp"

#include "value/value_binary.hpp"

namespace soma {

std::optional<CacheEntry> MemoryStore::get(const CacheKey& key) {
  const std::lock_guard lock(entries_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return std::nullopt;
  order_.splice(order_.begin(), order_, found->second);
  return found->second->entry;
}

Status MemoryStore::put(const CacheKey& key, const CacheEntry& entry) {
  constexpr u64 overhead_bytes = sizeof(Held) + 96;  // a guess: of the list and the table
  const u64 bytes = value_memory_bytes(entry.value) + entry.op.size() + overhead_bytes;
  if (bytes > bytes_max_) {
    return fail(Reason::cache_store, "the value takes about {} bytes, and the cache may take {}",
                bytes, bytes_max_);
  }
  Order made, removed;
  made.push_back({key, entry, bytes, false});
  const std::lock_guard lock(entries_);
  const auto [at, is_new] = by_key_.try_emplace(key, made.begin());
  if (!is_new) {
    made.front().is_pinned = at->second->is_pinned;
    bytes_ -= at->second->bytes;
    removed.splice(removed.end(), order_, at->second);
    at->second = made.begin();
  }
  order_.splice(order_.begin(), made);
  bytes_ += bytes;
  const size_t replaced = removed.size();
  remove_down_to(bytes_max_, removed);
  evicted_ += removed.size() - replaced;
  return {};
}

// All pinned entries stay, whatever they take.
void MemoryStore::remove_down_to(u64 bytes_max, Order& removed) {
  auto at = order_.end();
  while (bytes_ > bytes_max && at != order_.begin()) {
    --at;
    if (at->is_pinned) continue;
    const auto oldest = at++;
    by_key_.erase(oldest->key);
    bytes_ -= oldest->bytes;
    removed.splice(removed.end(), order_, oldest);
  }
}

Result<MemoryStore::Order::iterator> MemoryStore::find(const CacheKey& key) {
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) return found->second;
  return fail(Reason::cache_not_found, "the cache has no entry {}", key.hex());
}

Status MemoryStore::pin(const CacheKey& key) {
  const std::lock_guard lock(entries_);
  SOMA_ASSIGN(const Order::iterator entry, find(key));
  const auto mark = [this](Held& held) {
    pinned_ += held.is_pinned ? 0 : 1;
    held.is_pinned = true;
  };
  mark(*entry);
  if (!entry->entry.alias) return {};
  const auto target = by_key_.find(*entry->entry.alias);
  if (target != by_key_.end()) mark(*target->second);
  return {};
}

Status MemoryStore::unpin(const CacheKey& key) {
  const std::lock_guard lock(entries_);
  SOMA_ASSIGN(const Order::iterator entry, find(key));
  const auto unmark = [this](Held& held) {
    pinned_ -= held.is_pinned ? 1 : 0;
    held.is_pinned = false;
  };
  unmark(*entry);
  if (!entry->entry.alias) return {};
  const auto target = by_key_.find(*entry->entry.alias);
  if (target != by_key_.end()) unmark(*target->second);
  return {};
}

Result<CacheSwept> MemoryStore::sweep(u64 bytes_max) {
  Order removed;
  const std::lock_guard lock(entries_);
  const u64 before = bytes_;
  remove_down_to(bytes_max, removed);
  return CacheSwept{removed.size(), before - bytes_, 0};
}

Result<CacheCheck> MemoryStore::verify(const Cancel*) {
  const std::lock_guard lock(entries_);
  CacheCheck check;
  check.entries = order_.size();
  check.bytes = bytes_;
  return check;
}

Result<CacheUse> MemoryStore::use() {
  const std::lock_guard lock(entries_);
  return CacheUse{order_.size(), bytes_, bytes_max_, pinned_, evicted_, 0};
}

Status MemoryStore::each(Visit visit, void* user) {
  const std::lock_guard lock(entries_);
  for (const Held& held : order_) {
    visit(user, {held.key, held.entry.alias, held.entry.op, held.entry.took_ns});
  }
  return {};
}

}  // namespace soma
