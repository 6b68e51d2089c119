// An entry as the bytes of a file, whose layout is in format.md.
#pragma once

#include "cache/store.hpp"

namespace soma {

inline constexpr u64 blob_content_bytes_max = u64{1} << 30;  // of a value's binary form
inline constexpr size_t blob_op_bytes_max = 1024;            // a longer name is not kept
// Whatever a head has fits into so many bytes.
inline constexpr size_t blob_head_bytes_max = 4096;
inline constexpr size_t blob_bytes_max = (size_t{1} << 30) + (size_t{1} << 24);

// cache_store: the value is too large, or opaque.
Result<std::string> cache_blob(const CacheKey& key, const CacheEntry& entry);
// The same of a frame that is there already, for tests: it may be anything.
std::string cache_blob_around(const CacheKey& key, const CacheEntry& entry, std::string_view frame,
                              u64 content_bytes);

// Of a file's bytes, or of its beginning; every byte of the head is checked. document_corrupt,
// document_version.
Result<CacheRecord> read_blob_head(std::string_view bytes);
// Every byte is checked. The same reasons, document_limit and out_of_memory.
Result<CacheEntry> read_blob(const CacheKey& key, std::string_view bytes);

}  // namespace soma
