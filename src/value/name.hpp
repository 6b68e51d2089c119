// A name: a short text that graphs and plans have millions of.
#pragma once

#include <bit>
#include <concepts>
#include <cstring>

#include "base/core.hpp"

namespace soma {

// By length, then by bytes: the order of texts that were numbered.
inline bool comes_after(std::string_view a, std::string_view b) {
  return a.size() != b.size() ? a.size() > b.size() : a > b;
}

// Sixteen bytes, half of a std::string: up to 15 bytes of text lie in the object itself, and who
// has no longer ones allocates nothing. Its last byte is the length of a text within; of another,
// the first eight are where it lies, and the next seven its length.
class Name {
 public:
  Name() = default;               // empty
  // By word only: a name that nobody asked for would take its text with it when it goes.
  explicit Name(std::string_view text) { set(text); }
  Name(const Name& other) {
    if (other.is_outside()) set(other);
    else std::memcpy(bytes_, other.bytes_, sizeof bytes_);
  }
  Name(Name&& other) noexcept { take(other); }
  Name& operator=(const Name& other) {
    if (this != &other) *this = Name(other);
    return *this;
  }
  Name& operator=(Name&& other) noexcept {
    if (this == &other) return *this;
    release();
    take(other);
    return *this;
  }
  Name& operator=(std::string_view text) { return *this = Name(text); }
  ~Name() { release(); }

  operator std::string_view() const {
    if (!is_outside()) return {bytes_, static_cast<size_t>(bytes_[last])};
    u64 size = 0;
    std::memcpy(&size, bytes_ + sizeof(char*), last - sizeof(char*));
    return {outside(), size};
  }
  std::string_view view() const { return *this; }
  std::string str() const { return std::string(view()); }
  bool empty() const { return bytes_[last] == 0; }

  friend bool comes_after(const Name& a, const Name& b) {
    if (a.is_outside() || b.is_outside()) return comes_after(a.view(), b.view());
    if (a.bytes_[last] != b.bytes_[last]) return a.bytes_[last] > b.bytes_[last];
    const u64 first = a.big_word(0), other = b.big_word(0);
    return first != other ? first > other : a.big_word(8) > b.big_word(8);
  }

  template <std::convertible_to<std::string_view> Text>
  friend bool operator==(const Name& a, const Text& b) {
    return a.view() == std::string_view(b);
  }

 private:
  static constexpr size_t last = 15;
  static constexpr char lies_outside = last + 1;
  static_assert(std::endian::native == std::endian::little && sizeof(char*) == 8);

  bool is_outside() const { return bytes_[last] == lies_outside; }
  char* outside() const {
    char* text = nullptr;
    std::memcpy(&text, bytes_, sizeof text);
    return text;
  }
  void release() {
    if (is_outside()) std::unique_ptr<char[]>(outside()).reset();
  }
  void set(std::string_view text) {
    if (text.size() <= last) return set_within(text.data(), text.size());
    char* const copy = std::make_unique_for_overwrite<char[]>(text.size()).release();
    std::memcpy(copy, text.data(), text.size());
    const u64 size = text.size();
    std::memcpy(bytes_, &copy, sizeof copy);
    std::memcpy(bytes_ + sizeof copy, &size, last - sizeof copy);
    bytes_[last] = lies_outside;
  }
  u64 big_word(size_t at) const {
    return __builtin_bswap64(load<u64>(bytes_ + at));
  }
  // Two words, as nobody copies so few bytes faster; what is loaded twice is the same.
  void set_within(const char* text, size_t size) {
    u64 words[2] = {0, size << 56};
    if (size >= 8) {
      words[0] = load<u64>(text);
      words[1] |= load<u64>(text + size - 8) >> (8 * (last - size)) >> 8;
    } else if (size >= 4) {
      words[0] = load<u32>(text) | load<u32>(text + size - 4) << (8 * (size - 4));
    } else if (size > 0) {
      words[0] = load<u8>(text) | load<u8>(text + size / 2) << (8 * (size / 2)) |
                 load<u8>(text + size - 1) << (8 * (size - 1));
    }
    std::memcpy(bytes_, words, sizeof bytes_);
  }
  template <typename Part>
  static u64 load(const char* text) {
    Part part = 0;
    std::memcpy(&part, text, sizeof part);
    return part;
  }
  void take(Name& other) {
    std::memcpy(bytes_, other.bytes_, sizeof bytes_);
    other.bytes_[last] = 0;
  }

  alignas(char*) char bytes_[last + 1] = {};
};

}  // namespace soma
