// What is known about an op before any of its code is at hand: which settings it takes.
//
// Built-in ops have such rules, so that a wrong setting is found when a graph is compiled and not
// in the middle of a run. Ops that have none take any settings.
#pragma once

#include "value/value.hpp"

namespace soma {

enum class SettingType : u8 {
  Any, Text, Number, Natural, Bool, TextList, TextMap,
  Predicate,  // a text that Predicate::parse takes
  Path,       // a text that Path::parse takes
  Template,   // a text that Template::parse takes
};

struct SettingRule {
  std::string_view name;
  SettingType type = SettingType::Any;
  bool required = false;
  std::string_view choices = {};  // of a Text: "fail|retry|ask"; empty: any
  u32 least = 0;                  // a Natural, or how many texts of a TextList
};

struct OpRule {
  std::string_view op;            // "std.get"
  bool is_step = false;           // runs as a step; otherwise as a function
  std::span<const SettingRule> settings = {};
};

// What `config` (a map, or null) has that the rule does not take, one message each: "config.path
// is missing", …. Empty: all is well.
std::vector<std::string> broken_settings(const OpRule& rule, const Value& config);

}  // namespace soma
