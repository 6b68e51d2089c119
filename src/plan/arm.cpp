// Reads arms, and asks them whether they take a value.
//
// A plan spells three kinds of arms as one text. They can be told apart: a predicate that were
// nothing but a string in quotes could never hold, as an operand that stands alone must be a bool,
// so such a text is free to mean a label.
#include "plan/arm.hpp"

#include "base/json_scan.hpp"
#include "base/text.hpp"
#include "value/describe.hpp"

namespace soma {

namespace {

constexpr std::string_view else_text = "else";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_json_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_json_space(text.back())) text.remove_suffix(1);
  return text;
}

// What a text says that is one string in quotes.
std::optional<std::string> only_string(std::string_view text) {
  if (!text.starts_with('"') || find_invalid_utf8(text) != text.npos) return std::nullopt;
  std::string out;
  const JsonToken token = scan_json_string(text, 0, &out);
  if (!token.ok() || token.end != text.size()) return std::nullopt;
  return out;
}

// A text, or a bool by its name.
bool is_called(const Value& value, std::string_view label) {
  if (value.is(ValueKind::Text)) return value.text() == label;
  return value.is(ValueKind::Bool) && label == (value.truth() ? "true" : "false");
}

}  // namespace

Result<Arm> Arm::parse(std::string_view text) {
  Arm arm;
  if (std::optional<std::string> label = only_string(trimmed(text))) {
    arm.kind_ = Kind::Label;
    arm.text_ = json_quoted(*label);
    arm.label_ = *std::move(label);
    return arm;
  }
  SOMA_ASSIGN(Predicate predicate, Predicate::parse(text));
  arm.text_ = predicate.canonical();
  if (predicate.is_else()) return arm;
  arm.kind_ = Kind::Predicate;
  arm.predicate_ = std::move(predicate);
  return arm;
}

Arm Arm::label(std::string_view text) {
  Arm arm;
  if (text == else_text || text == "default") {
    arm.text_ = else_text;
    return arm;
  }
  arm.kind_ = Kind::Label;
  arm.text_ = json_quoted(text);
  arm.label_ = text;
  return arm;
}

Result<bool> Arm::takes(const Value& value) const {
  switch (kind_) {
    case Kind::Predicate: return predicate_->test(value);
    case Kind::Label: {
      if (is_called(value, label_)) return true;
      const Value* branch = value.is(ValueKind::Map) ? value.find("branch") : nullptr;
      return branch && is_called(*branch, label_);
    }
    case Kind::Else: break;
  }
  return true;
}

}  // namespace soma
