// Reads, writes and bounds the files of a cache.
//
// The bound. To know how much a folder holds, somebody has to look through it, which takes a second
// for some hundred thousand files, and other processes add to it meanwhile. So a writer looks when
// it writes for the first time, adds up what it writes itself, and looks again when that is a
// sixteenth of the bound: a folder that n processes write to grows beyond its bound by n sixteenths
// at most. Then what was not used for longest goes, down to seven eighths, so that the next write
// does not have to remove again.
//
// The use. A file's time of change says when it was last used: it is set when the entry is read,
// unless it was within the last minute (folder.cpp).
#include "cache/disk_store.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace soma {

namespace {

Error not_found(const CacheKey& key) {
  return fail(Reason::cache_not_found, "the cache has no entry {}", key.hex());
}

// What a newer library wrote is none, nor is what this machine has no memory for.
bool is_damage(const Error& error) {
  return error.reason() != Reason::document_version && error.reason() != Reason::out_of_memory;
}

}  // namespace

Result<std::unique_ptr<DiskStore>> DiskStore::open(const std::string& path, u64 bytes_max) {
  SOMA_ASSIGN(CacheFolder folder, CacheFolder::open(path));
  return std::unique_ptr<DiskStore>(new DiskStore(std::move(folder), bytes_max));
}

std::optional<CacheEntry> DiskStore::get(const CacheKey& key) {
  const std::optional<std::string> bytes = folder_.read(key, blob_bytes_max, true);
  if (!bytes) return std::nullopt;
  Result<CacheEntry> entry = read_blob(key, *bytes);
  if (entry.ok()) return std::move(entry).value();
  if (is_damage(entry.error())) ++damaged_;
  return std::nullopt;
}

Status DiskStore::put(const CacheKey& key, const CacheEntry& entry) {
  SOMA_ASSIGN(const std::string blob, cache_blob(key, entry));
  if (blob.size() > bytes_max_) {
    return fail(Reason::cache_store, "the entry has {} bytes, and the cache may have {}",
                blob.size(), bytes_max_);
  }
  SOMA_TRY(folder_.write(key, blob));
  return keep_bound(blob.size());
}

Status DiskStore::keep_bound(u64 written_bytes) {
  const std::lock_guard lock(counting_);
  added_ += written_bytes;
  if (bytes_ && added_ <= bytes_max_ / 16 && *bytes_ + added_ <= bytes_max_) return {};
  SOMA_ASSIGN(CacheFolder::Listing listing, folder_.list());
  bytes_ = listing.bytes;
  added_ = 0;
  if (listing.bytes <= bytes_max_) return {};
  const CacheSwept swept = remove_down_to(bytes_max_ - bytes_max_ / 8, listing);
  evicted_ += swept.entries;
  bytes_ = listing.bytes - swept.bytes;
  return {};
}

CacheSwept DiskStore::remove_down_to(u64 bytes_max, CacheFolder::Listing& listing) const {
  std::ranges::sort(listing.files, [](const CacheFolder::File& a, const CacheFolder::File& b) {
    return a.used_ns != b.used_ns ? a.used_ns < b.used_ns : a.key < b.key;
  });
  CacheSwept swept;
  for (const CacheFolder::File& file : listing.files) {
    if (listing.bytes - swept.bytes <= bytes_max) break;
    if (folder_.is_pinned(file.key) || !folder_.remove(file.key)) continue;
    ++swept.entries;
    swept.bytes += file.bytes;
  }
  return swept;
}

Result<CacheSwept> DiskStore::sweep(u64 bytes_max) {
  SOMA_ASSIGN(CacheFolder::Listing listing, folder_.list());
  CacheSwept swept = remove_down_to(bytes_max, listing);
  swept.left_overs = folder_.remove_left_overs();
  const std::lock_guard lock(counting_);
  bytes_.reset();                 // the next write looks
  return swept;
}

Status DiskStore::pin(const CacheKey& key) { return set_pinned(key, true); }
Status DiskStore::unpin(const CacheKey& key) { return set_pinned(key, false); }

Status DiskStore::set_pinned(const CacheKey& key, bool is_pinned) {
  const std::optional<std::string> head = folder_.read(key, blob_head_bytes_max, false);
  if (!head) {
    // The pin of an entry that is gone can still be taken back.
    if (is_pinned || !folder_.is_pinned(key)) return not_found(key);
    return folder_.pin(key, false);
  }
  SOMA_TRY(folder_.pin(key, is_pinned));
  const Result<CacheRecord> record = read_blob_head(*head);
  if (!record.ok() || !record->alias) return {};
  return is_pinned && !folder_.has(*record->alias) ? Status()
                                                   : folder_.pin(*record->alias, is_pinned);
}

Result<CacheCheck> DiskStore::verify(const Cancel* cancel) {
  SOMA_ASSIGN(const CacheFolder::Listing listing, folder_.list());
  CacheCheck check;
  check.foreign = listing.foreign;
  for (size_t i = 0; i < listing.files.size(); ++i) {
    if (cancel) {
      cancel->report("verify", i, listing.files.size());
      SOMA_TRY(cancel->check());
    }
    const CacheFolder::File& file = listing.files[i];
    bool has_problem = false;
    const std::optional<std::string> bytes =
        folder_.read(file.key, blob_bytes_max, false, &has_problem);
    if (!bytes) {
      check.unreadable += has_problem ? 1 : 0;  // otherwise it is gone meanwhile
      continue;
    }
    const Result<CacheEntry> entry = read_blob(file.key, *bytes);
    if (entry.ok()) {
      ++check.entries;
      check.bytes += bytes->size();
    } else if (is_damage(entry.error())) {
      ++check.damaged;
      folder_.remove(file.key);
    } else {
      const bool is_newer = entry.error().reason() == Reason::document_version;
      ++(is_newer ? check.foreign : check.unreadable);
    }
  }
  return check;
}

Result<CacheUse> DiskStore::use() {
  SOMA_ASSIGN(const CacheFolder::Listing listing, folder_.list());
  SOMA_ASSIGN(const u64 pins, folder_.count_pins());
  return CacheUse{listing.files.size(), listing.bytes, bytes_max_, pins, evicted_.load(),
                  damaged_.load()};
}

Status DiskStore::each(Visit visit, void* user) {
  SOMA_ASSIGN(const CacheFolder::Listing listing, folder_.list());
  for (const CacheFolder::File& file : listing.files) {
    const std::optional<std::string> head = folder_.read(file.key, blob_head_bytes_max, false);
    if (!head) continue;
    const Result<CacheRecord> record = read_blob_head(*head);
    if (record.ok() && record->key == file.key) visit(user, *record);
  }
  return {};
}

}  // namespace soma
