// Proves that settings are held to their rules, and that all that is wrong is said.
#include <doctest/doctest.h>

#include "base/json.hpp"
#include "value/op_rule.hpp"
#include "value/value_json.hpp"

namespace soma {

namespace {

constexpr SettingRule settings[] = {
    {"argv", SettingType::TextList, true},   {"env", SettingType::TextMap},
    {"timeout_ms", SettingType::Natural},    {"parse", SettingType::Text, false, "text|json"},
    {"when", SettingType::Predicate},        {"where", SettingType::Path},
    {"what", SettingType::Template},         {"is_on", SettingType::Bool},
    {"weight", SettingType::Number},         {"any", SettingType::Any},
};
constexpr OpRule rule = {"std.exec", true, settings};

std::vector<std::string> broken(std::string_view config) {
  const Json json = Json::parse(config).value();
  return broken_settings(rule, value_of(json.root()));
}

}  // namespace

TEST_CASE("what a rule takes") {
  CHECK(broken(R"({"argv":["ls"]})").empty());
  CHECK(broken(R"({"argv":[],"env":{"A":"b"},"timeout_ms":0,"parse":"json","when":"a > 1",
                   "where":"a.b","what":"{a} and {{}}","is_on":false,"weight":-0.5,"any":null})")
            .empty());
}

TEST_CASE("all that a rule does not take") {
  const std::vector<std::string> all =
      broken(R"({"argv":["ls",1],"env":{"A":1},"timeout_ms":1.5,"parse":"xml","when":"a >",
                 "where":"1","what":"{a","is_on":"yes","weight":true,"shell":true})");
  REQUIRE(all.size() == 10);
  CHECK(all[0] == "config.argv: expected a list of texts, got a list of 2");
  CHECK(all[1] == "config.env: expected a map of texts, got a map of 'A'");
  CHECK(all[2] == "config.timeout_ms: expected a whole number that is not negative, got the "
                  "number 1.5");
  CHECK(all[3] == "config.parse: expected one of text|json, got 'xml'");
  CHECK(all[4].starts_with("config.when: 'a >', column 4: expected"));
  CHECK(all[5].starts_with("config.where: '1', column 1: expected"));
  CHECK(all[6] == "config.what: '{a', column 1: expected '}' behind a path, or '{{' for a brace, "
                  "got the end");
  CHECK(all[7] == "config.is_on: expected a bool, got the text 'yes'");
  CHECK(all[8] == "config.weight: expected a number, got true");
  CHECK(all[9].starts_with("config: 'shell' is no setting of std.exec, which takes argv, env,"));
}

TEST_CASE("not enough") {
  constexpr SettingRule enough[] = {{"argv", SettingType::TextList, true, {}, 1},
                                    {"timeout_ms", SettingType::Natural, false, {}, 1}};
  const OpRule bounded = {"std.exec", true, enough};
  const Json few = Json::parse(R"({"argv":[],"timeout_ms":0})").value();
  CHECK(broken_settings(bounded, value_of(few.root())) ==
        std::vector<std::string>{
            "config.argv: expected a list of texts, at least 1, got a list of 0",
            "config.timeout_ms: expected a whole number that is at least 1, got the integer 0"});
  const Json right = Json::parse(R"({"argv":["ls"],"timeout_ms":1})").value();
  CHECK(broken_settings(bounded, value_of(right.root())).empty());
}

TEST_CASE("no settings at all") {
  CHECK(broken("null") ==
        std::vector<std::string>{"config.argv is missing: std.exec takes a list of texts"});
  CHECK(broken("[]") ==
        std::vector<std::string>{"config: expected a map of settings, got a list of 0"});
}

}  // namespace soma
