// Writes and reads the files of a cache.
//
// A file may be cut off, changed, another's, or made by somebody who means ill, and none of that
// may come out as a value. So every byte is covered by one of two digests: the head's by the one at
// its end, the frame's by one in the head. A head alone can be believed, then, which is enough to
// list a cache. The key stands in the head: a file under another's name is found out. What digests
// can't tell is that their maker meant well, so decompressing and decoding take memory only for
// what is really there.
//
// The value's own digest comes with it, so that who reads a value on need not compute it again.
#include "cache/blob.hpp"

#include <algorithm>

#include "base/compress.hpp"
#include "base/text.hpp"
#include "value/value_binary.hpp"

namespace soma {

namespace {

// The first byte is no UTF-8; line ends and a control character show transfers that change bytes.
constexpr std::string_view magic = "\x89kept\r\n\x1a";
constexpr u32 version = 1;
enum class Kind : u32 { Value = 1, Alias = 2 };

constexpr size_t digest_bytes = sizeof(DigestBytes);
constexpr size_t version_at = magic.size(), kind_at = version_at + 4, key_at = kind_at + 4;
constexpr size_t digest_at = key_at + digest_bytes, took_at = digest_at + digest_bytes;
constexpr size_t content_at = took_at + 8, frame_size_at = content_at + 8;
constexpr size_t frame_digest_at = frame_size_at + 8;
constexpr size_t op_size_at = frame_digest_at + digest_bytes, op_at = op_size_at + 8;
static_assert(op_at + blob_op_bytes_max + digest_bytes <= blob_head_bytes_max);

void put(std::string& out, u64 number, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(number >> 8 * i & 0xFF);
}

void put(std::string& out, const DigestBytes& digest) {
  out.append(reinterpret_cast<const char*>(digest.data()), digest.size());
}

u64 number_at(std::string_view bytes, size_t at, size_t size) {
  u64 number = 0;
  for (size_t i = size; i-- > 0;) number = number << 8 | static_cast<u8>(bytes[at + i]);
  return number;
}

DigestBytes digest_in(std::string_view bytes, size_t at) {
  DigestBytes digest;
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), digest.size(), digest.begin());
  return digest;
}

DigestBytes digest_of(std::string_view bytes) {
  ContentDigest digest;
  digest.feed(bytes);
  return digest.bytes();
}

struct Head {
  CacheRecord record;
  DigestBytes digest;             // of the value
  DigestBytes frame_digest;
  u64 content_bytes = 0, frame_bytes = 0;
  size_t bytes = 0;               // of the head
};

Result<Head> read_head(std::string_view bytes) {
  if (!bytes.starts_with(magic)) {
    return fail(Reason::document_corrupt, "this is no entry of a cache: it begins with {}",
                quoted(bytes.substr(0, magic.size())));
  }
  if (bytes.size() < op_at + digest_bytes) {
    return fail(Reason::document_corrupt, "the entry is cut off: it has {} bytes", bytes.size());
  }
  if (const u64 found = number_at(bytes, version_at, 4); found != version) {
    return fail(Reason::document_version,
                "the entry is of version {}, and this library reads version {}", found, version);
  }
  const u64 op_bytes = number_at(bytes, op_size_at, 8);
  if (op_bytes > blob_op_bytes_max || bytes.size() - op_at - digest_bytes < op_bytes) {
    return fail(Reason::document_corrupt, "byte {} claims a name of {} bytes", op_size_at,
                op_bytes);
  }
  const size_t end = op_at + static_cast<size_t>(op_bytes);
  if (digest_of(bytes.substr(0, end)) != digest_in(bytes, end)) {
    return fail(Reason::document_corrupt, "the entry's head has changed");
  }
  Head head;
  const u64 kind = number_at(bytes, kind_at, 4);
  const std::string_view op = bytes.substr(op_at, end - op_at);
  if ((kind != static_cast<u32>(Kind::Value) && kind != static_cast<u32>(Kind::Alias)) ||
      find_invalid_utf8(op) != std::string_view::npos) {
    return fail(Reason::document_corrupt, "the entry is of kind {}, of op {}", kind, quoted(op));
  }
  head.record.key.bytes = digest_in(bytes, key_at);
  head.digest = digest_in(bytes, digest_at);
  if (kind == static_cast<u32>(Kind::Alias)) head.record.alias = CacheKey{head.digest};
  head.record.op = op;
  head.record.took_ns = static_cast<i64>(number_at(bytes, took_at, 8));
  head.content_bytes = number_at(bytes, content_at, 8);
  head.frame_bytes = number_at(bytes, frame_size_at, 8);
  head.frame_digest = digest_in(bytes, frame_digest_at);
  head.bytes = end + digest_bytes;
  return head;
}

}  // namespace

std::string cache_blob_around(const CacheKey& key, const CacheEntry& entry, std::string_view frame,
                              u64 content_bytes) {
  const bool keeps_op = entry.op.size() <= blob_op_bytes_max;
  const std::string_view op = keeps_op ? std::string_view(entry.op) : std::string_view();
  std::string out(magic);
  out.reserve(op_at + op.size() + digest_bytes + frame.size());
  put(out, version, 4);
  put(out, static_cast<u32>(entry.alias ? Kind::Alias : Kind::Value), 4);
  put(out, key.bytes);
  put(out, entry.alias ? entry.alias->bytes : entry.digest.value_or(DigestBytes{}));
  put(out, static_cast<u64>(entry.took_ns), 8);
  put(out, content_bytes, 8);
  put(out, frame.size(), 8);
  put(out, digest_of(frame));
  put(out, op.size(), 8);
  out += op;
  put(out, digest_of(out));
  out += frame;
  return out;
}

Result<std::string> cache_blob(const CacheKey& key, const CacheEntry& entry) {
  if (entry.alias) return cache_blob_around(key, entry, {}, 0);
  const std::optional<std::string> content = value_binary(entry.value);
  if (!content) return fail(Reason::cache_store, "the value holds something opaque");
  if (content->size() > blob_content_bytes_max) {
    return fail(Reason::cache_store, "the value has {} bytes, and an entry may have {}",
                content->size(), blob_content_bytes_max);
  }
  SOMA_ASSIGN(const std::string frame, compress(*content));
  CacheEntry known = entry;
  if (!known.digest) known.digest = digest_of(*content);
  return cache_blob_around(key, known, frame, content->size());
}

Result<CacheRecord> read_blob_head(std::string_view bytes) {
  SOMA_ASSIGN(Head head, read_head(bytes));
  return std::move(head.record);
}

Result<CacheEntry> read_blob(const CacheKey& key, std::string_view bytes) {
  SOMA_ASSIGN(Head head, read_head(bytes));
  if (head.record.key != key) {
    return fail(Reason::document_corrupt, "the entry is that of key {}, not of {}",
                head.record.key.hex(), key.hex());
  }
  const std::string_view frame = bytes.substr(head.bytes);
  if (frame.size() != head.frame_bytes || digest_of(frame) != head.frame_digest) {
    return fail(Reason::document_corrupt, "the entry's content has changed");
  }
  CacheEntry entry;
  entry.op = std::move(head.record.op);
  entry.took_ns = head.record.took_ns;
  entry.alias = head.record.alias;
  if (entry.alias) {
    if (frame.empty() && head.content_bytes == 0) return entry;
    return fail(Reason::document_corrupt, "the entry is an alias, and has a content");
  }
  if (head.content_bytes > blob_content_bytes_max) {
    return fail(Reason::document_limit, "the entry's content claims {} bytes, {} are allowed",
                head.content_bytes, blob_content_bytes_max);
  }
  SOMA_ASSIGN(const std::string content,
              decompress(frame, static_cast<size_t>(head.content_bytes)));
  SOMA_ASSIGN(entry.value, value_from_binary(content));
  entry.digest = head.digest;
  return entry;
}

}  // namespace soma
