// Validates JSON in one pass with a stack of its own.
//
// Problem. cJSON builds trees well but believes what it reads: it takes 1e999 and 01, ends texts at
// NUL, skips a byte order mark, keeps both of two equal keys and rounds large integers in silence.
//
// Idea. A scanner that builds nothing looks at every byte first. Two states are enough: before a
// value, and behind one. What is open lies on an explicit stack, so that depth costs memory that
// was checked against the limit, never the thread's stack. The keys of open objects lie on one
// more stack, unescaped; where an object closes, its own are the topmost. Sorting them brings equal
// ones together.
//
// Why it is right. Each state consumes exactly what RFC 8259 allows there, or stops. It ends
// because each turn moves on by at least one byte. UTF-8 is checked before all else, so that lines
// and columns can be counted in what precedes any other problem.
//
// Cost. Linear, but for the sorting: k keys of an object cost k log k comparisons, whatever the
// keys are; a hash table would fall to keys chosen to collide.
#include "base/json_validate.hpp"

#include <algorithm>
#include <deque>

#include "base/json_scan.hpp"
#include "base/problems.hpp"
#include "base/text.hpp"

namespace soma {

namespace {

class Validator {
 public:
  Validator(std::string_view text, u32 depth_max) : text_(text), depth_max_(depth_max) {}
  Result<ValidJson> run();

 private:
  struct Open {
    char closer;
    size_t keys_before;       // of the objects around it
    size_t unescaped_before;
  };
  struct Key {
    std::string_view text;  // unescaped
    size_t at;
  };

  Status before_value();
  Status scalar();
  Status open(char closer);
  Status behind_value();
  Status key();
  Status number();
  void close();
  void compare_keys(size_t begin);

  void skip_space() {
    while (at_ < text_.size() && is_json_space(text_[at_])) ++at_;
  }
  char look() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  Error refuse(Reason reason, size_t at, std::string_view expected,
               std::string_view now = {}) const;
  Error unexpected(std::string_view expected) const {
    return refuse(Reason::document_syntax, at_, expected);
  }

  std::string_view text_;
  u32 depth_max_;
  size_t at_ = 0;
  bool value_ended_ = false;
  std::vector<Open> open_;
  std::vector<Key> keys_;
  std::deque<std::string> unescaped_;  // keys that their spelling does not show; they never move
  Problems duplicates_;
  ValidJson out_;
};

Result<ValidJson> Validator::run() {
  if (const size_t bad = find_invalid_utf8(text_); bad != std::string_view::npos) {
    return refuse(Reason::document_syntax, bad, "valid UTF-8", "save the document as UTF-8");
  }
  if (text_.starts_with("\xEF\xBB\xBF")) {
    return refuse(Reason::document_syntax, 0, "a value", "remove the byte order mark");
  }
  out_.text = text_;
  do {
    SOMA_TRY(before_value());
    while (value_ended_ && !open_.empty()) SOMA_TRY(behind_value());
  } while (!value_ended_);
  skip_space();
  if (at_ < text_.size()) return unexpected("the end of the text after the value");
  SOMA_TRY(std::move(duplicates_).status());
  return std::move(out_);
}

// Consumes a value without parts whole, and of any other its opening.
Status Validator::before_value() {
  skip_space();
  value_ended_ = false;
  const char c = look();
  if (c == '[' || c == '{') return open(c == '[' ? ']' : '}');
  value_ended_ = true;
  return scalar();
}

Status Validator::scalar() {
  const char c = look();
  if (c == '-' || is_digit(c)) return number();
  if (c == '"') {
    const JsonToken token = scan_json_string(text_, at_, nullptr);
    if (!token.ok()) return refuse(Reason::document_syntax, token.end, token.expected);
    at_ = token.end;
    return {};
  }
  for (const std::string_view word : {"null", "true", "false"}) {
    if (!text_.substr(at_).starts_with(word)) continue;
    at_ += word.size();
    return {};
  }
  return unexpected("a value");
}

Status Validator::open(char closer) {
  if (open_.size() >= depth_max_) {
    return refuse(Reason::document_limit, at_,
                  text("arrays and objects at most {} deep", depth_max_), "nest it less deeply");
  }
  ++at_;
  open_.push_back({closer, keys_.size(), unescaped_.size()});
  skip_space();
  if (look() == closer) {
    close();
    return {};
  }
  return closer == '}' ? key() : Status();
}

// Consumes a comma, and the key behind it, or the end of what is open.
Status Validator::behind_value() {
  skip_space();
  const char closer = open_.back().closer;
  if (look() == closer) {
    close();
    return {};
  }
  if (look() != ',') return unexpected(closer == ']' ? "',' or ']'" : "',' or '}'");
  ++at_;
  value_ended_ = false;
  if (closer == ']') return {};
  skip_space();
  return key();
}

Status Validator::key() {
  if (look() != '"') return unexpected("a key in double quotes");
  const size_t begin = at_;
  const JsonToken token = scan_json_string(text_, at_, nullptr);
  if (!token.ok()) return refuse(Reason::document_syntax, token.end, token.expected);
  std::string_view name = text_.substr(begin + 1, token.end - begin - 2);
  if (token.has_escape) {
    std::string& said = unescaped_.emplace_back();
    scan_json_string(text_, begin, &said);
    name = said;
  }
  keys_.push_back({name, begin});
  at_ = token.end;
  skip_space();
  if (look() != ':') return unexpected("':' after the key");
  ++at_;
  return {};
}

Status Validator::number() {
  const size_t begin = at_;
  const JsonToken token = scan_json_number(text_, begin);
  if (!token.ok()) return refuse(Reason::document_syntax, token.end, token.expected);
  const std::string_view spelling = text_.substr(begin, token.end - begin);
  const std::optional<double> worth = json_number(spelling);
  if (token.is_whole) {
    const std::optional<i64> whole = json_integer(spelling);
    if (!whole || *whole > json_whole_max || *whole < -json_whole_max) {
      return refuse(Reason::document_limit, begin, "a whole number within ±9007199254740992",
                    "write it as a text, in double quotes");
    }
  }
  if (!worth) {
    return refuse(Reason::document_limit, begin, "a number that a double holds",
                  "write it as a text, in double quotes");
  }
  out_.numbers.push_back(*worth);
  out_.text.replace(begin, spelling.size(), spelling.size(), ' ');
  out_.text[begin] = '0';
  at_ = token.end;
  return {};
}

void Validator::close() {
  ++at_;
  value_ended_ = true;
  const Open& closed = open_.back();
  compare_keys(closed.keys_before);
  keys_.resize(closed.keys_before);
  unescaped_.resize(closed.unescaped_before);
  open_.pop_back();
}

void Validator::compare_keys(size_t begin) {
  const auto first = keys_.begin() + static_cast<std::ptrdiff_t>(begin);
  std::sort(first, keys_.end(), [](const Key& a, const Key& b) {
    return a.text != b.text ? a.text < b.text : a.at < b.at;
  });
  for (auto here = first; here != keys_.end(); ++here) {
    if (here == first || here->text != std::prev(here)->text) continue;
    if (duplicates_.count() >= Problems::kept_max) return;  // finding a line is linear
    duplicates_.add(refuse(Reason::document_duplicate_key, here->at,
                           "a key that the object does not have yet", "remove one of the two")
                        .with("key", here->text));
  }
}

Error Validator::refuse(Reason reason, size_t at, std::string_view expected,
                        std::string_view now) const {
  const std::string_view before = text_.substr(0, at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  const size_t column = 1 + count_characters(before.substr(line_begin));
  const bool is_string = reason == Reason::document_duplicate_key;
  const std::string got =
      is_string ? quoted(text_.substr(at, scan_json_string(text_, at, nullptr).end - at))
                : found_at(text_, at);
  Error out = fail(reason, "line {}, column {} (byte {}): expected {}, got {}{}{}", line, column,
                   at, expected, got, now.empty() ? "" : ": ", now);
  out.with("line", text("{}", line)).with("column", text("{}", column));
  out.with("offset", text("{}", at)).with("expected", expected).with("got", got);
  return out;
}

}  // namespace

Result<ValidJson> validate_json(std::string_view document, const JsonLimits& limits) {
  if (document.size() > limits.bytes_max) {
    return fail(Reason::document_limit, "expected a document of at most {} bytes, got {} bytes",
                limits.bytes_max, document.size());
  }
  return Validator(document, limits.depth_max).run();
}

}  // namespace soma
