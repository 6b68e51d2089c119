// The disk tier of a cache: a file for each entry, in a folder that many processes may share.
#pragma once

#include <atomic>
#include <mutex>

#include "cache/folder.hpp"

namespace soma {

class DiskStore final : public CacheStore {
 public:
  // The folder is made if it is missing. cache_version, cache_store.
  static Result<std::unique_ptr<DiskStore>> open(const std::string& path, u64 bytes_max);

  std::string_view path() const { return folder_.path(); }

  std::optional<CacheEntry> get(const CacheKey& key) override;
  Status put(const CacheKey& key, const CacheEntry& entry) override;
  Status pin(const CacheKey& key) override;
  Status unpin(const CacheKey& key) override;
  Result<CacheSwept> sweep(u64 bytes_max) override;
  Result<CacheCheck> verify(const Cancel* cancel) override;
  Result<CacheUse> use() override;
  Status each(Visit visit, void* user) override;

 private:
  DiskStore(CacheFolder folder, u64 bytes_max)
      : folder_(std::move(folder)), bytes_max_(bytes_max) {}

  Status set_pinned(const CacheKey& key, bool is_pinned);
  Status keep_bound(u64 written_bytes);
  CacheSwept remove_down_to(u64 bytes_max, CacheFolder::Listing& listing) const;

  const CacheFolder folder_;
  const u64 bytes_max_;
  std::atomic<u64> evicted_{0}, damaged_{0};
  std::mutex counting_;           // guards both:
  std::optional<u64> bytes_;      // when the folder was last looked through, and what we added
  u64 added_ = 0;                 // since then
};

}  // namespace soma
