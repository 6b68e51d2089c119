// Feeds texts to the rule parser, and plans a small circuit with the rules that pass: the plan must
// be proven and compile, or the refusal must be an error.
#include "unit/circuit/llama_fixture.hpp"

namespace soma {

namespace {

struct Fixed {
  Circuit circuit = resolve_precision(fixture::llama(fixture::small_sizes()), Policy::Fast).value();
};

const Fixed& fixed() {
  static const Fixed value;
  return value;
}

// All that the rules name, so that none is left out for want of a kernel.
KernelCatalogue kernels_of(const FusionRules& rules) {
  KernelCatalogue out;
  for (const Rule& rule : rules.table().rules) {
    out.kernels.insert(out.kernels.end(), rule.kernels.begin(), rule.kernels.end());
  }
  return out;
}

void plan(const FusionRules& rules, const PlanRequest& request) {
  const Circuit& circuit = fixed().circuit;
  const Result<FusionPlan> plan = fuse(circuit, rules, kernels_of(rules), request);
  if (!plan.ok()) return;
  const Result<Layout> layout = lay_out(circuit, *plan);
  if (!layout.ok()) __builtin_trap();
  const Result<BufferPlan> buffers = place(circuit, *plan, *layout);
  if (!buffers.ok()) __builtin_trap();
  if (!verify_storage(circuit, *plan, *layout, *buffers).ok()) __builtin_trap();
  const Result<Program> program = compile_program(circuit, *plan, *layout, *buffers);
  if (program.ok() && program->launches.size() != plan->launches()) __builtin_trap();
}

}  // namespace

}  // namespace soma

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  using namespace soma;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<FusionRules> rules = FusionRules::parse(text);
  if (rules.ok()) {
    plan(*rules, {Mode::Decode, 1, Policy::Fast});
    // With the library's fallbacks behind them, the rules have something to win against.
    const Result<FusionRules> both =
        FusionRules::parse(std::string(text) +
                           std::string(embedded_rules().substr(embedded_rules().find("[[rule]]"))));
    if (both.ok()) plan(*both, {Mode::Prefill, 64, Policy::Fast});
  }
  return 0;
}
