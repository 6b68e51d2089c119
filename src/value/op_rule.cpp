// Holds a node's settings to what its op takes.
#include "value/op_rule.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "value/describe.hpp"
#include "value/template.hpp"

namespace soma {

namespace {

bool all_texts(const Value& value) {
  if (value.is(ValueKind::List)) {
    return std::ranges::all_of(value.list(), [](const Value& e) { return e.is(ValueKind::Text); });
  }
  return std::ranges::all_of(value.map(),
                             [](const Member& m) { return m.value.is(ValueKind::Text); });
}

bool is_choice(std::string_view choices, std::string_view chosen) {
  while (true) {
    const size_t bar = choices.find('|');
    if (choices.substr(0, bar) == chosen) return true;
    if (bar == std::string_view::npos) return false;
    choices.remove_prefix(bar + 1);
  }
}

std::string expected_by(const SettingRule& rule) {
  switch (rule.type) {
    case SettingType::Any: return "a value";
    case SettingType::Text: return "a text";
    case SettingType::Number: return "a number";
    case SettingType::Natural:
      if (rule.least > 0) return text("a whole number that is at least {}", rule.least);
      return "a whole number that is not negative";
    case SettingType::Bool: return "a bool";
    case SettingType::TextList:
      return rule.least > 0 ? text("a list of texts, at least {}", rule.least) : "a list of texts";
    case SettingType::TextMap: return "a map of texts";
    case SettingType::Predicate: return "a condition as a text";
    case SettingType::Path: return "a path as a text";
    case SettingType::Template: return "a text with {path} in it";
  }
  return "";
}

bool is_of_kind(const SettingRule& rule, const Value& value) {
  switch (rule.type) {
    case SettingType::Any: return true;
    case SettingType::Number: return value.is(ValueKind::Integer) || value.is(ValueKind::Number);
    case SettingType::Natural:
      return value.is(ValueKind::Integer) && value.integer() >= i64{rule.least};
    case SettingType::Bool: return value.is(ValueKind::Bool);
    case SettingType::TextList:
      return value.is(ValueKind::List) && value.list().size() >= rule.least && all_texts(value);
    case SettingType::TextMap: return value.is(ValueKind::Map) && all_texts(value);
    case SettingType::Text:
    case SettingType::Predicate:
    case SettingType::Path:
    case SettingType::Template: return value.is(ValueKind::Text);
  }
  return false;
}

template <typename T>
std::string why_not(Result<T> parsed) {
  return parsed.ok() ? "" : parsed.error().message();
}

// What is wrong with the content of a text; empty: nothing.
std::string broken_text(const SettingRule& rule, const std::string& content) {
  switch (rule.type) {
    case SettingType::Predicate: return why_not(Predicate::parse(content));
    case SettingType::Path: return why_not(Path::parse(content));
    case SettingType::Template: return why_not(Template::parse(content));
    case SettingType::Text:
      if (rule.choices.empty() || is_choice(rule.choices, content)) return "";
      return text("expected one of {}, got {}", rule.choices, quoted(content));
    case SettingType::Any:
    case SettingType::Number:
    case SettingType::Natural:
    case SettingType::Bool:
    case SettingType::TextList:
    case SettingType::TextMap: break;
  }
  return "";
}

std::string broken_setting(const SettingRule& rule, const Value& value) {
  if (!is_of_kind(rule, value)) {
    return text("expected {}, got {}", expected_by(rule), describe(value));
  }
  return value.is(ValueKind::Text) ? broken_text(rule, value.text()) : "";
}

std::string settings_of(const OpRule& rule) {
  std::string out;
  for (const SettingRule& setting : rule.settings) {
    if (!out.empty()) out += ", ";
    out += setting.name;
  }
  return out.empty() ? "no settings" : out;
}

}  // namespace

std::vector<std::string> broken_settings(const OpRule& rule, const Value& config) {
  std::vector<std::string> out;
  if (!config.is(ValueKind::Map) && !config.is_null()) {
    out.push_back("config: expected a map of settings, got " + describe(config));
    return out;
  }
  const std::span<const Member> given = config.is_null() ? std::span<const Member>() : config.map();
  for (const SettingRule& setting : rule.settings) {
    const auto at = std::ranges::find(given, setting.name, &Member::key);
    if (at != given.end()) {
      const std::string broken = broken_setting(setting, at->value);
      if (!broken.empty()) out.push_back(text("config.{}: {}", setting.name, broken));
    } else if (setting.required) {
      out.push_back(text("config.{} is missing: {} takes {}", setting.name, rule.op,
                         expected_by(setting)));
    }
  }
  for (const Member& member : given) {
    if (std::ranges::find(rule.settings, member.key, &SettingRule::name) != rule.settings.end()) {
      continue;
    }
    out.push_back(text("config: {} is no setting of {}, which takes {}", quoted(member.key),
                       rule.op, settings_of(rule)));
  }
  return out;
}

}  // namespace soma
