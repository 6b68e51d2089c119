// Proves that names of every length are kept whole and apart, within the object and outside of it,
// and that what is rare is made when edited and copied with its owner.
#include "value/name.hpp"

#include <doctest/doctest.h>

#include "value/node.hpp"

namespace soma {

TEST_CASE("a name has its text, whatever its length and however it came") {
  static_assert(sizeof(Name) == 16);
  CHECK(Name().empty());
  CHECK(Name().view() == "");
  for (size_t length = 0; length < 40; ++length) {
    CAPTURE(length);
    std::string text;
    for (size_t i = 0; i < length; ++i) text += static_cast<char>(i * 7 + 200);
    const Name name(text);
    CHECK(name.view() == text);
    CHECK(name.str() == text);
    CHECK(name.empty() == (length == 0));
    CHECK(name == text);
    CHECK(name != text + "x");
    for (size_t other = 0; other < 40; ++other) {
      Name copy(std::string(other, 'o'));
      copy = name;
      CHECK(copy == name);
      Name moved(std::string(other, 'm'));
      moved = std::move(copy);
      CHECK(moved == name);
      CHECK(copy.empty());  // NOLINT(bugprone-use-after-move): what a move leaves is promised
      moved = "else";
      CHECK(moved == "else");
      CHECK(name == text);
    }
  }
}

TEST_CASE("a name may hold any byte") {
  const std::string_view text("a\0b", 3);
  CHECK(Name(text).view() == text);
  CHECK(Name(text) != "a");
}

TEST_CASE("a name assigned to itself stays") {
  Name name(std::string(30, 'a'));
  Name& same = name;
  name = same;
  CHECK(name == std::string(30, 'a'));
  name = std::move(same);
  CHECK(name == std::string(30, 'a'));
}

TEST_CASE("settings are those of all nodes until they are edited, and a copy has its own") {
  NodeSpec node;
  CHECK(node.settings.is_usual());
  CHECK(node.device() == "cpu");
  CHECK(node.inputs().empty());
  CHECK(node.config().is_null());
  node.edit().device = "meta";
  CHECK_FALSE(node.settings.is_usual());
  CHECK(NodeSpec().device() == "cpu");
  NodeSpec copy = node;
  copy.edit().device = "cuda:1";
  CHECK(node.device() == "meta");
  NodeSpec moved = std::move(copy);
  CHECK(moved.device() == "cuda:1");
  CHECK(copy.device() == "cpu");  // NOLINT(bugprone-use-after-move): what it leaves is promised
  node = NodeSpec();
  CHECK(node.device() == "cpu");
}

}  // namespace soma
