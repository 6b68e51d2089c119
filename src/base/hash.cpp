// Digests and hashes, by libsodium's BLAKE2b and SipHash.
//
// The functions used here neither need nor make sodium_init(): without it they take the portable
// compression function and touch nothing outside the state they are given.
#include "base/hash.hpp"

#include <sodium/crypto_generichash_blake2b.h>
#include <sodium/crypto_shorthash.h>

#include <bit>
#include <cstring>
#include <new>

#include "base/clock.hpp"

namespace soma {

namespace {

using State = crypto_generichash_blake2b_state;
constexpr size_t digest_bytes = 16, content_digest_bytes = 32;

State* state_in(u8* storage) {
  return std::launder(reinterpret_cast<State*>(storage));
}

std::string digits(std::span<const u8> digest) {
  constexpr std::string_view hexadecimal = "0123456789abcdef";
  std::string out;
  out.reserve(2 * digest.size());
  for (const u8 byte : digest) {
    out += hexadecimal[byte >> 4];
    out += hexadecimal[byte & 15];
  }
  return out;
}

}  // namespace

Digest::Digest() {
  static_assert(sizeof state_ == sizeof(State) && alignof(State) == 64);
  crypto_generichash_blake2b_init(new (state_) State, nullptr, 0, digest_bytes);
}

Digest& Digest::number(u64 value) {
  static_assert(std::endian::native == std::endian::little);
  feed(&value, sizeof value);
  return *this;
}

Digest& Digest::real(double value) {
  return number(std::bit_cast<u64>(value));
}

Digest& Digest::text(std::string_view value) {
  number(value.size());
  feed(value.data(), value.size());
  return *this;
}

void Digest::feed(const void* data, size_t size) {
  crypto_generichash_blake2b_update(state_in(state_), static_cast<const u8*>(data), size);
}

std::string Digest::hex() {
  u8 digest[digest_bytes];
  crypto_generichash_blake2b_final(state_in(state_), digest, sizeof digest);
  return digits(digest);
}

ContentDigest::ContentDigest() {
  static_assert(sizeof state_ == sizeof(State) && alignof(State) == 64);
  crypto_generichash_blake2b_init(new (state_) State, nullptr, 0, content_digest_bytes);
}

void ContentDigest::feed(std::string_view bytes) {
  crypto_generichash_blake2b_update(state_in(state_), reinterpret_cast<const u8*>(bytes.data()),
                                    bytes.size());
}

DigestBytes ContentDigest::bytes() {
  DigestBytes digest;
  static_assert(sizeof digest == content_digest_bytes);
  crypto_generichash_blake2b_final(state_in(state_), digest.data(), digest.size());
  return digest;
}

std::string ContentDigest::hex() { return digits(bytes()); }

std::string content_digest(std::string_view bytes) {
  ContentDigest digest;
  digest.feed(bytes);
  return digest.hex();
}

TextHash::TextHash() {
  static_assert(sizeof key_ == crypto_shorthash_KEYBYTES);
  // Where the object lies and when it was made: neither is known outside of the process.
  const u64 secrets[2] = {reinterpret_cast<std::uintptr_t>(this), static_cast<u64>(now_ns())};
  std::memcpy(key_, secrets, sizeof key_);
}

u64 TextHash::operator()(std::string_view text) const {
  u64 out = 0;
  static_assert(sizeof out == crypto_shorthash_BYTES);
  crypto_shorthash(reinterpret_cast<u8*>(&out), reinterpret_cast<const u8*>(text.data()),
                   text.size(), key_);
  return out;
}

}  // namespace soma
