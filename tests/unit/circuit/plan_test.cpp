// Proves the exact launch counts of Llama-shaped models, that mixed models are covered, and that a
// plan's digest changes exactly when what runs does.
#include <doctest/doctest.h>

#include "circuit/fusion/digest.hpp"
#include "unit/circuit/llama_fixture.hpp"

namespace soma {

namespace {

using fixture::compile;
using fixture::Compiled;
using fixture::llama;
using fixture::LlamaSizes;
using fixture::small_sizes;

FusionPlan plan_of(const Circuit& source, PlanRequest request) {
  const Circuit circuit = resolve_precision(source, request.policy).value();
  return fuse(circuit, fixture::rules(), fixture::catalogue(), request).value();
}

u64 launches_of(const LlamaSizes& sizes, PlanRequest request) {
  const Compiled compiled = compile(llama(sizes), request);
  CHECK(compiled.program.launches.size() == compiled.plan.launches());
  CHECK(compiled.plan.copies() == 0);
  return compiled.plan.launches();
}

std::string digest_of(const LlamaSizes& sizes, PlanRequest request = {}) {
  return plan_of(llama(sizes), request).digest;
}

}  // namespace

TEST_CASE("a decode step of SmolLM2 is 153 launches, under either policy") {
  CHECK(launches_of({}, {Mode::Decode, 1, Policy::Fast}) == 1 + 30 * 5 + 2);
  CHECK(launches_of({}, {Mode::Decode, 1, Policy::Reference}) == 153);
}

TEST_CASE("up to 8 rows take as many launches as one, in every mode") {
  for (const Mode mode : {Mode::Decode, Mode::MultiSeq, Mode::Verify, Mode::VerifyBatch,
                          Mode::Draft, Mode::Prefill}) {
    for (const u64 rows : {u64{1}, u64{2}, u64{8}}) {
      CAPTURE(mode_name(mode));
      CAPTURE(rows);
      CHECK(launches_of({}, {mode, rows, Policy::Fast}) == 153);
    }
  }
}

TEST_CASE("with more rows the two norms of a layer are launches of their own") {
  for (const u64 rows : {u64{9}, u64{512}, plan_rows_max}) {
    CAPTURE(rows);
    CHECK(launches_of({}, {Mode::Prefill, rows, Policy::Fast}) == 1 + 30 * 7 + 2);
    CHECK(launches_of({}, {Mode::Prefill, rows, Policy::Reference}) == 213);
  }
}

TEST_CASE("with fallback kernels only, every node is a launch") {
  KernelCatalogue fallbacks;
  const FusionRules rules = fixture::rules();
  for (const Rule& rule : rules.table().rules) {
    if (rule.numerics == Numerics::Reference) fallbacks.kernels.push_back(rule.kernels[0]);
  }
  for (const Policy policy : {Policy::Fast, Policy::Reference}) {
    const Compiled compiled = compile(llama(), {Mode::Decode, 1, policy}, rules, fallbacks);
    CHECK(compiled.plan.launches() == compiled.circuit.nodes.size());
  }
}

TEST_CASE("models that mix formats are covered, with the fused kernels that fit") {
  const Format formats[] = {Format::F32, Format::F16, Format::Q8_0, Format::Q4_0};
  const char* const roles[] = {"q", "k", "v", "o", "gate", "up", "down", "head"};
  for (const char* role : roles) {
    for (const Format format : formats) {
      for (const Policy policy : {Policy::Fast, Policy::Reference}) {
        for (const u64 rows : {u64{1}, u64{64}}) {
          LlamaSizes sizes = small_sizes();
          sizes.tied = false;
          sizes.by_role = {{role, format}};
          const u64 launches = launches_of(sizes, {Mode::Prefill, rows, policy});
          const bool uniform =
              format_info(format).block_elements > 1 || policy == Policy::Reference;
          const u64 best = rows == 1 ? 3 + 2 * 5 : 3 + 2 * 7;
          CAPTURE(role);
          CHECK(launches >= best);
          if (uniform) CHECK(launches == best);
        }
      }
    }
  }
}

TEST_CASE("an all-float model under fast runs the f32 kernels") {
  LlamaSizes sizes = small_sizes();
  sizes.matrix = sizes.embedding = Format::F16;
  const FusionPlan plan = plan_of(llama(sizes), {Mode::Decode, 1, Policy::Fast});
  CHECK(plan.launches() == 3 + 2 * 5);
  CHECK(plan.groups[1].rule == "norm_qkv_rope_kv");
  CHECK(plan.groups[4].rule == "norm_gate_up_silu");
}

TEST_CASE("heads that don't fill blocks of 32 are attended and quantised apart") {
  LlamaSizes sizes = small_sizes();
  sizes.heads = 12;
  sizes.kv_heads = 3;
  sizes.head_dim = 48;
  const FusionPlan plan = plan_of(llama(sizes), {Mode::Decode, 1, Policy::Fast});
  CHECK(plan.launches() == 3 + 2 * 6);
  CHECK(plan.groups[1].rule == "norm_quant_qkv_rope_kv");
  CHECK(plan.groups[2].rule == "attend");
  CHECK(plan.groups[3].rule == "act_quant");
}

TEST_CASE(
    "what the plan stores: the rotated queries, the stream, the quantised parts, the outputs") {
  const Compiled compiled = compile(llama(small_sizes()), {Mode::Decode, 1, Policy::Fast});
  std::vector<std::string> stored;
  for (EdgeId id = 0; id < compiled.circuit.edges.size(); ++id) {
    const Edge& edge = compiled.circuit.edges[id];
    if (compiled.plan.edge_states[id] == EdgeState::Materialized) stored.push_back(edge.id);
    if (edge.width == 0) CHECK(compiled.plan.edge_states[id] == EdgeState::Absent);
  }
  CHECK(stored == std::vector<std::string>{"embed", "l0.attn.q_rope", "l0.attn.add", "l0.ffn.add",
                                           "l1.attn.q_rope", "l1.attn.add", "l1.ffn.add", "logits",
                                           "tokens", "l0.attn.attend.q8a", "l0.ffn.act.q8a",
                                           "l1.attn.attend.q8a", "l1.ffn.act.q8a"});
}

TEST_CASE("the same input gives the same plan, also when its edges were made in another order") {
  const PlanRequest request = {Mode::Decode, 1, Policy::Fast};
  const Circuit circuit = resolve_precision(llama(small_sizes()), request.policy).value();
  const FusionPlan plan = plan_of(llama(small_sizes()), request);
  CHECK(plan.digest.size() == 32);
  CHECK(plan.dump(circuit) == plan_of(llama(small_sizes()), request).dump(circuit));

  // Edges and names reversed: nothing that runs has changed.
  Circuit mirrored = circuit;
  const EdgeId last = static_cast<EdgeId>(circuit.edges.size() - 1);
  std::reverse(mirrored.edges.begin(), mirrored.edges.end());
  for (Edge& edge : mirrored.edges) edge.id = "e-" + edge.id;
  for (Node& node : mirrored.nodes) {
    node.id = "n-" + node.id;
    for (EdgeId& edge : node.inputs) edge = last - edge;
    for (EdgeId& edge : node.outputs) edge = last - edge;
  }
  const FusionPlan same = fuse(mirrored, fixture::rules(), fixture::catalogue(), request).value();
  CHECK(same.digest == plan.digest);
}

TEST_CASE("why a plan is as it is does not reach the digest") {
  const PlanRequest request = {Mode::Decode, 1, Policy::Fast};
  const Circuit circuit = resolve_precision(llama(small_sizes()), request.policy).value();
  const std::string digest = plan_of(llama(small_sizes()), request).digest;
  CHECK(digest_of(small_sizes(), {Mode::Draft, 1, Policy::Fast}) == digest);
  KernelCatalogue dearer = fixture::catalogue();
  dearer.launch_ns = 1e6;
  CHECK(fuse(circuit, fixture::rules(), dearer, request)->digest == digest);
  std::string renamed(embedded_rules());
  renamed.replace(renamed.find("id = \"linear_add\""), 17, "id = \"add_linear\"");
  renamed.replace(renamed.find("priority = 100"), 14, "priority = 107");
  const FusionRules rules = FusionRules::parse(renamed).value();
  CHECK(fuse(circuit, rules, fixture::catalogue(), request)->digest == digest);
}

TEST_CASE("whatever changes what runs changes the digest") {
  const std::string digest = digest_of(small_sizes());
  std::vector<LlamaSizes> others(11, small_sizes());
  others[0].layers = 3;
  others[1].hidden = 640;
  others[2].feed_forward = 1504;
  others[3].heads = 12;
  others[4].kv_heads = 9;
  others[5].vocabulary = 352;
  others[6].epsilon = 1e-6;
  others[7].base = 10000;
  others[8].adjacent = false;
  others[9].tied = false;
  others[10].by_role = {{"down", Format::Q4_0}};
  for (const LlamaSizes& sizes : others) CHECK(digest_of(sizes) != digest);
  CHECK(digest_of(small_sizes(), {Mode::Decode, 2, Policy::Fast}) != digest);
  CHECK(digest_of(small_sizes(), {Mode::Decode, 1, Policy::Reference}) != digest);

  KernelCatalogue fewer = fixture::catalogue();
  std::erase(fewer.kernels, "linear_add");
  const Circuit circuit = resolve_precision(llama(small_sizes()), Policy::Fast).value();
  CHECK(fuse(circuit, fixture::rules(), fewer, {})->digest != digest);
}

TEST_CASE("a plan that is not of this circuit, or was changed, is refused by every later stage") {
  const Compiled one = compile(llama(small_sizes()), {});
  LlamaSizes other_sizes = small_sizes();
  other_sizes.base = 10000;
  const Circuit other = resolve_precision(llama(other_sizes), Policy::Fast).value();
  CHECK(check_plan(one.circuit, one.plan).ok());
  CHECK_FALSE(check_plan(other, one.plan).ok());
  CHECK_FALSE(lay_out(other, one.plan).ok());
  CHECK_FALSE(place(other, one.plan, one.layout).ok());
  CHECK_FALSE(verify_storage(other, one.plan, one.layout, one.buffers).ok());
  CHECK_FALSE(compile_program(other, one.plan, one.layout, one.buffers).ok());

  FusionPlan plan = one.plan;
  plan.groups[1].kernels[0] = "other";
  CHECK_FALSE(check_plan(one.circuit, plan).ok());
  plan = one.plan;
  plan.groups.pop_back();
  CHECK_FALSE(check_plan(one.circuit, plan).ok());
  plan = one.plan;
  plan.groups[2].nodes[0] = plan.groups[1].nodes[0];
  CHECK_FALSE(check_plan(one.circuit, plan).ok());
  plan = one.plan;
  plan.groups[2].nodes[0] = 100000;
  CHECK_FALSE(check_plan(one.circuit, plan).ok());
  plan = one.plan;
  plan.edge_states.pop_back();
  CHECK_FALSE(check_plan(one.circuit, plan).ok());
  plan = one.plan;
  plan.edge_states[0] = EdgeState::Fused;
  CHECK_FALSE(check_plan(one.circuit, plan).ok());
  plan = one.plan;
  plan.request.rows_max = 2;
  CHECK_FALSE(check_plan(one.circuit, plan).ok());
}

TEST_CASE("mode names go there and back") {
  for (size_t i = 0; i < mode_count; ++i) {
    CHECK(mode_by_name(mode_name(static_cast<Mode>(i))) == static_cast<Mode>(i));
  }
  CHECK_FALSE(mode_by_name("idle").has_value());
}

}  // namespace soma
