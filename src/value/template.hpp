// Texts with places to fill in from a value: `{user.name} scored {score}`.
#pragma once

#include "value/predicate.hpp"

namespace soma {

class Template {
 public:
  // `{path}` is a place, `{{` and `}}` are braces. predicate_syntax, with the column.
  static Result<Template> parse(std::string_view text);
  // Texts go in as they are, all other values as JSON. run_predicate where a path leads nowhere,
  // value_no_json where what is there has no JSON form.
  Result<std::string> fill(const Value& it) const;

 private:
  struct Part {
    std::string text;            // as it is, before the place
    std::optional<Path> path;    // the last part may have none
  };
  std::vector<Part> parts_;
};

}  // namespace soma
