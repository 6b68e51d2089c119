// The keys of a cache: digests of everything that a value depends on.
//
// Problem. A value from a cache must be the one that running would yield. So whatever the value
// depends on has to be in its key, and none of it may be mistaken for something else: neither
// "ab" and "c" for "a" and "bc", nor one kind of key for another.
//
// Idea. There are two kinds of keys. A content key is made of a node and of what it reads, byte by
// byte: a change before the node that changes nothing of its input still finds the value. A recipe
// key is made of how the input came about, so that it is known before anything runs, and a hit
// spares everything before the node. The recipe is the shape of the plan up to the node, which a
// run knows when it is made; only the input's digest is added for each execution.
//
// What goes into a digest is preceded by its size, or has a size of its own (a digest, the binary
// form of a value); and each kind of digest begins with a name of its own, with a version: who
// changes what goes in changes the name, and old entries are found no more.
//
// What code a name stands for, no key can know. An op's version is how its author says that it
// computes something else. Who makes another model's file of the same name has no such way: so
// whoever runs programs says by what they compute, and that goes into their keys (program_digest).
#include "cache/key.hpp"

#include <cstring>

#include "base/text.hpp"
#include "value/value_binary.hpp"

namespace soma {

namespace {

void feed_bytes(ContentDigest& digest, const DigestBytes& bytes) {
  digest.feed({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void feed_text(ContentDigest& digest, std::string_view text) {
  const u64 size = text.size();
  char framed[sizeof size];
  std::memcpy(framed, &size, sizeof size);
  digest.feed({framed, sizeof framed});
  digest.feed(text);
}

CacheKey key_of(std::string_view kind, const DigestBytes& what, const DigestBytes& input) {
  ContentDigest digest;
  feed_text(digest, kind);
  feed_bytes(digest, what);
  feed_bytes(digest, input);
  return {digest.bytes()};
}

i32 digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::string CacheKey::hex() const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const u8 byte : bytes) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

Result<CacheKey> CacheKey::parse(std::string_view digits) {
  CacheKey key;
  bool is_key = digits.size() == 2 * key.bytes.size();
  for (size_t i = 0; is_key && i < key.bytes.size(); ++i) {
    const i32 high = digit_of(digits[2 * i]), low = digit_of(digits[2 * i + 1]);
    is_key = high >= 0 && low >= 0;
    key.bytes[i] = static_cast<u8>(high * 16 + low);
  }
  if (is_key) return key;
  return fail(Reason::cache_key, "expected a key, 64 hexadecimal digits in lower case, got {}",
              quoted(digits, 80));
}

std::optional<DigestBytes> node_digest(const NodeSpec& node) {
  const std::optional<DigestBytes> config = value_digest(node.config());
  const std::optional<DigestBytes> deployment = value_digest(node.deployment());
  if (!config || !deployment) return std::nullopt;
  ContentDigest digest;
  feed_text(digest, "node 1");
  feed_text(digest, node_kind_name(node.kind));
  // A subgraph's op is kept and never called.
  feed_text(digest, node.kind == NodeKind::Subgraph ? std::string_view() : node.op_name());
  feed_text(digest, text("{}", node.op_version));
  feed_bytes(digest, *config);
  const std::vector<u8>& state = node.state();
  feed_text(digest, {reinterpret_cast<const char*>(state.data()), state.size()});
  feed_text(digest, node.device());
  feed_text(digest, node.model());
  feed_text(digest, node.task());
  feed_bytes(digest, *deployment);
  return digest.bytes();
}

DigestBytes program_digest(const DigestBytes& node, const DigestBytes& identity) {
  return key_of("program 1", node, identity).bytes;
}

CacheKey content_key(const DigestBytes& node, const DigestBytes& input) {
  return key_of("content 1", node, input);
}

CacheKey state_key(const DigestBytes& node, const DigestBytes& input) {
  return key_of("state 1", node, input);
}

CacheKey recipe_key(const DigestBytes& recipe, const DigestBytes& input) {
  return key_of("recipe 1", recipe, input);
}

Recipe::Recipe(const DigestBytes& node) {
  feed_text(digest_, "plan 1");
  feed_bytes(digest_, node);
}

Recipe& Recipe::reads(const DigestBytes& recipe, std::string_view output, std::string_view input) {
  feed_bytes(digest_, recipe);
  feed_text(digest_, output);
  feed_text(digest_, input);
  return *this;
}

DigestBytes Recipe::digest() { return digest_.bytes(); }

}  // namespace soma
