// Reads the lines of a rule's pattern.
//
//   line   = name "=" op [ ":" role { "|" role } ] "(" [ name { "," name } ] ")"
//
// Spaces may stand anywhere between the parts. A line may read what lines before it make, or values
// from outside; never what a later line makes, so a pattern's order is an order of execution. Every
// line after the first must read something that is known by then (made or read before it): the
// matcher finds a line's node among the readers of those values, and never searches the circuit.
#include "circuit/fusion/rules.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace soma {

namespace {

class LineReader {
 public:
  explicit LineReader(std::string_view line) : line_(line) {}

  bool take(char expected) {
    skip_spaces();
    if (at_ == line_.size() || line_[at_] != expected) return false;
    ++at_;
    return true;
  }

  // A run of lowercase letters, digits and underscores; empty if there is none.
  std::string_view name() {
    skip_spaces();
    const size_t begin = at_;
    while (at_ < line_.size() && is_name_letter(line_[at_])) ++at_;
    return line_.substr(begin, at_ - begin);
  }

  bool at_end() {
    skip_spaces();
    return at_ == line_.size();
  }

  Error expected(std::string_view what) const {
    return fail(Reason::fusion_rules, "pattern line {}, column {}: expected {}", quoted(line_),
                at_ + 1, what);
  }

 private:
  static bool is_name_letter(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_';
  }
  void skip_spaces() {
    while (at_ < line_.size() && line_[at_] == ' ') ++at_;
  }

  std::string_view line_;
  size_t at_ = 0;
};

u32 value_of(Pattern& pattern, std::string_view name) {
  const auto found = std::find(pattern.values.begin(), pattern.values.end(), name);
  if (found == pattern.values.end()) {
    pattern.values.emplace_back(name);
    return static_cast<u32>(pattern.values.size() - 1);
  }
  return static_cast<u32>(found - pattern.values.begin());
}

// What a line says, before its names become values.
struct Line {
  std::string_view makes;
  Element element;
  std::vector<std::string_view> reads;
};

Result<Line> read_line(std::string_view text) {
  LineReader reader(text);
  Line line;
  line.makes = reader.name();
  if (line.makes.empty()) return reader.expected("the name of a value");
  if (!reader.take('=')) return reader.expected("'='");
  const std::string_view op_name = reader.name();
  const std::optional<Op> op = op_by_name(op_name);
  if (!op) return reader.expected(soma::text("an op; {} is none", quoted(op_name)));
  line.element.op = *op;
  if (reader.take(':')) {
    if (!op_info(*op).has_role) return reader.expected(soma::text("no role for {}", op_name));
    do {
      const std::string_view role = reader.name();
      if (role.empty()) return reader.expected("a role");
      line.element.roles.emplace_back(role);
    } while (reader.take('|'));
  }
  if (!reader.take('(')) return reader.expected("'('");
  if (!reader.take(')')) {
    do {
      const std::string_view read = reader.name();
      if (read.empty()) return reader.expected("the name of a value");
      line.reads.push_back(read);
    } while (reader.take(','));
    if (!reader.take(')')) return reader.expected("',' or ')'");
  }
  if (!reader.at_end()) return reader.expected("the end of the line");
  const OpInfo& info = op_info(*op);
  if (line.reads.size() != info.inputs) {
    return reader.expected(
        soma::text("{} operands of {}, got {}", info.inputs, info.name, line.reads.size()));
  }
  return line;
}

}  // namespace

Status add_pattern_line(Pattern& pattern, std::string_view text) {
  SOMA_ASSIGN(Line line, read_line(text));
  const size_t known = pattern.values.size();
  bool connected = pattern.elements.empty();
  for (const std::string_view name : line.reads) {
    const u32 value = value_of(pattern, name);
    if (value < known) connected = true;
    if (value >= known && line.element.reads.end() == std::find(line.element.reads.begin(),
                                                                line.element.reads.end(), value)) {
      pattern.outside.push_back(value);
    }
    line.element.reads.push_back(value);
  }
  if (!connected) {
    return fail(Reason::fusion_rules,
                "pattern line {} reads nothing that the lines before it "
                "make or read: a group must hang together",
                quoted(text));
  }
  const size_t before = pattern.values.size();
  line.element.makes = value_of(pattern, line.makes);
  if (line.element.makes < before) {
    return fail(Reason::fusion_rules,
                "pattern line {} makes '{}', which is made or read before "
                "it: each value is made once, then read",
                quoted(text), line.makes);
  }
  pattern.elements.push_back(std::move(line.element));
  return {};
}

}  // namespace soma
