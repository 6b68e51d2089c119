// Proves that templates are filled with what their paths find, and that broken ones are refused.
#include <doctest/doctest.h>

#include "base/json.hpp"
#include "value/template.hpp"
#include "value/value_json.hpp"

namespace soma {

namespace {

std::string filled(std::string_view pattern, std::string_view input) {
  const Json json = Json::parse(input).value();
  const Result<Template> made = Template::parse(pattern);
  if (!made.ok()) return made.error().message();
  const Result<std::string> out = made->fill(value_of(json.root()));
  return out.ok() ? *out : out.error().message();
}

}  // namespace

TEST_CASE("places, braces and what stands between") {
  CHECK(filled("", "1") == "");
  CHECK(filled("plain", "1") == "plain");
  CHECK(filled("{it}", R"("text goes in as it is")") == "text goes in as it is");
  CHECK(filled("{a}{b}", R"({"a":1.5,"b":[null,"x"]})") == R"(1.5[null,"x"])");
  CHECK(filled("{{it}} {{{it}}} }}", "7") == "{it} {7} }");
  CHECK(filled(R"({it["\"}"]})", R"({"\"}":"quoted"})") == "quoted");
}

TEST_CASE("broken templates") {
  CHECK(filled("a {b", "1") ==
        "'a {b', column 3: expected '}' behind a path, or '{{' for a brace, got the end");
  CHECK(filled("ü } b", "1") ==
        "'ü } b', column 3: expected '}}' for a brace, got '}' without '{' before it");
  CHECK(filled("a {} b", "1").starts_with("in 'a {} b': '', column 1: expected"));
  CHECK(filled("\xff", "1") == "'\\xff', column 1: expected valid UTF-8, got other bytes");
}

TEST_CASE("paths that lead nowhere") {
  CHECK(filled("{a.b}", R"({"a":1})").starts_with("a.b: expected a to be a map"));
}

}  // namespace soma
