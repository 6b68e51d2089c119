// Proves that rule files are read as their grammar says, and that everything else in them is
// refused, by line, with all problems at once.
#include "circuit/fusion/rules.hpp"

#include <doctest/doctest.h>

#include "unit/circuit/llama_fixture.hpp"

namespace soma {

namespace {

// One whole rule, with parts replaced.
std::string rule_text(std::string_view from = "", std::string_view to = "") {
  std::string out = R"toml(schema = 1
[[rule]]
id = "norm_quant"
pattern = ["n = rms_norm(x)", "y = act_quant(n)"]
kernels = ["norm_quant"]
emitter = "norm"
numerics = "bit_identical"
priority = 50
cite = "why"
)toml";
  if (!from.empty()) out.replace(out.find(from), from.size(), to);
  return out;
}

std::string refusal(std::string_view toml) {
  const Result<FusionRules> rules = FusionRules::parse(toml);
  REQUIRE_FALSE(rules.ok());
  CHECK(rules.error().reason() == Reason::fusion_rules);
  return fixture::all_messages(rules.error());
}

void refuses(std::string_view from, std::string_view to, std::string_view message) {
  CAPTURE(to);
  const std::string got = refusal(rule_text(from, to));
  CAPTURE(got);
  CHECK(got.find(message) != std::string::npos);
}

}  // namespace

TEST_CASE("the rules of the library are read whole") {
  const FusionRules rules = fixture::rules();
  CHECK(rules.table().rules.size() == 23);
  for (const Rule& rule : rules.table().rules) {
    CAPTURE(rule.id);
    CHECK_FALSE(rule.cite.empty());
    CHECK(rule.kernels.size() == 1);
  }
}

TEST_CASE("every op has a fallback rule of its own, for all modes, rows and policies") {
  const FusionRules rules = fixture::rules();
  for (size_t i = 0; i <= static_cast<size_t>(Op::Sample); ++i) {
    const Op op = static_cast<Op>(i);
    const auto is_fallback = [op](const Rule& rule) {
      return rule.pattern.elements.size() == 1 && rule.pattern.elements[0].op == op &&
             rule.pattern.elements[0].roles.empty() && rule.numerics == Numerics::Reference &&
             rule.modes == 63 && rule.rows_low == 1 && rule.rows_high == plan_rows_max &&
             !rule.policy && rule.multiples.empty() && rule.formats.empty();
    };
    CAPTURE(op_info(op).name);
    const std::vector<Rule>& all = rules.table().rules;
    CHECK(std::count_if(all.begin(), all.end(), is_fallback) == 1);
  }
}

TEST_CASE("a rule's keys arrive in the record") {
  const std::string text = R"toml(schema = 1
[[rule]]
id = "pair"
pattern = ["a = linear:q|k(x)", "b = rope(a)"]
keep = ["a"]
agree = ["head_dim"]
multiples = { head_dim = 16 }
formats = { x = "q8a" }
kernels = ["first", "second"]
emitter = "rope"
modes = ["decode", "prefill"]
rows = [2, 8]
policy = "fast"
numerics = "differs"
lever = "pairing"
priority = -3
cite = "a test"
)toml";
  const FusionRules rules = FusionRules::parse(text).value();
  REQUIRE(rules.table().rules.size() == 1);
  const Rule& rule = rules.table().rules[0];
  CHECK(rule.id == "pair");
  CHECK(rule.line == 2);
  REQUIRE(rule.pattern.elements.size() == 2);
  CHECK(rule.pattern.elements[0].roles == std::vector<std::string>{"q", "k"});
  CHECK(rule.pattern.elements[0].stored);
  CHECK(rule.pattern.elements[1].stored);
  CHECK(rule.pattern.elements[1].reads == std::vector<u32>{rule.pattern.elements[0].makes});
  CHECK(rule.pattern.outside == std::vector<u32>{0});
  CHECK(rule.agree == std::vector<std::string>{"head_dim"});
  REQUIRE(rule.multiples.size() == 1);
  CHECK(rule.multiples[0].of == 16);
  REQUIRE(rule.formats.size() == 1);
  CHECK(rule.formats[0].format == Format::Q8A);
  CHECK(rule.kernels == std::vector<std::string>{"first", "second"});
  CHECK(rule.emitter == "rope");
  CHECK(rule.modes == (1U << 0 | 1U << 5));
  CHECK(rule.rows_low == 2);
  CHECK(rule.rows_high == 8);
  CHECK(rule.policy == Policy::Fast);
  CHECK(rule.numerics == Numerics::Differs);
  CHECK(rule.lever == "pairing");
  CHECK(rule.priority == -3);
  CHECK(rule.cite == "a test");
}

TEST_CASE("each key is checked, and its line named") {
  CHECK(FusionRules::parse(rule_text()).ok());
  refuses("id = \"norm_quant\"\n", "", "line 2: rule '': the key 'id' is missing");
  refuses("\"norm_quant\"", "\"Norm Quant\"", "line 3: rule '': id must be of a-z");
  refuses("id = \"norm_quant\"", "id = 3", "line 3: rule '': id must be a text");
  refuses("pattern = [\"n = rms_norm(x)\", \"y = act_quant(n)\"]", "pattern = []",
          "pattern must be 1..32 lines");
  refuses("pattern = [\"n = rms_norm(x)\", \"y = act_quant(n)\"]", "pattern = \"y\"",
          "line 4: rule 'norm_quant': pattern must be a list of texts");
  refuses("\"n = rms_norm(x)\", ", "7, ", "pattern must hold texts only");
  refuses("cite = \"why\"\n", "cite = \"why\"\nkeep = [\"z\"]\n",
          "line 10: rule 'norm_quant': keep: no line makes 'z'");
  refuses("cite = \"why\"\n", "cite = \"why\"\nformats = 3\n", "formats must be a table");
  refuses("cite = \"why\"\n", "cite = \"why\"\nformats = { x = \"q4_1\" }\n",
          "'q4_1' is not the format of an edge");
  refuses("cite = \"why\"\n", "cite = \"why\"\nformats = { n = \"f32\" }\n",
          "'n' is no value from outside");
  refuses("cite = \"why\"\n", "cite = \"why\"\nmultiples = { dims = 0 }\n",
          "multiple of an integer from 1");
  refuses("cite = \"why\"\n", "cite = \"why\"\nmodes = [\"idle\"]\n", "'idle' is not a mode");
  refuses("cite = \"why\"\n", "cite = \"why\"\nmodes = []\n", "at least one mode");
  refuses("cite = \"why\"\n", "cite = \"why\"\nrows = [4, 2]\n", "rows must be [low, high]");
  refuses("cite = \"why\"\n", "cite = \"why\"\nrows = [0, 2]\n", "rows must be [low, high]");
  refuses("cite = \"why\"\n", "cite = \"why\"\nrows = [1, 2, 3]\n", "rows must be [low, high]");
  refuses("cite = \"why\"\n", "cite = \"why\"\nrows = [1, 70000]\n", "<= 65536");
  refuses("cite = \"why\"\n", "cite = \"why\"\npolicy = \"slow\"\n", "'slow' is not a policy");
  refuses("kernels = [\"norm_quant\"]", "kernels = []", "kernels must name 1..32 kernels");
  refuses("kernels = [\"norm_quant\"]", "kernels = [\"a b\"]", "'a b' is not a kernel's name");
  refuses("emitter = \"norm\"\n", "", "the key 'emitter' is missing");
  refuses("\"bit_identical\"", "\"exact\"", "'exact' is not one of");
  refuses("\"bit_identical\"", "\"differs\"", "a lever must be named");
  refuses("cite = \"why\"\n", "cite = \"why\"\nlever = \"x\"\n", "a lever must be named");
  refuses("priority = 50", "priority = \"high\"",
          "line 8: rule 'norm_quant': priority must be an integer");
  refuses("priority = 50", "priority = 1.5", "priority must be an integer");
  refuses("cite = \"why\"\n", "", "the key 'cite' is missing");
  refuses("cite = \"why\"", "cite = \"\"", "cite must say why");
  refuses("cite = \"why\"\n", "cite = \"why\"\nrow = [1, 2]\n",
          "line 10: rule 'norm_quant': unknown key 'row'");
  refuses("schema = 1", "schema = 2", "schema must be 1");
  refuses("schema = 1", "", "schema must be 1");
  refuses("schema = 1", "schema = 1\nrules = 3", "line 2: unknown key 'rules'");
  refuses("[[rule]]", "[[rules]]", "there must be 1..1024 [[rule]] tables");
}

TEST_CASE("each pattern line is checked, and the place named") {
  const char* const line = "y = act_quant(n)";
  refuses(line, "", "column 1: expected the name of a value");
  refuses(line, "y act_quant(n)", "expected '='");
  refuses(line, "y = quantise(n)", "expected an op; 'quantise' is none");
  refuses(line, "y = act_quant:q(n)", "expected no role for act_quant");
  refuses(line, "y = linear:(n)", "expected a role");
  refuses(line, "y = linear:a|(n)", "expected a role");
  refuses(line, "y = act_quant n", "expected '('");
  refuses(line, "y = act_quant(n", "expected ',' or ')'");
  refuses(line, "y = silu_mul(n,)", "expected the name of a value");
  refuses(line, "y = act_quant(n) z", "expected the end of the line");
  refuses(line, "y = act_quant()", "expected 1 operands of act_quant, got 0");
  refuses(line, "y = silu_mul(n)", "expected 2 operands of silu_mul, got 1");
  refuses(line, "y = act_quant(z)", "a group must hang together");
  refuses(line, "y = embed()", "a group must hang together");
  refuses(line, "n = act_quant(n)", "each value is made once, then read");
  refuses(line, "x = act_quant(n)", "each value is made once, then read");
}

TEST_CASE("all problems are reported at once") {
  std::string text = rule_text("priority = 50", "priority = true");
  text += "[[rule]]\nid = \"norm_quant\"\npattern = [\"y = \"]\n";
  const std::string got = refusal(text);
  CHECK(got.find("line 8: rule 'norm_quant': priority") != std::string::npos);
  CHECK(got.find("line 10: rule 'norm_quant' is already defined in line 2") != std::string::npos);
  CHECK(got.find("line 12: rule 'norm_quant': pattern line 'y = '") != std::string::npos);
  CHECK(got.find("the key 'emitter' is missing") != std::string::npos);
}

TEST_CASE("what is not TOML, too long or too deep is refused") {
  CHECK(refusal("schema = ").find("line 1: not TOML") != std::string::npos);
  for (const char* text : {"a = 1\nb = \"\xFF\"", "a = 1\n# \xD0\x98", "a = 1\n\x01"}) {
    CHECK(refusal(text).find("is not ASCII text") != std::string::npos);
    CHECK(refusal(text).find("line 2: ") == 0);
  }
  CHECK(refusal(std::string(rules_text_max + 1, ' ')).find("more than 1048576") !=
        std::string::npos);
  std::string deep_key = "a";
  for (int i = 0; i < 100000; ++i) deep_key += ".a";
  CHECK(refusal(deep_key + " = 1").find("line 1: more than 64 dots") != std::string::npos);
  CHECK(refusal("a = " + std::string(100000, '[')).find("not TOML") != std::string::npos);
  std::string deep_table;
  for (int i = 0; i < 10000; ++i) deep_table += "{a=";
  CHECK(refusal("a = " + deep_table).find("not TOML") != std::string::npos);
}

TEST_CASE("names and levers that a pattern can't hold are shown safely") {
  const std::string got = refusal(rule_text("\"norm_quant\"", "\"\\u001b[31m\""));
  CHECK(got.find("\x1b") == std::string::npos);
}

}  // namespace soma
