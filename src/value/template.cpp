// Parses texts with places in them, and fills the places in.
#include "value/template.hpp"

#include "base/json_scan.hpp"
#include "base/text.hpp"
#include "value/value_json.hpp"

namespace soma {

namespace {

Error syntax(std::string_view text, size_t at, std::string_view expected, std::string_view got) {
  const size_t column = 1 + count_characters(text.substr(0, at));
  return fail(Reason::predicate_syntax, "{}, column {}: expected {}, got {}", quoted(text), column,
              expected, got)
      .with("column", static_cast<i64>(column));
}

// Where the brace lies that closes the place which starts at `at`; a name in quotes may hold one.
size_t find_close(std::string_view text, size_t at) {
  bool in_quotes = false;
  for (; at < text.size(); ++at) {
    if (in_quotes && text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      in_quotes = !in_quotes;
    } else if (text[at] == '}' && !in_quotes) {
      return at;
    }
  }
  return std::string_view::npos;
}

}  // namespace

Result<Template> Template::parse(std::string_view text) {
  if (const size_t bad = find_invalid_utf8(text); bad != std::string_view::npos) {
    return syntax(text, bad, "valid UTF-8", "other bytes");
  }
  Template out;
  Part part;
  size_t at = 0;
  while (at < text.size()) {
    const char letter = text[at];
    const bool is_brace = letter == '{' || letter == '}';
    if (!is_brace || text.substr(at + 1).starts_with(letter)) {
      part.text += letter;
      at += is_brace ? 2 : 1;
      continue;
    }
    if (letter == '}') return syntax(text, at, "'}}' for a brace", "'}' without '{' before it");
    const size_t close = find_close(text, at + 1);
    if (close == std::string_view::npos) {
      return syntax(text, at, "'}' behind a path, or '{{' for a brace", "the end");
    }
    Result<Path> path = Path::parse(text.substr(at + 1, close - at - 1));
    if (!path.ok()) {
      return std::move(path).error().context("in " + quoted(text));
    }
    part.path = std::move(path).value();
    out.parts_.push_back(std::exchange(part, {}));
    at = close + 1;
  }
  if (!part.text.empty()) out.parts_.push_back(std::move(part));
  return out;
}

Result<std::string> Template::fill(const Value& it) const {
  std::string out;
  for (const Part& part : parts_) {
    out += part.text;
    if (!part.path) continue;
    SOMA_ASSIGN(const Value* there, part.path->follow(it));
    if (there->is(ValueKind::Text)) {
      out += there->text();
      continue;
    }
    SOMA_ASSIGN(const std::string json, value_json(*there));
    out += json;
  }
  return out;
}

}  // namespace soma
