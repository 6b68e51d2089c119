// A name: a short text that graphs and plans have millions of.
#pragma once

#include <bit>
#include <concepts>
#include <cstring>

#include "base/core.hpp"

namespace soma {

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
    if (text.size() <= last) {
      if (!text.empty()) std::memcpy(bytes_, text.data(), text.size());
      bytes_[last] = static_cast<char>(text.size());
      return;
    }
    char* const copy = std::make_unique_for_overwrite<char[]>(text.size()).release();
    std::memcpy(copy, text.data(), text.size());
    const u64 size = text.size();
    std::memcpy(bytes_, &copy, sizeof copy);
    std::memcpy(bytes_ + sizeof copy, &size, last - sizeof copy);
    bytes_[last] = lies_outside;
  }
  void take(Name& other) {
    std::memcpy(bytes_, other.bytes_, sizeof bytes_);
    other.bytes_[last] = 0;
  }

  alignas(char*) char bytes_[last + 1] = {};
};

}  // namespace soma
