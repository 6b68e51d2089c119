// Proves that base64 is RFC 4648's, that it reads back, and that only its one spelling is read.
#include "base/base64.hpp"

#include <doctest/doctest.h>

#include <random>

namespace soma {

namespace {

std::vector<u8> bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

struct Vector {
  std::string_view plain, encoded;
};

// RFC 4648, section 10.
constexpr Vector vectors[] = {
    {"", ""},           {"f", "Zg=="},         {"fo", "Zm8="},         {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"},
};

}  // namespace

TEST_CASE("the vectors of RFC 4648 hold in both directions") {
  for (const Vector& vector : vectors) {
    CAPTURE(vector.plain);
    CHECK(base64(bytes_of(vector.plain)) == vector.encoded);
    CHECK(bytes_of_base64(vector.encoded) == bytes_of(vector.plain));
  }
}

TEST_CASE("all letters of the alphabet are read and written") {
  std::vector<u8> all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<u8>(byte));
  const std::string text = base64(all);
  CHECK(bytes_of_base64(text) == all);
  CHECK(base64(std::vector<u8>{0xfb, 0xef, 0xff}) == "++//");
}

TEST_CASE("any bytes read back") {
  std::mt19937 random(1);
  for (size_t size = 0; size < 300; ++size) {
    std::vector<u8> bytes(size);
    for (u8& byte : bytes) byte = static_cast<u8>(random());
    CHECK(bytes_of_base64(base64(bytes)) == bytes);
  }
}

TEST_CASE("what base64() would not write is refused") {
  for (const std::string_view text :
       {"Z", "Zg", "Zg=", "Zg===", "====", "=", "A===", "AA=A", "Zg==Zg==", "Zm8=Zm8=", "Zh==",
        "Zm9=", "Zm9v\n", "Zm 9v", "Zm9v====", "-_-_", "Zm9\xc3", " Zm9v", "Zg=g"}) {
    CAPTURE(text);
    CHECK_FALSE(bytes_of_base64(text).has_value());
  }
}

TEST_CASE("of all texts of four letters, exactly the canonical ones are read") {
  // A closed alphabet with letters of all six-bit patterns that padding could meet.
  constexpr std::string_view letters = "AQgwEIMBZ/+9=-";
  u32 read = 0;
  for (const char a : letters) {
    for (const char b : letters) {
      for (const char c : letters) {
        for (const char d : letters) {
          const std::string text = {a, b, c, d};
          const std::optional<std::vector<u8>> bytes = bytes_of_base64(text);
          if (!bytes) continue;
          ++read;
          REQUIRE(base64(*bytes) == text);
        }
      }
    }
  }
  CHECK(read > 12 * 12 * 12);
}

}  // namespace soma
