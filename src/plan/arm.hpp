// Arms of a branch: which values of the deciding node each of them takes.
#pragma once

#include "value/predicate.hpp"

namespace soma {

class Arm {
 public:
  enum class Kind : u8 { Predicate, Label, Else };

  // What stands in a plan: a predicate, a label as a JSON string, or "else" (also "default").
  // predicate_syntax.
  static Result<Arm> parse(std::string_view text);
  // A label as an edge of a graph has it; "else" and "default" take all values.
  static Arm label(std::string_view text);

  Kind kind() const { return kind_; }
  // Canonical; parse(text()) is this arm. Two arms of a branch may not share it.
  const std::string& text() const { return text_; }
  // A label takes the text of that worth, the bool of that name ("true", "false"), and the map
  // whose member `branch` is one of these. run_predicate where a predicate can't be evaluated.
  Result<bool> takes(const Value& value) const;

 private:
  Kind kind_ = Kind::Else;
  std::string text_;
  std::string label_;
  std::optional<Predicate> predicate_;
};

}  // namespace soma
