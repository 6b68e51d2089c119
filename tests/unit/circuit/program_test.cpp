// Proves that programs say all that a backend needs, that barriers stand where they must, that
// counts are exact, and that a program outlives everything it was made from.
#include <doctest/doctest.h>

#include "circuit/fusion/digest.hpp"
#include "circuit/program/barriers.hpp"
#include "circuit/program/digest.hpp"
#include "circuit/program/emit/emit.hpp"
#include "unit/circuit/llama_fixture.hpp"

namespace soma {

namespace {

using fixture::compile;
using fixture::Compiled;
using fixture::llama;
using fixture::small_sizes;

Compiled small(PlanRequest request = {}) {
  return compile(llama(small_sizes()), request);
}

const Launch& launch_of(const Program& program, std::string_view kernel) {
  for (const Launch& launch : program.launches) {
    if (launch.kernel == kernel) return launch;
  }
  FAIL("no such launch");
  return program.launches.front();
}

std::string arg_names(const Launch& launch) {
  std::string out;
  for (const Arg& arg : launch.args) {
    out += out.empty() ? "" : " ";
    out += arg.written ? "->" + arg.name : arg.name;
  }
  return out;
}

KernelCatalogue fallbacks() {
  KernelCatalogue out;
  const FusionRules rules = fixture::rules();
  for (const Rule& rule : rules.table().rules) {
    if (rule.numerics == Numerics::Reference) out.kernels.push_back(rule.kernels[0]);
  }
  return out;
}

double number(const Launch& launch, std::string_view name) {
  REQUIRE(launch.find(name) != nullptr);
  return launch.find(name)->number;
}

}  // namespace

TEST_CASE("every kernel of the catalogue gets the arguments that it is said to take") {
  const auto check = [](const Program& program, std::string_view kernel, std::string_view names) {
    CAPTURE(kernel);
    CHECK(arg_names(launch_of(program, kernel)) == names);
  };
  const Circuit circuit = llama(small_sizes());
  const PlanRequest decode = {Mode::Decode, 1, Policy::Fast};
  const PlanRequest prefill = {Mode::Prefill, 64, Policy::Fast};
  const PlanRequest decode_f32 = {Mode::Decode, 1, Policy::Reference};
  const PlanRequest prefill_f32 = {Mode::Prefill, 64, Policy::Reference};

  const Program plain = compile(circuit, decode, fixture::rules(), fallbacks()).program;
  check(plain, "embed", "w ->out");
  check(plain, "rms_norm", "x w epsilon ->out");
  check(plain, "act_quant", "x ->out");
  check(plain, "linear", "x w ->out");
  check(plain, "rope", "x heads head_dim base dims adjacent ->out");
  check(plain, "kv_write", "k v ->kv");
  check(plain, "attend", "q kv heads kv_heads head_dim scale ->out");
  check(plain, "silu_mul", "gate up ->out");
  check(plain, "residual_add", "stream x ->out");
  check(plain, "gather_rows", "x ->out");
  check(plain, "sample", "logits ->tokens");

  const std::string qkv = "wq wk wv heads kv_heads head_dim base dims adjacent ->kv ->q";
  const Program fast = compile(circuit, decode).program;
  check(fast, "norm_quant_qkv_rope_kv", "x norm epsilon terms " + qkv);
  check(fast, "attend_quant", "q kv heads kv_heads head_dim scale ->out");
  check(fast, "linear_add", "x w stream ->out");
  check(fast, "norm_quant_gate_up_silu_quant", "x norm epsilon terms wgate wup ->out");
  check(fast, "gather_norm_quant_linear", "x norm epsilon terms w ->out");
  const Program fast_prefill = compile(circuit, prefill).program;
  check(fast_prefill, "norm_quant", "x norm epsilon ->out");
  check(fast_prefill, "qkv_rope_kv", "x " + qkv);
  check(fast_prefill, "gate_up_silu_quant", "x wgate wup ->out");
  const Program f32 = compile(circuit, decode_f32).program;
  check(f32, "norm_qkv_rope_kv", "x norm epsilon " + qkv);
  check(f32, "norm_gate_up_silu", "x norm epsilon wgate wup ->out");
  check(f32, "gather_norm_linear", "x norm epsilon w ->out");
  const Program f32_prefill = compile(circuit, prefill_f32).program;
  check(f32_prefill, "qkv_rope_kv", "x " + qkv);
  check(f32_prefill, "gate_up_silu", "x wgate wup ->out");
}

TEST_CASE("arguments say where values lie, how wide they are and what they hold") {
  const Compiled compiled = small();
  const Launch& qkv = compiled.program.launches[1];
  const Arg& x = *qkv.find("x");
  CHECK(x.kind == ArgKind::Edge);
  CHECK(x.buffer == ModelBuffer::Hidden);
  CHECK(x.offset == 0);
  CHECK(x.row_bytes == 576 * 4);
  CHECK(x.width == 576);
  CHECK(x.format == Format::F32);
  CHECK(x.rows == RowsOf::Step);
  const Arg& q = *qkv.find("q");
  const Slot& slot = *compiled.buffers.find(q.edge);
  CHECK(compiled.circuit.edges[q.edge].id == "l0.attn.q_rope");
  CHECK(q.buffer == ModelBuffer::None);
  CHECK(q.offset == slot.offset);
  CHECK(number(qkv, "terms") == 2);
  CHECK(number(qkv, "heads") == 9);
  CHECK(number(qkv, "kv_heads") == 3);
  CHECK(number(qkv, "head_dim") == 64);
  CHECK(number(qkv, "base") == 100000);
  CHECK(number(qkv, "adjacent") == 1);
  CHECK(compiled.program.weights[qkv.find("wk")->index].tensor == "blk.0.attn_k.weight");
  CHECK(qkv.find("kv")->kind == ArgKind::State);
  CHECK(compiled.program.launches[6].find("kv")->index == 1);
  CHECK(compiled.program.launches[7].find("kv")->index == 1);
  CHECK(qkv.find("no such argument") == nullptr);
  const Launch& head = launch_of(compiled.program, "gather_norm_quant_linear");
  CHECK(number(head, "terms") == 1);
  CHECK(head.find("x")->rows == RowsOf::Step);
  CHECK(head.find("out")->rows == RowsOf::Logits);
  CHECK(head.find("out")->buffer == ModelBuffer::Logits);
  CHECK(launch_of(compiled.program, "attend_quant").find("out")->format == Format::Q8A);
}

TEST_CASE("grids cut the work as the catalogue says") {
  const Program program = small().program;
  const auto grid_is = [&program](std::string_view kernel, GridKind kind, RowsOf rows, u32 extent,
                                  u32 unit) {
    CAPTURE(kernel);
    const Grid& grid = launch_of(program, kernel).grid;
    CHECK(grid.kind == kind);
    CHECK(grid.rows == rows);
    CHECK(grid.extent == extent);
    CHECK(grid.unit == unit);
  };
  grid_is("embed", GridKind::Rows, RowsOf::Step, 1, 1);
  grid_is("norm_quant_qkv_rope_kv", GridKind::Columns, RowsOf::Step, 576 + 192 + 192, 16);
  grid_is("attend_quant", GridKind::RowHeads, RowsOf::Step, 9, 1);
  grid_is("linear_add", GridKind::Columns, RowsOf::Step, 576, 16);
  grid_is("norm_quant_gate_up_silu_quant", GridKind::Columns, RowsOf::Step, 1536, 32);
  grid_is("gather_norm_quant_linear", GridKind::Columns, RowsOf::Logits, 320, 16);
  grid_is("sample", GridKind::Rows, RowsOf::Logits, 1, 1);
  fixture::LlamaSizes halves = small_sizes();
  halves.adjacent = false;
  CHECK(compile(llama(halves), {}).program.launches[1].grid.unit == 64);
}

TEST_CASE("each tensor is one weight, however often it is read") {
  const Program tied = small().program;
  CHECK(tied.weights.size() == 1 + 2 * 9 + 1);
  CHECK(tied.launches.front().find("w")->index ==
        launch_of(tied, "gather_norm_quant_linear").find("w")->index);
  fixture::LlamaSizes untied = small_sizes();
  untied.tied = false;
  CHECK(compile(llama(untied), {}).program.weights.size() == tied.weights.size() + 1);
}

TEST_CASE("the program says how much memory it needs and how its KV state is stored") {
  const Compiled fast = small({Mode::Prefill, 64, Policy::Fast});
  CHECK(fast.program.arena_bytes == fast.buffers.arena_bytes);
  CHECK(fast.program.hidden_bytes == 64 * 576 * 4);
  CHECK(fast.program.logits_row_bytes == 320 * 4);
  CHECK(fast.program.layers == 2);
  CHECK(fast.program.kv_heads == 3);
  CHECK(fast.program.head_dim == 64);
  CHECK(fast.program.kv_format == Format::F16);
  CHECK(small({Mode::Decode, 1, Policy::Reference}).program.kv_format == Format::F32);
}

TEST_CASE("barriers stand before what reads or overwrites what is in flight, and nowhere else") {
  // Fallbacks: q, k and v read one edge and write three; so do the ropes, each its own.
  const Program plain = compile(llama(small_sizes()), {}, fixture::rules(), fallbacks()).program;
  std::string pattern;
  for (size_t i = 0; i <= 21; ++i) pattern += plain.launches[i].barrier_before ? '|' : '.';
  //  embed norm quant q k v rope rope kv attend quant o add norm quant gate up silu quant down add
  CHECK(pattern == std::string(".||"
                               "|.."
                               "|."
                               "||||"
                               "||||"
                               ".||||"
                               "|")
                       .substr(0, pattern.size()));
  const Program fused = small().program;
  CHECK_FALSE(fused.launches[0].barrier_before);
  for (size_t i = 1; i < fused.launches.size(); ++i) CHECK(fused.launches[i].barrier_before);
}

TEST_CASE("barriers: each kind of conflict by itself") {
  const auto edge = [](u64 offset, bool written, ModelBuffer buffer = ModelBuffer::None) {
    Arg arg;
    arg.kind = ArgKind::Edge;
    arg.buffer = buffer;
    arg.offset = offset;
    arg.row_bytes = 64;
    arg.written = written;
    return arg;
  };
  const auto state = [](u32 layer, bool written) {
    Arg arg;
    arg.kind = ArgKind::State;
    arg.index = layer;
    arg.written = written;
    return arg;
  };
  const auto waits = [](const Arg& first, const Arg& second) {
    Program program;
    program.request.rows_max = 4;
    program.launches.resize(2);
    program.launches[0].args = {first};
    program.launches[1].args = {second};
    set_barriers(program);
    CHECK_FALSE(program.launches[0].barrier_before);
    return program.launches[1].barrier_before;
  };
  CHECK(waits(edge(0, true), edge(0, false)));
  CHECK(waits(edge(0, false), edge(0, true)));
  CHECK(waits(edge(0, true), edge(0, true)));
  CHECK_FALSE(waits(edge(0, false), edge(0, false)));
  CHECK(waits(edge(0, true), edge(255, false)));  // four rows of 64 bytes reach to 256
  CHECK_FALSE(waits(edge(0, true), edge(256, false)));
  CHECK_FALSE(waits(edge(0, true), edge(0, false, ModelBuffer::Hidden)));
  CHECK(waits(state(1, true), state(1, false)));
  CHECK_FALSE(waits(state(1, true), state(2, false)));
  CHECK_FALSE(waits(state(1, false), state(1, false)));
  CHECK_FALSE(waits(state(0, true), edge(0, false)));
}

TEST_CASE("a barrier covers everything before it, and what it did not cover still counts") {
  Program program;
  program.request.rows_max = 1;
  const auto add = [&program](std::initializer_list<std::pair<u64, bool>> accesses) {
    Launch launch;
    for (const auto& [offset, written] : accesses) {
      Arg arg;
      arg.kind = ArgKind::Edge;
      arg.offset = offset;
      arg.row_bytes = 1;
      arg.written = written;
      launch.args.push_back(arg);
    }
    program.launches.push_back(launch);
  };
  add({{0, true}});
  add({{1, true}});  // nothing to do with the first
  add({{2, true}});
  add({{0, false}, {3, true}});  // reads the first: barrier
  add({{1, false}});             // behind the barrier already
  add({{3, false}});             // written since: barrier
  set_barriers(program);
  std::vector<bool> got;
  for (const Launch& launch : program.launches) got.push_back(launch.barrier_before);
  CHECK(got == std::vector<bool>{false, false, false, true, false, true});
}

TEST_CASE("a plan that counts other launches than its emitters queue is refused") {
  const Compiled good = small();
  const auto refuse = [&good](u32 launches, u32 copies) {
    Compiled bad = good;
    bad.plan.groups[2].launches = launches;
    bad.plan.groups[2].copies = copies;
    bad.plan.digest = bad.buffers.plan_digest = plan_digest(bad.circuit, bad.plan);
    const Result<Program> program = compile_program(bad.circuit, bad.plan, bad.layout, bad.buffers);
    REQUIRE_FALSE(program.ok());
    CHECK(program.error().reason() == Reason::program_emit);
    return program.error().message();
  };
  CHECK(refuse(2, 0) ==
        "emitter 'attend' of group 2 (rule 'attend_quant') queued 1 launches and 0 "
        "copies, the plan says 2 and 0");
  CHECK(refuse(0, 0).find("the plan says 0 and 0") != std::string::npos);
  CHECK(refuse(1, 1).find("the plan says 1 and 1") != std::string::npos);
}

TEST_CASE("emitters that don't exist, don't fit or lack a kernel are refused, all at once") {
  const Compiled good = small();
  Compiled bad = good;
  bad.plan.groups[1].emitter = "none";
  bad.plan.groups[2].emitter = "linear";
  bad.plan.groups[3].kernels.clear();
  bad.plan.digest = bad.buffers.plan_digest = plan_digest(bad.circuit, bad.plan);
  const Result<Program> program = compile_program(bad.circuit, bad.plan, bad.layout, bad.buffers);
  REQUIRE_FALSE(program.ok());
  const std::string messages = fixture::all_messages(program.error());
  CAPTURE(messages);
  CHECK(messages.find("group 1 (rule 'norm_quant_qkv_rope_kv') wants emitter 'none'") !=
        std::string::npos);
  CHECK(messages.find("group 2 (rule 'attend_quant'): attend act_quant; emitter 'linear' takes "
                      "gather_rows? rms_norm? act_quant? linear residual_add?") !=
        std::string::npos);
  CHECK(messages.find("launches kernel 0, but rule 'linear_add' lists 0") != std::string::npos);
}

TEST_CASE("every emitter that a rule names exists") {
  const FusionRules rules = fixture::rules();
  for (const Rule& rule : rules.table().rules) {
    CAPTURE(rule.id);
    CHECK(find_emitter(rule.emitter) != nullptr);
  }
  CHECK(find_emitter("none") == nullptr);
}

TEST_CASE("storage that is not proven compiles to nothing") {
  Compiled bad = small();
  bad.buffers.arena_bytes = 0;
  CHECK_FALSE(compile_program(bad.circuit, bad.plan, bad.layout, bad.buffers).ok());
}

TEST_CASE("the same input gives the same program, and modes that run the same share a digest") {
  const Program program = small().program;
  CHECK(program.digest.size() == 32);
  CHECK(small().program.dump() == program.dump());
  CHECK(small({Mode::Draft, 1, Policy::Fast}).program.digest == program.digest);
  CHECK(small({Mode::Decode, 2, Policy::Fast}).program.digest != program.digest);
  CHECK(small({Mode::Decode, 1, Policy::Reference}).program.digest != program.digest);
}

TEST_CASE("every field that a backend reads is in the digest, and no other") {
  const Program program = small().program;
  REQUIRE(program_digest(program) == program.digest);
  const auto changes = [&program](void (*change)(Program&)) {
    Program other = program;
    change(other);
    return program_digest(other) != program.digest;
  };
  CHECK(changes([](Program& p) { p.request.rows_max = 9; }));
  CHECK(changes([](Program& p) { p.arena_bytes += 256; }));
  CHECK(changes([](Program& p) { p.kv_format = Format::F32; }));
  CHECK(changes([](Program& p) { p.layers = 3; }));
  CHECK(changes([](Program& p) { p.weights[0].tensor += "x"; }));
  CHECK(changes([](Program& p) { p.weights[0].format = Format::Q4_0; }));
  CHECK(changes([](Program& p) { std::swap(p.weights[1], p.weights[2]); }));
  CHECK(changes([](Program& p) { p.launches.pop_back(); }));
  CHECK(changes([](Program& p) { p.launches[1].kernel = "other"; }));
  CHECK(changes([](Program& p) { p.launches[1].grid.unit = 32; }));
  CHECK(changes([](Program& p) { p.launches[1].barrier_before = false; }));
  CHECK(changes([](Program& p) { p.launches[1].args[0].offset = 256; }));
  CHECK(changes([](Program& p) { p.launches[1].args[0].buffer = ModelBuffer::Logits; }));
  CHECK(changes([](Program& p) { p.launches[1].args[0].format = Format::Q8A; }));
  CHECK(changes([](Program& p) { p.launches[1].args[1].index = 0; }));
  CHECK(changes([](Program& p) { p.launches[1].args[2].number = 1e-6; }));
  CHECK(changes([](Program& p) { p.launches[1].args.pop_back(); }));
  CHECK_FALSE(changes([](Program& p) { p.request.mode = Mode::Draft; }));
  CHECK_FALSE(changes([](Program& p) { p.plan_digest = "other"; }));
  CHECK_FALSE(changes([](Program& p) { p.launches[1].group = 7; }));
  CHECK_FALSE(changes([](Program& p) { p.launches[1].args[0].edge = 7; }));
}

TEST_CASE("each stage outlives the one before it") {
  const std::string expected = small().program.dump();
  auto circuit = std::make_unique<Circuit>(llama(small_sizes()));
  auto resolved = std::make_unique<Circuit>(resolve_precision(*circuit, Policy::Fast).value());
  circuit.reset();
  auto rules = std::make_unique<FusionRules>(fixture::rules());
  auto kernels = std::make_unique<KernelCatalogue>(fixture::catalogue());
  auto plan = std::make_unique<FusionPlan>(fuse(*resolved, *rules, *kernels, {}).value());
  rules.reset();
  kernels.reset();
  auto layout = std::make_unique<Layout>(lay_out(*resolved, *plan).value());
  auto buffers = std::make_unique<BufferPlan>(place(*resolved, *plan, *layout).value());
  const Program program = compile_program(*resolved, *plan, *layout, *buffers).value();
  resolved.reset();
  plan.reset();
  layout.reset();
  buffers.reset();
  CHECK(program.dump() == expected);
}

}  // namespace soma
