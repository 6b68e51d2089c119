// Reads and checks a rule file, and reports everything that is wrong with it, by line.
//
// The file is TOML, read by toml++, which is confined to this file. It is configured without
// exceptions, without its formatters and with from_chars for floats, which leaves no stream and no
// locale in the object: libstdc++ would allocate behind the library's allocator for those.
// Asserts are off, since a rule file may come from anywhere and the library never ends a process.
//
// What a key may hold is said by the RuleReader's calls, one a key; keys that no call asked for are
// unknown and refused, so that a misspelt condition can't silently apply to everything.
#include "circuit/fusion/rules.hpp"

#include <algorithm>

#include "base/problems.hpp"
#include "base/text.hpp"

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_FLOAT_CHARCONV 1
#define TOML_INT_CHARCONV 1
#define TOML_MAX_NESTED_VALUES 16
#define TOML_ASSERT(expression) static_cast<void>(0)
#include <toml++/toml.h>

namespace soma {

namespace {

u32 line_of(const toml::node& node) {
  return static_cast<u32>(node.source().begin.line);
}

bool is_word(std::string_view word) {
  return !word.empty() && word.size() <= 64 &&
         std::all_of(word.begin(), word.end(), [](char letter) {
           return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
                  letter == '_';
         });
}

// Reads one [[rule]] table.
class RuleReader {
 public:
  RuleReader(const toml::table& table, Problems& problems) : table_(table), problems_(problems) {}

  Rule read() {
    rule_.line = line_of(table_);
    rule_.id = word("id");
    read_pattern();
    read_keep();
    for (const Text& param : texts("agree")) rule_.agree.emplace_back(param.text);
    read_multiples();
    read_formats();
    read_kernels();
    rule_.emitter = word("emitter");
    read_modes();
    read_rows();
    read_policy();
    read_numerics();
    read_priority();
    if (const std::optional<Text> cite = text("cite", true)) {
      if (cite->text.empty()) complain(cite->line, "cite must say why the rule is right");
      rule_.cite = cite->text;
    }
    refuse_unknown_keys();
    return std::move(rule_);
  }

 private:
  struct Text {
    std::string_view text;
    u32 line;
  };

  void complain(u32 line, std::string_view what) {
    problems_.add(fail(Reason::fusion_rules, "line {}: rule {}: {}", line, quoted(rule_.id), what));
  }

  // ---- The keys, by meaning

  void read_pattern() {
    const std::vector<Text> lines = texts("pattern");
    if (lines.empty() || lines.size() > pattern_lines_max) {
      complain(rule_.line, soma::text("pattern must be 1..{} lines", pattern_lines_max));
      return;
    }
    for (const Text& line : lines) {
      const Status added = add_pattern_line(rule_.pattern, line.text);
      if (!added) complain(line.line, added.error().message());
    }
    if (!rule_.pattern.elements.empty()) rule_.pattern.elements.back().stored = true;
  }

  void read_keep() {
    for (const Text& name : texts("keep")) {
      bool found = false;
      for (Element& element : rule_.pattern.elements) {
        if (rule_.pattern.values[element.makes] != name.text) continue;
        found = true;
        element.stored = true;
      }
      if (!found) {
        complain(name.line, soma::text("keep: no line makes {}", quoted(name.text)));
      }
    }
  }

  void read_multiples() {
    const toml::table* multiples = table_at("multiples");
    if (multiples == nullptr) return;
    for (const auto& [key, entry] : *multiples) {
      const std::optional<i64> of = entry.value_exact<i64>();
      if (!of || *of < 1) {
        complain(line_of(entry), "multiples: a parameter must be a multiple of an integer from 1");
        continue;
      }
      rule_.multiples.push_back({std::string(key.str()), *of});
    }
  }

  void read_formats() {
    const toml::table* formats = table_at("formats");
    if (formats == nullptr) return;
    for (const auto& [key, entry] : *formats) {
      const std::optional<std::string_view> name = entry.value<std::string_view>();
      const std::optional<Format> format = name ? format_by_name(*name) : std::nullopt;
      if (!format || !format_info(*format).on_edge) {
        complain(line_of(entry), soma::text("formats: {} is not the format of an edge",
                                            name ? quoted(*name) : "that"));
        continue;
      }
      const Pattern& pattern = rule_.pattern;
      const auto same_name = [&](u32 value) { return pattern.values[value] == key.str(); };
      const auto value = std::find_if(pattern.outside.begin(), pattern.outside.end(), same_name);
      if (value == pattern.outside.end()) {
        complain(line_of(entry),
                 soma::text("formats: {} is no value from outside", quoted(key.str())));
        continue;
      }
      rule_.formats.push_back({*value, *format});
    }
  }

  void read_kernels() {
    for (const Text& kernel : texts("kernels")) {
      if (!is_word(kernel.text)) {
        complain(kernel.line, soma::text("{} is not a kernel's name", quoted(kernel.text)));
      }
      rule_.kernels.emplace_back(kernel.text);
    }
    if (rule_.kernels.empty() || rule_.kernels.size() > pattern_lines_max) {
      complain(rule_.line, soma::text("kernels must name 1..{} kernels", pattern_lines_max));
    }
  }

  void read_modes() {
    if (find("modes") == nullptr) {
      rule_.modes = (1U << mode_count) - 1;
      return;
    }
    const size_t before = problems_.count();
    for (const Text& name : texts("modes")) {
      const std::optional<Mode> mode = mode_by_name(name.text);
      if (!mode) {
        complain(name.line, soma::text("{} is not a mode", quoted(name.text)));
        continue;
      }
      rule_.modes |= 1U << static_cast<u32>(*mode);
    }
    if (rule_.modes == 0 && problems_.count() == before) {
      complain(rule_.line, "modes must name at least one mode");
    }
  }

  void read_rows() {
    const toml::node* node = find("rows");
    if (node == nullptr) return;
    const toml::array* rows = node->as_array();
    const auto bound = [rows](size_t index) -> std::optional<i64> {
      const toml::node* entry = rows ? rows->get(index) : nullptr;
      return entry ? entry->value_exact<i64>() : std::nullopt;
    };
    const std::optional<i64> low = bound(0), high = bound(1);
    if (!low || !high || rows->size() != 2 || *low < 1 || *high < *low ||
        static_cast<u64>(*high) > plan_rows_max) {
      return complain(line_of(*node), soma::text("rows must be [low, high] with 1 <= low <= high "
                                                 "<= {}",
                                                 plan_rows_max));
    }
    rule_.rows_low = static_cast<u64>(*low);
    rule_.rows_high = static_cast<u64>(*high);
  }

  void read_policy() {
    const std::optional<Text> policy = text("policy", false);
    if (!policy) return;
    for (const Policy known : {Policy::Fast, Policy::Reference}) {
      if (policy_name(known) == policy->text) rule_.policy = known;
    }
    if (!rule_.policy) {
      complain(policy->line, soma::text("{} is not a policy", quoted(policy->text)));
    }
  }

  void read_numerics() {
    const std::optional<Text> lever = text("lever", false);
    const std::optional<Text> name = text("numerics", true);
    if (!name) return;
    bool known = false;
    for (const Numerics numerics :
         {Numerics::BitIdentical, Numerics::Reference, Numerics::Differs}) {
      if (numerics_name(numerics) != name->text) continue;
      known = true;
      rule_.numerics = numerics;
    }
    if (!known) {
      complain(name->line, soma::text("{} is not one of bit_identical, reference, differs",
                                      quoted(name->text)));
    }
    const bool differs = rule_.numerics == Numerics::Differs;
    if (differs != lever.has_value() || (lever && !is_word(lever->text))) {
      complain(name->line, "a lever must be named for numerics = \"differs\", and only for it");
    }
    if (lever) rule_.lever = lever->text;
  }

  void read_priority() {
    const toml::node* node = find("priority");
    const std::optional<i64> priority = node ? node->value_exact<i64>() : std::nullopt;
    if (!priority) {
      return complain(node ? line_of(*node) : rule_.line, "priority must be an integer");
    }
    rule_.priority = *priority;
  }

  void refuse_unknown_keys() {
    for (const auto& [key, node] : table_) {
      if (std::find(asked_.begin(), asked_.end(), key.str()) == asked_.end()) {
        complain(line_of(node), soma::text("unknown key {}", quoted(key.str())));
      }
    }
  }

  // ---- The keys, by type

  const toml::node* find(std::string_view key) {
    asked_.push_back(key);
    return table_.get(key);
  }

  const toml::table* table_at(std::string_view key) {
    const toml::node* node = find(key);
    if (node == nullptr) return nullptr;
    const toml::table* table = node->as_table();
    if (table == nullptr) complain(line_of(*node), soma::text("{} must be a table", key));
    return table;
  }

  std::optional<Text> text(std::string_view key, bool required) {
    const toml::node* node = find(key);
    if (node == nullptr) {
      if (required) complain(rule_.line, soma::text("the key '{}' is missing", key));
      return std::nullopt;
    }
    const std::optional<std::string_view> value = node->value<std::string_view>();
    if (!value) {
      complain(line_of(*node), soma::text("{} must be a text", key));
      return std::nullopt;
    }
    return Text{*value, line_of(*node)};
  }

  std::string word(std::string_view key) {
    const std::optional<Text> value = text(key, true);
    if (value && !is_word(value->text)) {
      complain(value->line,
               soma::text("{} must be of a-z, 0-9 and _, is {}", key, quoted(value->text)));
    }
    return std::string(value ? value->text : "");
  }

  std::vector<Text> texts(std::string_view key) {
    std::vector<Text> out;
    const toml::node* node = find(key);
    if (node == nullptr) return out;
    const toml::array* array = node->as_array();
    if (array == nullptr) {
      complain(line_of(*node), soma::text("{} must be a list of texts", key));
      return out;
    }
    for (const toml::node& entry : *array) {
      if (const std::optional<std::string_view> value = entry.value<std::string_view>()) {
        out.push_back({*value, line_of(entry)});
      } else {
        complain(line_of(entry), soma::text("{} must hold texts only", key));
      }
    }
    return out;
  }

  const toml::table& table_;
  Problems& problems_;
  Rule rule_;
  std::vector<std::string_view> asked_;
};

// Keeps from toml++ what it can't stand: its tables of Unicode letters are undefined behaviour for
// some of them (found by fuzzing), and a key of many dots is a table in a table in a table, which
// it takes down by recursion. A rule file is plain ASCII, which may escape what it wants to say.
Status check_bytes(std::string_view toml) {
  constexpr u32 dots_max = 64;
  u32 line = 1, dots = 0;
  for (const char letter : toml) {
    const u8 byte = static_cast<u8>(letter);
    if (byte >= 0x7F || (byte < ' ' && letter != '\n' && letter != '\r' && letter != '\t')) {
      return fail(Reason::fusion_rules, "line {}: byte {:#04x} is not ASCII text", line, byte);
    }
    dots = letter == '\n' ? 0 : dots + (letter == '.');
    if (dots > dots_max) {
      return fail(Reason::fusion_rules, "line {}: more than {} dots", line, dots_max);
    }
    line += letter == '\n';
  }
  return {};
}

void read_rules(const toml::array& tables, std::vector<Rule>& rules, Problems& problems) {
  for (const toml::node& node : tables) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      problems.add(
          fail(Reason::fusion_rules, "line {}: 'rule' must hold tables only", line_of(node)));
      continue;
    }
    Rule rule = RuleReader(*table, problems).read();
    for (const Rule& other : rules) {
      if (other.id == rule.id) {
        problems.add(fail(Reason::fusion_rules, "line {}: rule {} is already defined in line {}",
                          rule.line, quoted(rule.id), other.line));
      }
    }
    rules.push_back(std::move(rule));
  }
}

}  // namespace

FusionRules::FusionRules(std::unique_ptr<Table> table) : table_(std::move(table)) {}
FusionRules::FusionRules(FusionRules&&) noexcept = default;
FusionRules& FusionRules::operator=(FusionRules&&) noexcept = default;
FusionRules::~FusionRules() = default;

Result<FusionRules> FusionRules::parse(std::string_view text) {
  if (text.size() > rules_text_max) {
    return fail(Reason::fusion_rules, "the rule file has {} bytes, more than {}", text.size(),
                rules_text_max);
  }
  SOMA_TRY(check_bytes(text));
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return fail(Reason::fusion_rules, "line {}: not TOML: {}", parsed.error().source().begin.line,
                parsed.error().description());
  }
  const toml::table& file = parsed.table();
  Problems problems;
  if (file["schema"].value_exact<i64>() != i64{1}) {
    problems.add(fail(Reason::fusion_rules, "schema must be 1: the only one this library knows"));
  }
  for (const auto& [key, node] : file) {
    if (key.str() != "schema" && key.str() != "rule") {
      problems.add(
          fail(Reason::fusion_rules, "line {}: unknown key {}", line_of(node), quoted(key.str())));
    }
  }
  auto table = std::make_unique<Table>();
  const toml::array* tables = file["rule"].as_array();
  if (tables == nullptr || tables->empty() || tables->size() > rules_max) {
    problems.add(fail(Reason::fusion_rules, "there must be 1..{} [[rule]] tables", rules_max));
  } else {
    read_rules(*tables, table->rules, problems);
  }
  if (!problems.none()) return std::move(problems).take();
  return FusionRules(std::move(table));
}

}  // namespace soma
