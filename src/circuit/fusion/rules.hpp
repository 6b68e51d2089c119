// The inside of a rule file: rules as records, patterns as little programs over values.
#pragma once

#include "circuit/fusion/plan.hpp"

namespace soma {

// Limits of a rule file, which may come from a host.
constexpr size_t rules_text_max = 1 << 20;
constexpr size_t rules_max = 1024;
constexpr size_t pattern_lines_max = 32;

// One line of a pattern. Values are numbered by their first mention in the pattern.
struct Element {
  Op op = Op::Linear;
  std::vector<std::string> roles;  // any of these; empty: whatever the node's role is
  std::vector<u32> reads;          // values, in the op's operand order
  u32 makes = 0;                   // value
  bool stored = false;             // may be read outside the group: the last line's, and `keep`
};

struct Pattern {
  std::vector<Element> elements;
  std::vector<std::string> values;    // names, for messages
  std::vector<u32> outside;           // values that no element makes
};

struct Rule {
  std::string id;
  u32 line = 0;                       // in the file
  Pattern pattern;
  std::vector<std::string> agree;     // parameters
  struct Multiple { std::string param; i64 of; };
  std::vector<Multiple> multiples;
  struct ValueFormat { u32 value; Format format; };
  std::vector<ValueFormat> formats;
  std::vector<std::string> kernels;
  std::string emitter;
  u32 modes = 0;                      // a bit each
  u64 rows_low = 1, rows_high = plan_rows_max;
  std::optional<Policy> policy;
  Numerics numerics = Numerics::Reference;
  std::string lever;
  i64 priority = 0;
  std::string cite;
};

struct FusionRules::Table {
  std::vector<Rule> rules;            // in the file's order
};

// Appends one line to a pattern ("q = linear:q|k(x)"), or says what is wrong with it.
Status add_pattern_line(Pattern& pattern, std::string_view line);

}  // namespace soma
