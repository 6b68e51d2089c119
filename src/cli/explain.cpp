// soma explain: each station of the way from a model file to a launch program, printed.
#include <cstdio>
#include <memory>

#include "cli/engine.hpp"
#include "cli/verbs.hpp"

namespace cli {

namespace {

struct ExplainVerb {
  EngineFlags engine;
  std::string stage = "all", mode, rows, policy, why;
};

Options plan_options(const ExplainVerb& verb) {
  Options options = make_options("plan");
  if (!verb.mode.empty()) set(options, "mode", verb.mode);
  if (!verb.rows.empty()) set(options, "rows", verb.rows);
  if (!verb.policy.empty()) set(options, "policy", verb.policy);
  return options;
}

void print(const std::string& text) { std::printf("%s", text.c_str()); }

void run(const ExplainVerb& verb) {
  const Runtime runtime = make_runtime(verb.engine);
  const Model model = open_model(runtime, verb.engine, Cancel());
  Circuit circuit;
  check([&](soma_error** error) { return soma_circuit_create(model, circuit.out(), error); });
  const Options options = plan_options(verb);
  if (!verb.why.empty()) {
    print(blob_text([&](soma_blob** out, soma_error** error) {
      return soma_circuit_explain(circuit, options, verb.why.data(), verb.why.size(), out, error);
    }));
    return;
  }
  const bool all = verb.stage == "all";
  if (all || verb.stage == "circuit") {
    print(blob_text([&](soma_blob** out, soma_error** error) {
      return soma_circuit_dump(circuit, out, error);
    }));
  }
  if (verb.stage == "circuit") return;
  FusionPlan plan;
  check([&](soma_error** error) {
    return soma_fusion_plan_create(circuit, options, plan.out(), error);
  });
  if (all || verb.stage == "fusion") {
    print(blob_text([&](soma_blob** out, soma_error** error) {
      return soma_fusion_plan_dump(plan, out, error);
    }));
  }
  if (verb.stage == "fusion") return;
  BufferPlan buffers;
  check([&](soma_error** error) { return soma_buffer_plan_create(plan, buffers.out(), error); });
  if (all || verb.stage == "buffers") {
    print(blob_text([&](soma_blob** out, soma_error** error) {
      return soma_buffer_plan_dump(buffers, out, error);
    }));
    print(blob_text([&](soma_blob** out, soma_error** error) {
      return soma_buffer_plan_picture(buffers, out, error);
    }));
  }
  if (verb.stage == "buffers") return;
  Program program;
  check([&](soma_error** error) { return soma_program_create(buffers, program.out(), error); });
  print(blob_text([&](soma_blob** out, soma_error** error) {
    return soma_program_dump(program, out, error);
  }));
}

}  // namespace

void add_explain(CLI::App& app) {
  auto verb = std::make_shared<ExplainVerb>();
  CLI::App* sub = app.add_subcommand("explain", "Print how a model becomes a launch program");
  add_engine_flags(*sub, verb->engine, false);
  sub->add_option("--stage", verb->stage, "circuit, fusion, buffers, program, or all")
      ->check(CLI::IsMember({"circuit", "fusion", "buffers", "program", "all"}));
  sub->add_option("--mode", verb->mode,
                  "decode, multi_seq, verify, verify_batch, draft or prefill");
  sub->add_option("--rows", verb->rows, "how many rows a step may have");
  sub->add_option("--policy", verb->policy, "fast or reference");
  sub->add_option("--why", verb->why, "a node's id: what became of the rules tried on it");
  sub->callback([verb] { run(*verb); });
}

}  // namespace cli
