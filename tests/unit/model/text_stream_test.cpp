// Proves that a stream of bytes comes out as whole characters however it is cut, and that bytes
// that are no text become U+FFFD as the Unicode standard recommends.
#include <doctest/doctest.h>

#include <random>

#include "base/text.hpp"
#include "model/tokenizer/tokenizer.hpp"

using namespace soma;

namespace {

std::string whole(std::string_view bytes) {
  TextStream stream;
  std::string out = stream.push(bytes);
  return out + stream.finish();
}

}  // namespace

TEST_CASE("text comes out as it went in, in whole characters, at every cut") {
  std::string text = "a?é\u0301 中文 \U0001F468\u200D\U0001F469 \U0010FFFF \uFFFD!";
  text[1] = '\0';
  REQUIRE(find_invalid_utf8(text) == std::string::npos);
  for (size_t first = 0; first <= text.size(); ++first) {
    for (size_t second = first; second <= text.size(); ++second) {
      TextStream stream;
      std::string out;
      for (const std::string& part : {text.substr(0, first), text.substr(first, second - first),
                                      text.substr(second)}) {
        const std::string pushed = stream.push(part);
        CHECK(find_invalid_utf8(pushed) == std::string::npos);
        out += pushed;
      }
      CHECK(out == text);
      CHECK(stream.finish() == "");
    }
  }
}

TEST_CASE("each maximal ill-formed part is one replacement character") {
  const std::pair<const char*, const char*> cases[] = {
      {"\x80", "#"}, {"\xBF\x80", "##"}, {"\xFF", "#"}, {"a\xC0\xAF!", "a##!"},
      {"\xC1\xBF", "##"}, {"\xC3", "#"}, {"\xC3(", "#("}, {"\xE4\xB8", "#"}, {"\xE4\xB8z", "#z"},
      {"\xE0\x80\x80", "###"}, {"\xE0\xA0", "#"}, {"\xED\xA0\x80", "###"},
      {"\xED\x9F", "#"}, {"\xF0\x80\x80\x80", "####"}, {"\xF0\x90\x80", "#"},
      {"\xF0\x90\x80\xC3\xA9", "#\xC3\xA9"}, {"\xF4\x90\x80\x80", "####"},
      {"\xF4\x8F\xBF", "#"}, {"\xF5\x80", "##"}, {"\xF0\x9F\xE4\xB8\xAD", "#\xE4\xB8\xAD"},
      {"\xE4\xC3\xA9\xF0", "#\xC3\xA9#"},
  };
  for (const auto& [bytes, expected] : cases) {
    std::string with_replacement;
    for (const char* at = expected; *at != 0; ++at) {
      with_replacement += *at == '#' ? std::string("\uFFFD") : std::string(1, *at);
    }
    CHECK(whole(bytes) == with_replacement);
  }
}

TEST_CASE("where a stream is cut makes no difference, whatever the bytes") {
  std::mt19937 random(3);
  const std::string_view alphabet = "a\x80\xBF\xC3\xE0\xE4\xED\xF0\xF4\x9F\x90\xA0\xFF";
  for (int round = 0; round < 20000; ++round) {
    std::string bytes(random() % 12, ' ');
    for (char& byte : bytes) byte = alphabet[random() % alphabet.size()];
    TextStream stream;
    std::string out;
    for (size_t at = 0; at < bytes.size();) {
      const size_t length = random() % 4;
      out += stream.push(std::string_view(bytes).substr(at, length));
      CHECK(find_invalid_utf8(out) == std::string::npos);
      at += length;
    }
    out += stream.finish();
    CHECK(out == whole(bytes));
  }
}
