// Conditions on values: `score > 0.8 && has(user.name)`. Parsed once, printed canonically, tested
// often.
//
//   predicate = or | "else" ;
//   or = and { "||" and } ;            and = not { "&&" not } ;
//   not = "!" not | "(" or ")" | cmp ;
//   cmp = operand [ ("==" | "!=" | "<" | "<=" | ">" | ">=") operand ] ;
//   operand = path | number | string | "true" | "false" | "null" | "has" "(" path ")" ;
//   path = name { "." name | "[" ( integer | string ) "]" } ;
//   name = (letter | "_") { letter | digit | "_" } ;
//
// `it` is the whole value; any other first name is a member of it (so `it.it` is its member "it").
// Numbers and strings are as in JSON, but whole numbers have all of 64 bits. An index may be
// negative: from the end. Blanks may stand between any two words. `default` alone is `else`.
#pragma once

#include "base/core.hpp"
#include "value/value.hpp"

namespace soma {

// Where in a value something is.
class Path {
 public:
  // predicate_syntax, with the column and what was expected.
  static Result<Path> parse(std::string_view text);
  std::string canonical() const;
  // nullptr if there is no such place.
  const Value* find(const Value& it) const;
  // … or run_predicate, which names the step that led nowhere and what is there instead.
  Result<const Value*> follow(const Value& it) const;
  // What has `part` at this place and nothing else: of each map on the way one member, of each list
  // all elements, the others null. Null, if `it` has no such place.
  Value place(const Value& it, Value part) const;

 private:
  friend class PredicateParser;
  struct Step {
    std::string name;                 // of a member, if it is one
    std::optional<i64> index;
    const Value* from(const Value& value) const;
  };
  std::string canonical(size_t steps) const;
  std::vector<Step> steps_;           // empty: `it`
};

class Predicate {
 public:
  static constexpr size_t bytes_max = 4096;  // of the text, and of its canonical form
  // `!` and parentheses within each other; `!(` counts as one.
  static constexpr u32 nesting_max = 64;

  // predicate_syntax: the column (counted in characters from 1), what was expected, what is there.
  static Result<Predicate> parse(std::string_view text);
  // Single spaces; nested && and || of one kind flattened; parentheses only where needed and always
  // around a comparison under !; shortest round-trip numbers; JSON string escapes. It parses, and
  // prints itself.
  const std::string& canonical() const { return canonical_; }
  bool is_else() const { return nodes_.back().kind == Kind::Else; }
  // run_predicate: a lone operand that is no bool, an order between types, a missing member outside
  // of has; names the path and what is there. Integers compare exactly with floats; text by code
  // point; == between types is false. `else` holds.
  Result<bool> test(const Value& it) const;

 private:
  friend class PredicateParser;
  enum class Kind : u8 { Or, And, Not, Compare, Truth, Else };
  enum class Compare : u8 { Equal, Unequal, Less, LessEqual, Greater, GreaterEqual };
  struct Operand {
    bool has = false;                 // has(path)
    std::optional<Path> path;
    Value constant;
    std::string canonical() const;
    // Of a path the place, of anything else `made` or the constant.
    Result<const Value*> value(const Value& it, Value& made) const;
  };
  struct Node {
    Kind kind = Kind::Truth;
    Compare compare = Compare::Equal;
    std::vector<u32> children;        // of Or, And, Not
    std::vector<Operand> operands;    // two of Compare, one of Truth
  };
  static std::string_view spelling(Compare compare);
  std::string print(u32 node) const;
  Result<bool> test(u32 node, const Value& it) const;
  static Result<bool> test_truth(const Operand& operand, const Value& it);
  static Result<bool> test_compare(const Node& node, const Value& it);

  std::vector<Node> nodes_;           // the root last
  std::string canonical_;
};

}  // namespace soma
