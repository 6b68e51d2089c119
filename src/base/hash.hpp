// Digests: what names a plan or a program by its content, the same in every process.
#pragma once

#include <array>

#include "base/core.hpp"

namespace soma {

// BLAKE2b-128 over a sequence of typed values. Numbers go in as eight little-endian bytes and texts
// with their length before them, so that no two different sequences feed the same bytes.
// Touches no state but its own and allocates nothing before hex().
class Digest {
 public:
  Digest();
  Digest& number(u64 value);
  Digest& real(double value);  // by its bits: 0.0 and -0.0 differ
  Digest& text(std::string_view value);
  std::string hex();  // 32 lowercase digits; nothing may follow

 private:
  void feed(const void* data, size_t size);
  alignas(64) u8 state_[384];
};

using DigestBytes = std::array<u8, 32>;

// BLAKE2b-256 of bytes that come piece by piece: content_digest of all of them.
class ContentDigest {
 public:
  ContentDigest();
  void feed(std::string_view bytes);
  DigestBytes bytes();  // nothing may follow
  std::string hex();    // the same, as 64 lowercase digits

 private:
  alignas(64) u8 state_[384];
};

// BLAKE2b-256 of the bytes as they are, 64 lowercase digits: the digest of public documents and
// keys, which others can compute with any tool that knows BLAKE2.
std::string content_digest(std::string_view bytes);

// A number for each text, which others can't foresee: SipHash with a key of its own, so that nobody
// can choose texts that collide. Differs from object to object: for tables in memory only.
class TextHash {
 public:
  TextHash();
  u64 operator()(std::string_view text) const;

 private:
  u8 key_[16];
};

}  // namespace soma
