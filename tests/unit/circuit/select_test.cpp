// Proves that selection takes what saves most, breaks ties as it says, repairs interlocks, and that
// its explanations tell what happened.
#include "circuit/fusion/select.hpp"

#include <doctest/doctest.h>

#include "unit/circuit/bench_fixture.hpp"

namespace soma {

namespace {

using fixture::Bench;

struct RuleSpec {
  std::string id;
  std::vector<std::string> lines;
  std::vector<std::string> keep = {};
  i64 priority = 10;
  std::string more = "";
};

// The library's fallbacks, and rules of the test's own, whose kernel bears the rule's name.
FusionRules rules_with(const std::vector<RuleSpec>& specs) {
  std::string text(embedded_rules());
  text = text.substr(0, text.find("# ---- Attention"));
  for (const RuleSpec& spec : specs) {
    text += "[[rule]]\nid = \"" + spec.id + "\"\npattern = [";
    for (const std::string& line : spec.lines) text += "\"" + line + "\", ";
    text += "]\nkeep = [";
    for (const std::string& name : spec.keep) text += "\"" + name + "\", ";
    text += soma::text(
        "]\nkernels = [\"{}\"]\nemitter = \"none\"\nnumerics = \"reference\"\n"
        "priority = {}\ncite = \"test\"\n{}\n",
        spec.id, spec.priority, spec.more);
  }
  Result<FusionRules> rules = FusionRules::parse(text);
  if (!rules.ok()) FAIL(fixture::all_messages(rules.error()));
  return std::move(rules).value();
}

KernelCatalogue all_kernels_of(const FusionRules& rules) {
  KernelCatalogue out;
  for (const Rule& rule : rules.table().rules) {
    out.kernels.insert(out.kernels.end(), rule.kernels.begin(), rule.kernels.end());
  }
  std::sort(out.kernels.begin(), out.kernels.end());
  return out;
}

FusionPlan plan_of(const Circuit& circuit, const FusionRules& rules, PlanRequest request = {}) {
  Result<FusionPlan> plan = fuse(circuit, rules, all_kernels_of(rules), request);
  if (!plan.ok()) FAIL(fixture::all_messages(plan.error()));
  return std::move(plan).value();
}

// "rule(node node) rule(node)" of the groups with several nodes, in order of execution.
std::string fused_groups(const Circuit& circuit, const FusionPlan& plan) {
  std::string out;
  for (const Group& group : plan.groups) {
    if (group.nodes.size() < 2) continue;
    std::string names;
    for (const NodeId node : group.nodes) {
      names += (names.empty() ? "" : " ") + circuit.nodes[node].id;
    }
    out += (out.empty() ? "" : " ") + group.rule + "(" + names + ")";
  }
  return out;
}

Circuit chain() {
  Bench bench;
  const EdgeId n = bench.add(Op::RmsNorm, "n", {bench.stream()}, 64);
  const EdgeId y = bench.add(Op::Linear, "y", {n}, 64);
  const EdgeId z = bench.add(Op::Linear, "z", {y}, 64);
  bench.add_to_stream("sum", z);
  return std::move(bench).finish();
}

// a1 feeds b2 and b1 feeds a2, so {a1, a2} and {b1, b2} can't both be groups.
Circuit interlocked() {
  Bench bench;
  const EdgeId x = bench.stream();
  const EdgeId a1 = bench.add(Op::RmsNorm, "a1", {x}, 64);
  const EdgeId b1 = bench.add(Op::Linear, "b1", {x}, 64, "b");
  const EdgeId a2 = bench.add(Op::SiluMul, "a2", {x, b1}, 64);
  const EdgeId b2 = bench.add(Op::SiluMul, "b2", {x, a1}, 64);
  const EdgeId both = bench.add(Op::SiluMul, "both", {a2, b2}, 64);
  bench.add_to_stream("sum", both);
  return std::move(bench).finish();
}

const RuleSpec interlocking[] = {
    {"group_a", {"n = rms_norm(x)", "s = silu_mul(x, z)"}, {"n"}},
    {"group_b", {"l = linear:b(x)", "t = silu_mul(x, z)"}, {"l"}},
};

}  // namespace

TEST_CASE("of overlapping matches the one that saves more wins") {
  const Circuit circuit = chain();
  const FusionRules rules =
      rules_with({{"two", {"n = rms_norm(x)", "y = linear(n)"}, {}, 1000},
                  {"three", {"n = rms_norm(x)", "y = linear(n)", "z = linear(y)"}}});
  CHECK(fused_groups(circuit, plan_of(circuit, rules)) == "three(n y z)");
}

TEST_CASE("saved bytes count as saved launches do") {
  const Circuit circuit = chain();
  // Both take two nodes; one keeps what the other need not store.
  const FusionRules rules = rules_with({{"kept", {"n = rms_norm(x)", "y = linear(n)"}, {"n"}, 1000},
                                        {"not_kept", {"n = rms_norm(x)", "y = linear(n)"}, {}, 1}});
  const FusionPlan plan = plan_of(circuit, rules);
  CHECK(plan.groups[1].rule == "not_kept");
  CHECK(plan.groups[1].saved_ns == doctest::Approx(300 + 64 * 4 / 20.0));
  PlanRequest request;
  request.rows_max = 100;
  CHECK(plan_of(circuit, rules, request).groups[1].saved_ns ==
        doctest::Approx(300 + 100 * 64 * 4 / 20.0));
}

TEST_CASE("ties go by priority, then to the lowest node, then to the rule that stands first") {
  const Circuit circuit = chain();
  const RuleSpec front = {"front", {"n = rms_norm(x)", "y = linear(n)"}};
  RuleSpec back = {"back", {"y = linear(x)", "z = linear(y)"}};
  CHECK(fused_groups(circuit, plan_of(circuit, rules_with({back, front}))) == "front(n y)");
  back.priority = 11;
  CHECK(fused_groups(circuit, plan_of(circuit, rules_with({back, front}))) == "back(y z)");
  RuleSpec twin = front;
  twin.id = "twin";
  CHECK(fused_groups(circuit, plan_of(circuit, rules_with({twin, front}))) == "twin(n y)");
  CHECK(fused_groups(circuit, plan_of(circuit, rules_with({front, twin}))) == "front(n y)");
}

TEST_CASE("a match whose nodes are partly taken is looked for among the others") {
  Bench bench;
  const EdgeId n = bench.add(Op::RmsNorm, "n", {bench.stream()}, 64);
  const EdgeId a = bench.add(Op::Linear, "a", {n}, 64, "free");
  const EdgeId b = bench.add(Op::Linear, "b", {n}, 64, "free");
  const EdgeId ar = bench.add(Op::SiluMul, "ar", {a, b}, 64);
  bench.add_to_stream("sum", ar);
  const Circuit circuit = std::move(bench).finish();
  // `pair` prefers n with a; `big` takes a and the join, then n goes with b.
  const FusionRules rules = rules_with({{"pair", {"n = rms_norm(x)", "y = linear:free(n)"}, {"n"}},
                                        {"big", {"y = linear(x)", "h = silu_mul(y, z)"}}});
  CHECK(fused_groups(circuit, plan_of(circuit, rules)) == "pair(n b) big(a ar)");
}

TEST_CASE("interlocking matches are repaired: one stays, the other's nodes run alone") {
  const Circuit circuit = interlocked();
  const RuleSpec& a = interlocking[0];
  RuleSpec b = interlocking[1];
  CHECK(fused_groups(circuit, plan_of(circuit, rules_with({a}))) == "group_a(a1 a2)");
  CHECK(fused_groups(circuit, plan_of(circuit, rules_with({b}))) == "group_b(b1 b2)");
  CHECK(fused_groups(circuit, plan_of(circuit, rules_with({a, b}))) == "group_a(a1 a2)");
  b.priority = 11;
  CHECK(fused_groups(circuit, plan_of(circuit, rules_with({a, b}))) == "group_b(b1 b2)");
}

TEST_CASE("a path through a node outside keeps two members apart") {
  Bench bench;
  const EdgeId a = bench.add(Op::Linear, "a", {bench.stream()}, 64, "a");
  const EdgeId n = bench.add(Op::RmsNorm, "n", {a}, 64);
  const EdgeId h = bench.add(Op::SiluMul, "h", {a, n}, 64);
  bench.add_to_stream("sum", h);
  const Circuit circuit = std::move(bench).finish();
  const FusionRules rules =
      rules_with({{"jump", {"a = linear:a(x)", "h = silu_mul(a, z)"}, {"a"}}});
  CHECK(fused_groups(circuit, plan_of(circuit, rules)) == "");
}

TEST_CASE("a reader of the stream runs before the stream is replaced, whatever is fused") {
  // Two branches read the same stream value; the first branch's sum must wait for the second's
  // norm, so norm and sum of one group would lie on both sides of it.
  Bench bench;
  const EdgeId x = bench.stream();
  const EdgeId y = bench.add(Op::Linear, "y", {x}, 64, "y");
  const EdgeId n = bench.add(Op::RmsNorm, "n", {x}, 64);
  const EdgeId z = bench.add(Op::Linear, "z", {n}, 64, "z");
  bench.add_to_stream("sum1", y);
  bench.add_to_stream("sum2", z);
  const Circuit circuit = std::move(bench).finish();
  const FusionRules rules =
      rules_with({{"linear_add", {"y = linear(x)", "s = residual_add(stream, y)"}}});
  const FusionPlan plan = plan_of(circuit, rules);
  // y reads what sum1 replaces, so only z may be added where it is computed.
  CHECK(fused_groups(circuit, plan) == "linear_add(z sum2)");
  std::vector<std::string> order;
  for (const Group& group : plan.groups) order.push_back(circuit.nodes[group.nodes[0]].id);
  CHECK(order == std::vector<std::string>{"embed", "y", "n", "sum1", "z", "rows", "logits"});
}

TEST_CASE("rules are left out by mode, rows, policy, lever and kernel, and the reason is given") {
  const FusionRules rules =
      rules_with({{"r",
                   {"n = rms_norm(x)", "y = linear(n)"},
                   {},
                   1,
                   "modes = [\"prefill\"]\nrows = [2, 8]\npolicy = \"fast\""}});
  const Rule& rule = rules.table().rules.back();
  const KernelCatalogue all = all_kernels_of(rules);
  PlanRequest request = {Mode::Prefill, 8, Policy::Fast};
  CHECK_FALSE(why_excluded(rule, all, request).has_value());
  request.mode = Mode::Decode;
  CHECK(why_excluded(rule, all, request) == "it does not serve mode decode");
  request = {Mode::Prefill, 9, Policy::Fast};
  CHECK(why_excluded(rule, all, request) == "it serves 2..8 rows, not 9");
  request.rows_max = 1;
  CHECK(why_excluded(rule, all, request) == "it serves 2..8 rows, not 1");
  request = {Mode::Prefill, 8, Policy::Reference};
  CHECK(why_excluded(rule, all, request) == "it is for the policy fast");
  request.policy = Policy::Fast;
  KernelCatalogue none;
  CHECK(why_excluded(rule, none, request) == "the backend has no kernel 'r'");
  Rule differs = rule;
  differs.numerics = Numerics::Differs;
  differs.lever = "split";
  CHECK(why_excluded(differs, all, request) ==
        "its numbers differ, and lever 'split' was not asked for");
}

TEST_CASE("nodes that no rule covers are all named") {
  const Circuit circuit = chain();
  const FusionRules rules = rules_with({});
  KernelCatalogue kernels = all_kernels_of(rules);
  std::erase(kernels.kernels, "linear");
  const Result<FusionPlan> plan = fuse(circuit, rules, kernels, {});
  REQUIRE_FALSE(plan.ok());
  CHECK(plan.error().reason() == Reason::fusion_uncovered);
  const std::string messages = fixture::all_messages(plan.error());
  for (const char* id : {"'y' (linear:x)", "'z' (linear:x)", "'logits' (linear:head)"}) {
    CHECK(messages.find(id) != std::string::npos);
  }
}

TEST_CASE("impossible requests are refused") {
  const Circuit circuit = chain();
  const FusionRules rules = rules_with({});
  const KernelCatalogue kernels = all_kernels_of(rules);
  PlanRequest request;
  request.rows_max = 0;
  CHECK_FALSE(fuse(circuit, rules, kernels, request).ok());
  request.rows_max = plan_rows_max + 1;
  CHECK_FALSE(fuse(circuit, rules, kernels, request).ok());
  KernelCatalogue broken = kernels;
  broken.bytes_per_ns = 0;
  CHECK_FALSE(fuse(circuit, rules, broken, {}).ok());
}

TEST_CASE("explain says for each rule whether it won, and if not, why") {
  const Circuit circuit = interlocked();
  const FusionRules rules =
      rules_with({interlocking[0],
                  interlocking[1],
                  {"alone", {"s = silu_mul(u, v)", "t = silu_mul(s, w)"}, {}, 1, "rows = [9, 99]"},
                  {"never", {"l = linear:b(x)", "t = rope(l)"}}});
  const auto explain = [&](std::string_view node) {
    Result<std::string> out = explain_node(circuit, rules, all_kernels_of(rules), {}, node);
    REQUIRE(out.ok());
    return *out;
  };
  const std::string b1 = explain("b1");
  CAPTURE(b1);
  CHECK(b1.find("node b1 (linear:b) in decode, up to 1 rows, policy fast") == 0);
  CHECK(b1.find("won       linear") != std::string::npos);
  CHECK(b1.find("lost      group_b") != std::string::npos);
  CHECK(b1.find("must run between its members") != std::string::npos);
  CHECK(b1.find("no match  never    1 of 2 lines fit (b1); no free node fits line 2: rope reading "
                "'b1'") != std::string::npos);
  const std::string a1 = explain("a1");
  CAPTURE(a1);
  CHECK(a1.find("won   group_a") != std::string::npos);
  CHECK(a1.find("rule 'group_a' took 'a1' before") != std::string::npos);
  CHECK(explain("both").find("not used  alone     it serves 9..99 rows, not 1") !=
        std::string::npos);
  const Result<std::string> missing = explain_node(circuit, rules, all_kernels_of(rules), {}, "c9");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().reason() == Reason::circuit_node);
}

}  // namespace soma
