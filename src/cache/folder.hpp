// The files of a cache's folder: read whole, replaced whole, listed, removed.
#pragma once

#include "cache/blob.hpp"

namespace soma {

// Paths:
//   DIR/soma-cache          the folder's mark
//   DIR/ab/ab…64 digits     entries, by the first two digits of their keys
//   DIR/new/…               files that are being written
//   DIR/pins/…64 digits     empty: the entry is pinned
class CacheFolder {
 public:
  // Makes what is missing. cache_version: it is no cache, or one of another version. cache_store.
  static Result<CacheFolder> open(const std::string& path);

  struct File {
    CacheKey key;
    u64 bytes = 0;
    i64 used_ns = 0;              // by the clock of the file system
  };
  struct Listing {
    std::vector<File> files;
    u64 bytes = 0;
    u64 foreign = 0;
  };

  const std::string& path() const { return path_; }
  // At most `bytes_max` of the file; nothing, if there is none or it can't be read (then *problem).
  // `marks_use`: it counts as used now.
  std::optional<std::string> read(const CacheKey& key, size_t bytes_max, bool marks_use,
                                  bool* problem = nullptr) const;
  bool has(const CacheKey& key) const;
  Status write(const CacheKey& key, std::string_view blob) const;
  Status pin(const CacheKey& key, bool is_pinned) const;
  bool is_pinned(const CacheKey& key) const;
  Result<u64> count_pins() const;
  Result<Listing> list() const;
  // Whether it was there; failures to remove count as no.
  bool remove(const CacheKey& key) const;
  // What writers left that were broken off more than an hour ago.
  u64 remove_left_overs() const;

 private:
  explicit CacheFolder(std::string path) : path_(std::move(path)) {}
  std::string file(const CacheKey& key) const;
  std::string pin_file(const CacheKey& key) const { return path_ + "/pins/" + key.hex(); }

  std::string path_;
};

}  // namespace soma
