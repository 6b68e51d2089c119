// Proves that patterns match what they say, wherever it lies in the circuit, and nothing that would
// be wrong to run as one launch.
#include "circuit/fusion/match.hpp"

#include <doctest/doctest.h>

#include "unit/circuit/bench_fixture.hpp"

namespace soma {

namespace {

using fixture::Bench;

Rule rule_of(std::vector<std::string> lines, std::vector<std::string> keep = {},
             std::string_view more = "") {
  std::string text = "schema = 1\n[[rule]]\nid = \"r\"\npattern = [";
  for (const std::string& line : lines) text += "\"" + line + "\", ";
  text += "]\nkeep = [";
  for (const std::string& name : keep) text += "\"" + name + "\", ";
  text += "]\nkernels = [\"k\"]\nemitter = \"e\"\nnumerics = \"reference\"\npriority = 0\n";
  text += "cite = \"test\"\n";
  text += more;
  Result<FusionRules> rules = FusionRules::parse(text);
  if (!rules.ok()) FAIL(fixture::all_messages(rules.error()));
  return rules->table().rules[0];
}

NodeId find(const Circuit& circuit, std::string_view id) {
  for (NodeId node = 0; node < circuit.nodes.size(); ++node) {
    if (circuit.nodes[node].id == id) return node;
  }
  FAIL("no such node");
  return 0;
}

// The ids of the nodes matched from `anchor`, or why there is no match.
std::string matched(const Circuit& circuit, const Rule& rule, std::string_view anchor,
                    std::vector<std::string> taken_ids = {}) {
  std::vector<bool> taken(circuit.nodes.size());
  for (const std::string& id : taken_ids) taken[find(circuit, id)] = true;
  Miss miss;
  const std::optional<std::vector<NodeId>> nodes =
      match(circuit, find_dependencies(circuit), rule, find(circuit, anchor), taken, &miss);
  if (!nodes) return "no: " + miss.why;
  std::string out;
  for (const NodeId node : *nodes) out += (out.empty() ? "" : " ") + circuit.nodes[node].id;
  return out;
}

}  // namespace

TEST_CASE("a chain is followed, and only from its first node") {
  Bench bench;
  const EdgeId n = bench.add(Op::RmsNorm, "n", {bench.stream()}, 64);
  const EdgeId y = bench.add(Op::Linear, "y", {n}, 64, "o");
  bench.add_to_stream("sum", y);
  const Circuit circuit = std::move(bench).finish();
  const Rule rule = rule_of({"n = rms_norm(x)", "y = linear:o(n)", "s = residual_add(x, y)"});
  CHECK(matched(circuit, rule, "y") == "no: ");
  CHECK(matched(circuit, rule_of({"n = rms_norm(x)", "y = linear:o|q(n)"}), "n") == "n y");
  CHECK(matched(circuit, rule_of({"n = rms_norm(x)", "y = linear(n)"}), "n") == "n y");
  CHECK(matched(circuit, rule_of({"n = rms_norm(x)", "y = linear:q(n)"}), "n") ==
        "no: no free node fits line 2: linear reading 'n'");
  CHECK(matched(circuit, rule_of({"n = rms_norm(x)", "y = linear(n)"}), "n", {"y"})
            .starts_with("no"));
  CHECK(matched(circuit, rule_of({"n = rms_norm(x)", "y = linear(n)"}), "n", {"n"})
            .starts_with("no"));
}

TEST_CASE("siblings share an input from outside or from inside") {
  Bench bench;
  const EdgeId n = bench.add(Op::RmsNorm, "n", {bench.stream()}, 64);
  const EdgeId other = bench.add(Op::RmsNorm, "other", {bench.stream()}, 64);
  const EdgeId up = bench.add(Op::Linear, "up", {n}, 64, "up");
  const EdgeId stranger = bench.add(Op::Linear, "stranger", {other}, 64, "gate");
  const EdgeId gate = bench.add(Op::Linear, "gate", {n}, 64, "gate");
  const EdgeId h = bench.add(Op::SiluMul, "h", {gate, up}, 64);
  const EdgeId h2 = bench.add(Op::SiluMul, "h2", {stranger, h}, 64);
  bench.add_to_stream("sum", h2);
  const Circuit circuit = std::move(bench).finish();
  // The join binds both branches, in the operands' order and not in the nodes'.
  const Rule join = rule_of({"g = linear:gate(x)", "u = linear:up(x)", "y = silu_mul(g, u)"});
  CHECK(matched(circuit, join, "gate") == "gate up h");
  CHECK(matched(circuit, join, "stranger") ==
        "no: no free node fits line 2: linear reading 'other'");
  const Rule swapped = rule_of({"g = linear:gate(x)", "u = linear:up(x)", "y = silu_mul(u, g)"});
  CHECK(matched(circuit, swapped, "gate").starts_with("no"));
  const Rule from_inside =
      rule_of({"n = rms_norm(x)", "g = linear:gate(n)", "u = linear:up(n)", "y = silu_mul(g, u)"});
  CHECK(matched(circuit, from_inside, "n") == "n gate up h");
}

TEST_CASE("the search backs up when a sibling leads nowhere") {
  Bench bench;
  const EdgeId n = bench.add(Op::RmsNorm, "n", {bench.stream()}, 64);
  const EdgeId a = bench.add(Op::Linear, "a", {n}, 64);
  const EdgeId b = bench.add(Op::Linear, "b", {n}, 64);
  const EdgeId c = bench.add(Op::Linear, "c", {n}, 64);
  const EdgeId h = bench.add(Op::SiluMul, "h", {c, b}, 64);
  const EdgeId h2 = bench.add(Op::SiluMul, "h2", {h, a}, 64);
  bench.add_to_stream("sum", h2);
  const Circuit circuit = std::move(bench).finish();
  const Rule rule =
      rule_of({"n = rms_norm(x)", "g = linear(n)", "u = linear(n)", "y = silu_mul(g, u)"}, {"n"});
  CHECK(matched(circuit, rule, "n") == "n c b h");
}

TEST_CASE("a value that others read must be stored") {
  Bench bench;
  const EdgeId n = bench.add(Op::RmsNorm, "n", {bench.stream()}, 64);
  const EdgeId q = bench.add(Op::ActQuant, "q", {n}, 64);
  const EdgeId a = bench.add(Op::Linear, "a", {q}, 64);
  const EdgeId b = bench.add(Op::Linear, "b", {n}, 64);
  const EdgeId h = bench.add(Op::SiluMul, "h", {a, b}, 64);
  bench.add_to_stream("sum", h);
  const Circuit circuit = std::move(bench).finish();
  CHECK(matched(circuit, rule_of({"n = rms_norm(x)", "q = act_quant(n)"}), "n") ==
        "no: 'n' is also read by 'b', outside the group");
  CHECK(matched(circuit, rule_of({"n = rms_norm(x)", "q = act_quant(n)"}, {"n"}), "n") == "n q");
}

TEST_CASE("a bound output must be stored") {
  Bench bench;
  const Circuit circuit = [&] {
    const EdgeId rows = bench.add(Op::GatherRows, "r", {bench.stream()}, 64);
    const EdgeId scores = bench.add(Op::Linear, "scores", {rows}, 100);
    const EdgeId token = bench.add(Op::Sample, "token", {scores}, 1);
    bench.circuit().edges[token].binds = ModelBuffer::Tokens;
    return std::move(bench).finish();
  }();
  const Rule rule = rule_of({"l = linear(x)", "t = sample(l)"});
  CHECK(matched(circuit, rule, "scores") == "scores token");
  Circuit bound = circuit;
  for (Edge& edge : bound.edges) {
    if (edge.id == "logits") edge.binds = ModelBuffer::None;
    if (edge.id == "scores") edge.binds = ModelBuffer::Logits;
  }
  CHECK(matched(bound, rule, "scores") ==
        "no: 'scores' is a bound output, which the group would not store");
}

TEST_CASE("an operand from outside is not made inside") {
  Bench bench;
  const EdgeId a = bench.add(Op::Linear, "a", {bench.stream()}, 64);
  const EdgeId h = bench.add(Op::SiluMul, "h", {a, a}, 64);
  bench.add_to_stream("sum", h);
  const Circuit circuit = std::move(bench).finish();
  CHECK(matched(circuit, rule_of({"a = linear(x)", "y = silu_mul(a, a)"}), "a") == "a h");
  CHECK(matched(circuit, rule_of({"a = linear(x)", "y = silu_mul(a, z)"}), "a") ==
        "no: 'a' is made inside the group");
  CHECK(matched(circuit, rule_of({"y = silu_mul(z, z)"}), "h") == "h");
  CHECK(matched(circuit, rule_of({"y = silu_mul(w, z)"}), "h") == "h");
}

TEST_CASE("a name that stands twice is one edge") {
  Bench bench;
  const EdgeId a = bench.add(Op::Linear, "a", {bench.stream()}, 64);
  const EdgeId b = bench.add(Op::Linear, "b", {bench.stream()}, 64);
  const EdgeId h = bench.add(Op::SiluMul, "h", {a, b}, 64);
  bench.add_to_stream("sum", h);
  const Circuit circuit = std::move(bench).finish();
  CHECK(matched(circuit, rule_of({"y = silu_mul(z, z)"}), "h").starts_with("no"));
  CHECK(matched(circuit, rule_of({"y = silu_mul(w, z)"}), "h") == "h");
}

TEST_CASE("no member may read a stream value that another replaces") {
  Bench bench;
  const EdgeId y = bench.add(Op::Linear, "y", {bench.stream()}, 64);
  bench.add_to_stream("sum", y);
  const Circuit circuit = std::move(bench).finish();
  // The product would read the stream while the sum overwrites it.
  const Rule rule = rule_of({"y = linear(x)", "s = residual_add(stream, y)"});
  CHECK(matched(circuit, rule, "y") == "no: 'y' reads a stream value that 'sum' replaces");
}

TEST_CASE("parameters agree and divide, and outside values are stored, as the rule asks") {
  Bench bench;
  const EdgeId q = bench.add(Op::Linear, "q", {bench.stream()}, 32);
  const EdgeId qr = bench.add(Op::Rope, "qr", {q}, 32);
  const EdgeId qrr = bench.add(Op::Rope, "qrr", {qr}, 32);
  const EdgeId y = bench.add(Op::Linear, "y", {qrr}, 64);
  bench.add_to_stream("sum", y);
  Circuit circuit = std::move(bench).finish();
  const std::vector<std::string> lines = {"a = rope(x)", "b = rope(a)"};
  CHECK(matched(circuit, rule_of(lines, {}, "agree = [\"base\", \"epsilon\"]\n"), "qr") ==
        "qr qrr");
  circuit.nodes[find(circuit, "qrr")].params[2].value = 500;
  CHECK(matched(circuit, rule_of(lines), "qr") == "qr qrr");
  CHECK(matched(circuit, rule_of(lines, {}, "agree = [\"base\"]\n"), "qr") ==
        "no: 'qr' and 'qrr' have another base");
  CHECK(matched(circuit, rule_of(lines, {}, "multiples = { head_dim = 16 }\n"), "qr") == "qr qrr");
  CHECK(matched(circuit, rule_of(lines, {}, "multiples = { head_dim = 64 }\n"), "qr") ==
        "no: head_dim of 'qr' is 32, not a multiple of 64");
  CHECK(matched(circuit, rule_of(lines, {}, "formats = { x = \"f32\" }\n"), "qr") == "qr qrr");
  CHECK(matched(circuit, rule_of(lines, {}, "formats = { x = \"q8a\" }\n"), "qr") ==
        "no: 'q' is f32, not q8a");
}

TEST_CASE("symmetric siblings do not make the search endless") {
  Bench bench;
  std::vector<EdgeId> all;
  for (int i = 0; i < 40; ++i) {
    all.push_back(bench.add(Op::Linear, text("a{}", i), {bench.stream()}, 64));
  }
  EdgeId sum = all[0];
  for (size_t i = 1; i < all.size(); ++i) {
    sum = bench.add(Op::SiluMul, text("h{}", i), {sum, all[i]}, 64);
  }
  bench.add_to_stream("sum", sum);
  const Circuit circuit = std::move(bench).finish();
  std::vector<std::string> lines = {"v0 = linear(x)"};
  std::vector<std::string> keep;
  for (int i = 1; i < 20; ++i) lines.push_back(text("v{} = linear(x)", i));
  for (int i = 0; i < 20; ++i) keep.push_back(text("v{}", i));
  lines.push_back("y = rope(v0)");
  CHECK(matched(circuit, rule_of(lines, keep), "a0").starts_with("no: "));
}

}  // namespace soma
