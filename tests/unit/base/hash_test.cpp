// Proves that digests are BLAKE2b-128 of what is said to be fed, that no two sequences of values
// feed the same bytes, and that a content's digest is BLAKE2b-256 of its bytes and nothing else.
#include "base/hash.hpp"

#include <doctest/doctest.h>

namespace soma {

TEST_CASE("digests equal those of Python's hashlib.blake2b(…, digest_size=16)") {
  CHECK(Digest().hex() == "cae66941d9efbd404e4d88758ea67670");
  CHECK(Digest().number(0x0102030405060708).hex() == "2e4ecb2344a8ec72ec325d88960cb3db");
  CHECK(Digest().text("abc").hex() == "10366aba46518e2b9d040dde242bbc5a");
  std::string long_text;
  for (int i = 0; i < 1000; ++i) long_text += static_cast<char>('a' + i % 26);
  CHECK(Digest().text(long_text).hex() == "1642cd03b71804e57162c8c2895e0e52");
}

TEST_CASE("texts are told apart by their lengths, reals by their bits") {
  CHECK(Digest().text("ab").text("c").hex() != Digest().text("a").text("bc").hex());
  CHECK(Digest().text("").hex() != Digest().hex());
  CHECK(Digest().real(0.0).hex() != Digest().real(-0.0).hex());
  CHECK(Digest().real(1.5).hex() == Digest().number(0x3FF8000000000000).hex());
}

TEST_CASE("a digest depends on nothing but what it was fed") {
  Digest one, two;
  one.text("x").number(1);
  two.text("x");
  two.number(1);
  CHECK(one.hex() == two.hex());
}

TEST_CASE("a content's digest is BLAKE2b-256, by published vectors") {
  CHECK(content_digest("") == "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  CHECK(content_digest("abc") ==
        "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(content_digest(all) == "39a7eb9fedc19aabc83425c6755dd90e6f9d0c804964a1f4aaeea3b9fb599835");
}

}  // namespace soma
