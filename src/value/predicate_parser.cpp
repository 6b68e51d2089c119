// Parses predicates and paths by recursive descent, one function for each rule of the grammar.
//
// The nesting is counted as the canonical text will have it, so that what was accepted is accepted
// again when it comes back from a plan: `!` and `(` are a level each, but the parentheses right
// behind a `!` belong to it, as printing puts them there anyway. The canonical text is held to the
// limit of length too, since blanks and escapes can make it longer.
#include <cmath>

#include "base/json_scan.hpp"
#include "base/text.hpp"
#include "value/describe.hpp"
#include "value/predicate.hpp"

namespace soma {

class PredicateParser {
 public:
  explicit PredicateParser(std::string_view text) : text_(text) {}
  Result<Predicate> predicate();
  Result<Path> whole_path();

 private:
  using Kind = Predicate::Kind;
  using Compare = Predicate::Compare;
  using Node = Predicate::Node;
  using Operand = Predicate::Operand;

  Status check_text(std::string_view what);
  Result<u32> any();
  Result<u32> all();
  Result<u32> negation();
  Result<u32> group();
  Result<u32> comparison();
  Result<Operand> operand();
  Result<Value> number();
  Result<std::string> string();
  Result<Path> path(std::string_view first);
  Result<Path::Step> bracketed();
  std::optional<Compare> comparator();
  Status deeper();
  void adopt(Node& parent, u32 child);
  u32 add(Node node);

  void skip_space() {
    while (at_ < text_.size() && is_json_space(text_[at_])) ++at_;
  }
  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  bool take(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::string_view take_name();
  Error expected(std::string_view what, size_t at) const;
  Error expected(std::string_view what) {
    skip_space();
    return expected(what, at_);
  }

  std::string_view text_;
  size_t at_ = 0;
  u32 nesting_ = 0;
  std::vector<Node> nodes_;
};

Error PredicateParser::expected(std::string_view what, size_t at) const {
  const size_t column = 1 + count_characters(text_.substr(0, at));
  const std::string got = found_at(text_, at);
  return fail(Reason::predicate_syntax, "{}, column {}: expected {}, got {}", quoted(text_), column,
              what, got)
      .with("column", static_cast<i64>(column))
      .with("expected", what)
      .with("got", got);
}

Status PredicateParser::check_text(std::string_view what) {
  if (text_.size() > Predicate::bytes_max) {
    return fail(Reason::predicate_syntax, "{}: expected {} of at most {} bytes, got {} bytes",
                quoted(text_), what, Predicate::bytes_max, text_.size());
  }
  if (const size_t bad = find_invalid_utf8(text_); bad != std::string_view::npos) {
    return expected("valid UTF-8", bad);
  }
  return {};
}

Result<Predicate> PredicateParser::predicate() {
  SOMA_TRY(check_text("a condition"));
  skip_space();
  const std::string_view word = take_name();
  if ((word == "else" || word == "default") && at_end()) {
    Node otherwise;
    otherwise.kind = Kind::Else;
    add(std::move(otherwise));
  } else {
    at_ = 0;
    SOMA_TRY(any());
    if (!at_end()) return expected("'&&', '||' or the end");
  }
  Predicate out;
  out.nodes_ = std::move(nodes_);
  out.canonical_ = out.print(static_cast<u32>(out.nodes_.size() - 1));
  if (out.canonical_.size() > Predicate::bytes_max) {
    return fail(Reason::predicate_syntax,
                "{}: expected a condition of at most {} bytes in its canonical form, got {} bytes",
                quoted(text_), Predicate::bytes_max, out.canonical_.size());
  }
  return out;
}

Result<Path> PredicateParser::whole_path() {
  SOMA_TRY(check_text("a path"));
  skip_space();
  const std::string_view first = take_name();
  if (first.empty()) return expected("a name");
  SOMA_ASSIGN(Path out, path(first));
  if (!at_end()) return expected("'.', '[' or the end");
  return out;
}

// ---- Conditions

Result<u32> PredicateParser::any() {
  SOMA_ASSIGN(const u32 first, all());
  if (!take("||")) return first;
  Node node;
  node.kind = Kind::Or;
  adopt(node, first);
  do {
    SOMA_ASSIGN(const u32 next, all());
    adopt(node, next);
  } while (take("||"));
  return add(std::move(node));
}

Result<u32> PredicateParser::all() {
  SOMA_ASSIGN(const u32 first, negation());
  if (!take("&&")) return first;
  Node node;
  node.kind = Kind::And;
  adopt(node, first);
  do {
    SOMA_ASSIGN(const u32 next, negation());
    adopt(node, next);
  } while (take("&&"));
  return add(std::move(node));
}

// A child of the parent's kind gives up its children; it is the last node, as it was just made.
void PredicateParser::adopt(Node& parent, u32 child) {
  if (nodes_[child].kind != parent.kind) {
    parent.children.push_back(child);
    return;
  }
  const std::vector<u32>& grandchildren = nodes_[child].children;
  parent.children.insert(parent.children.end(), grandchildren.begin(), grandchildren.end());
  nodes_.pop_back();
}

u32 PredicateParser::add(Node node) {
  nodes_.push_back(std::move(node));
  return static_cast<u32>(nodes_.size() - 1);
}

Status PredicateParser::deeper() {
  if (nesting_ == Predicate::nesting_max) {
    return expected(text("at most {} levels of '!' and '('", Predicate::nesting_max));
  }
  ++nesting_;
  return {};
}

Result<u32> PredicateParser::negation() {
  skip_space();
  const bool is_not = text_.substr(at_).starts_with('!');
  const bool is_group = text_.substr(at_).starts_with('(');
  if (!is_not && !is_group) return comparison();
  SOMA_TRY(deeper());
  ++at_;
  if (is_group) {
    SOMA_ASSIGN(const u32 inner, group());
    --nesting_;
    return inner;
  }
  SOMA_ASSIGN(const u32 child, take("(") ? group() : negation());
  --nesting_;
  Node node;
  node.kind = Kind::Not;
  node.children.push_back(child);
  return add(std::move(node));
}

// Behind its opening parenthesis.
Result<u32> PredicateParser::group() {
  SOMA_ASSIGN(const u32 inner, any());
  if (!take(")")) return expected("'&&', '||' or ')'");
  return inner;
}

Result<u32> PredicateParser::comparison() {
  SOMA_ASSIGN(Operand left, operand());
  Node node;
  const std::optional<Compare> compare = comparator();
  if (!compare) {
    if (text_.substr(at_).starts_with('=')) return expected("'==' to compare");
    const bool may_be_bool = left.path || left.constant.is(ValueKind::Bool);
    if (!may_be_bool) return expected("a comparison: the constant before is no bool");
    node.kind = Kind::Truth;
    node.operands.push_back(std::move(left));
    return add(std::move(node));
  }
  node.kind = Kind::Compare;
  node.compare = *compare;
  node.operands.push_back(std::move(left));
  SOMA_ASSIGN(Operand right, operand());
  node.operands.push_back(std::move(right));
  return add(std::move(node));
}

std::optional<PredicateParser::Compare> PredicateParser::comparator() {
  // The longer of two that begin alike first.
  for (const Compare compare : {Compare::Equal, Compare::Unequal, Compare::LessEqual,
                                Compare::GreaterEqual, Compare::Less, Compare::Greater}) {
    if (take(Predicate::spelling(compare))) return compare;
  }
  return std::nullopt;
}

// ---- Operands

std::string_view PredicateParser::take_name() {
  size_t end = at_;
  const auto goes_on = [this](size_t i) {
    return is_path_name(text_.substr(i, 1)) || (i > at_ && is_digit(text_[i]));
  };
  while (end < text_.size() && goes_on(end)) ++end;
  const std::string_view out = text_.substr(at_, end - at_);
  at_ = end;
  return out;
}

Result<PredicateParser::Operand> PredicateParser::operand() {
  skip_space();
  Operand out;
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  if (c == '"') {
    SOMA_ASSIGN(std::string said, string());
    out.constant = Value::text(std::move(said));
    return out;
  }
  if (c == '-' || is_digit(c)) {
    SOMA_ASSIGN(out.constant, number());
    return out;
  }
  const std::string_view word = take_name();
  if (word.empty()) {
    return expected("a path, a number, a string, true, false, null, has(…), '!' or '('");
  }
  if (word == "null") return out;
  if (word == "true" || word == "false") {
    out.constant = Value::boolean(word == "true");
    return out;
  }
  if (word == "has" && take("(")) {
    out.has = true;
    skip_space();
    const std::string_view first = take_name();
    if (first.empty()) return expected("a path");
    SOMA_ASSIGN(out.path, path(first));
    if (!take(")")) return expected("'.', '[' or ')'");
    return out;
  }
  SOMA_ASSIGN(out.path, path(word));
  return out;
}

Result<Value> PredicateParser::number() {
  // Below 10^16 a whole double prints as the digits of its integer: such constants are integers.
  constexpr double integers_below = 1e16;
  const size_t begin = at_;
  const JsonToken token = scan_json_number(text_, begin);
  if (!token.ok()) return expected(token.expected, token.end);
  at_ = token.end;
  const std::string_view spelling = text_.substr(begin, token.end - begin);
  if (token.is_whole) {
    const std::optional<i64> whole = json_integer(spelling);
    if (!whole) return expected("a whole number of at most 64 bits", begin);
    return Value::integer(*whole);
  }
  const std::optional<double> worth = json_number(spelling);
  if (!worth) return expected("a number that a double holds", begin);
  if (std::abs(*worth) < integers_below && std::floor(*worth) == *worth) {
    return Value::integer(static_cast<i64>(*worth));
  }
  return Value::number(*worth);
}

Result<std::string> PredicateParser::string() {
  std::string out;
  const JsonToken token = scan_json_string(text_, at_, &out);
  if (!token.ok()) return expected(token.expected, token.end);
  at_ = token.end;
  return out;
}

// Behind its first name.
Result<Path> PredicateParser::path(std::string_view first) {
  Path out;
  if (first != "it") out.steps_.push_back({std::string(first), std::nullopt});
  for (;;) {
    if (take(".")) {
      skip_space();
      const std::string_view name = take_name();
      if (name.empty()) return expected("a name");
      out.steps_.push_back({std::string(name), std::nullopt});
    } else if (take("[")) {
      SOMA_ASSIGN(Path::Step step, bracketed());
      out.steps_.push_back(std::move(step));
    } else {
      return out;
    }
  }
}

Result<Path::Step> PredicateParser::bracketed() {
  skip_space();
  const size_t begin = at_;
  Path::Step out;
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  if (c == '"') {
    SOMA_ASSIGN(out.name, string());
  } else if (c == '-' || is_digit(c)) {
    const JsonToken token = scan_json_number(text_, at_);
    if (!token.ok()) return expected(token.expected, token.end);
    at_ = token.end;
    if (token.is_whole) out.index = json_integer(text_.substr(begin, at_ - begin));
    if (!out.index) return expected("an integer of at most 64 bits", begin);
  } else {
    return expected("an integer or a string");
  }
  if (!take("]")) return expected("']'");
  return out;
}

// ---- The seams

Result<Predicate> Predicate::parse(std::string_view text) {
  return PredicateParser(text).predicate();
}

Result<Path> Path::parse(std::string_view text) { return PredicateParser(text).whole_path(); }

}  // namespace soma
