// Random values of every kind that has a binary form, for tests.
#pragma once

#include <bit>
#include <limits>
#include <random>

#include "value/value.hpp"

namespace soma::fixture {

class RandomValue {
 public:
  explicit RandomValue(u32 seed) : random_(seed) {}

  Value make(u32 depth = 0) {
    const u32 kind = below(depth < 4 ? 9 : 7);
    switch (kind) {
      case 0: return {};
      case 1: return Value::boolean(below(2) == 1);
      case 2: return Value::integer(static_cast<i64>(random_()));
      case 3: return Value::integer(below(20));
      case 4: return Value::number(std::bit_cast<double>(random_()));
      case 5: return Value::text(text_of());
      case 6: return Value::bytes(bytes_of());
      case 7: return list_of(depth);
      default: return map_of(depth);
    }
  }
  u32 below(u32 bound) { return static_cast<u32>(random_() % bound); }

 private:
  std::string text_of() {
    std::string out;
    for (u32 i = below(9); i > 0; --i) out += below(5) == 0 ? "ü" : std::string(1, ' ');
    return out;
  }
  std::vector<u8> bytes_of() {
    std::vector<u8> out(below(4) == 0 ? 3000 : below(9));
    for (u8& byte : out) byte = static_cast<u8>(random_());
    return out;
  }
  Value list_of(u32 depth) {
    std::vector<Value> out;
    for (u32 i = below(7); i > 0; --i) out.push_back(make(depth + 1));
    return Value::list(std::move(out));
  }
  Value map_of(u32 depth) {
    std::vector<Member> out;
    for (u32 i = below(13); i > 0; --i) {
      out.push_back({"k" + std::to_string(i * 7 + below(7)), make(depth + 1)});
    }
    return Value::map(std::move(out));
  }

  std::mt19937_64 random_;
};

}  // namespace soma::fixture
