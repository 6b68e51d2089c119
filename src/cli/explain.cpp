// soma explain: each station of the way from a model file to a launch program, or from a graph
// document to a plan, printed.
#include <charconv>
#include <cstdio>
#include <memory>

#include "cli/cache.hpp"
#include "cli/document.hpp"
#include "cli/engine.hpp"
#include "cli/verbs.hpp"

namespace cli {

namespace {

struct ExplainVerb {
  EngineFlags engine;
  CompileFlags compile;              // of graphs; the mode is the same flag
  std::string stage = "all", mode, rows, policy, why, measured, cache;
  bool json = false;
};

// ---- Graphs

// What concerns files of the other kind is wrong usage, not something to pass over.
void refuse_if(bool is_given, const char* flag, const char* whose) {
  if (is_given) throw CLI::ValidationError(flag, std::string("this is for ") + whose);
}

std::string diagnostics_of(const Document& document, const CompileFlags& flags) {
  if (document.plan != nullptr) return "{\"diagnostics\":[],\"left_out\":0}";
  const Options options = compile_options(flags);
  return blob_text([&](soma_blob** out, soma_error** error) {
    return soma_graph_check(document.graph, options, out, error);
  });
}

std::string plan_text(const Plan& plan, bool json) {
  return blob_text([&](soma_blob** out, soma_error** error) {
    return json ? soma_plan_document(plan, out, error)
                : soma_plan_show(plan, "tree", SOMA_NUL, out, error);
  });
}

std::string threads_text(const std::string& threads) {
  if (threads == "0") return "as many threads as it can use";
  return threads + (threads == "1" ? " thread" : " threads");
}

void print_cost(const std::string& json) {
  const Json cost = Json::parse(json);
  const bool is_known = cost.view().at("total_us").print() != "null";
  const auto line = [&](const char* what, const char* key, const std::string& more) {
    std::printf("%-14s %s%s us%s\n", what, is_known ? "" : "at least ",
                cost.view().at(key).print().c_str(), more.c_str());
  };
  line("total", "known_us", " with " + threads_text(cost.view().at("threads").print()));
  line("critical path", "critical_path_us", "");
  line("work", "work_us", "");
  for (JsonView node = cost.view().at("unknown").first(); node; node = node.next()) {
    std::printf("unknown        %s\n", printable(node.text()).c_str());
  }
}

std::string measured_by(const Runtime& runtime, const std::string& folder) {
  const Cache cache = open_existing_cache(runtime, folder);
  return blob_text([&](soma_blob** out, soma_error** error) {
    return soma_cache_measured(cache, out, error);
  });
}

// How long a plan takes, from what its nodes declare and what a file or a cache says of them.
void explain_cost(const Runtime& runtime, const ExplainVerb& verb, const Plan& plan) {
  std::string measured = verb.measured.empty() ? "" : read_text(verb.measured);
  if (!verb.cache.empty()) measured = measured_by(runtime, verb.cache);
  uint64_t threads = 0;
  const std::string& said = verb.engine.threads;
  const auto [end, problem] = std::from_chars(said.data(), said.data() + said.size(), threads);
  if (!said.empty() && (problem != std::errc() || end != said.data() + said.size())) {
    throw CLI::ValidationError("--threads", "this is no number of threads");
  }
  const std::string json = blob_text([&](soma_blob** out, soma_error** error) {
    return soma_plan_estimate(plan, measured.data(), measured.size(), threads, out, error);
  });
  verb.json ? static_cast<void>(std::printf("%s\n", json.c_str())) : print_cost(json);
}

// Whoever asks what the compiler says has got what he wanted, also if that is why there is no plan.
void explain_graph(const ExplainVerb& verb) {
  const bool wants_model = verb.stage == "circuit" || verb.stage == "fusion" ||
                           verb.stage == "buffers" || verb.stage == "program";
  refuse_if(wants_model, "--stage", "models; of a graph there are diagnostics, plan and cost");
  refuse_if(!verb.rows.empty(), "--rows", "models");
  refuse_if(!verb.policy.empty(), "--policy", "models");
  refuse_if(!verb.why.empty(), "--why", "models");
  CompileFlags flags = verb.compile;
  flags.mode = verb.mode;
  const Runtime runtime = make_plain_runtime();
  Document document = read_document(runtime, verb.engine.model);
  std::string diagnostics = diagnostics_of(document, flags);
  const bool all = verb.stage == "all";
  if (verb.stage == "diagnostics" || (all && !verb.json)) {
    std::printf("%s", verb.json ? (diagnostics + "\n").c_str()
                                : diagnostic_lines(diagnostics, "", Say::Full).c_str());
  }
  if (verb.stage == "diagnostics") return;
  if (verb.stage == "cost") {
    return explain_cost(runtime, verb, plan_of(std::move(document), flags, Say::Lines));
  }
  const Say how = all && !verb.json ? Say::Nothing : Say::Lines;  // "all" has said it
  const std::string text = plan_text(plan_of(std::move(document), flags, how), verb.json);
  if (all && verb.json) {
    diagnostics.pop_back();  // the plan becomes one more member
    std::printf("%s,\"plan\":%s}\n", diagnostics.c_str(), text.c_str());
  } else {
    std::printf("%s%s", text.c_str(), verb.json ? "\n" : "");
  }
}

// ---- Models

Options plan_options(const ExplainVerb& verb) {
  Options options = make_options("plan");
  if (!verb.mode.empty()) set(options, "mode", verb.mode);
  if (!verb.rows.empty()) set(options, "rows", verb.rows);
  if (!verb.policy.empty()) set(options, "policy", verb.policy);
  return options;
}

void print(const std::string& text) { std::printf("%s", text.c_str()); }

void explain_model(const ExplainVerb& verb) {
  refuse_if(verb.stage == "diagnostics" || verb.stage == "plan" || verb.stage == "cost", "--stage",
            "graphs; of a model there are circuit, fusion, buffers and program");
  refuse_if(!verb.compile.chunk.empty(), "--chunk", "graphs");
  refuse_if(verb.compile.parallelize_dag, "--parallelize-dag", "graphs");
  refuse_if(verb.json, "--json", "graphs");
  refuse_if(!verb.measured.empty(), "--measured", "graphs");
  refuse_if(!verb.cache.empty(), "--cache", "graphs");
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
  CLI::App* sub = app.add_subcommand(
      "explain", "Print how a model becomes a launch program, or a graph a plan");
  add_engine_flags(*sub, verb->engine, false);
  sub->get_option("MODEL")->description("a GGUF file, or a graph document");
  sub->add_option("--stage", verb->stage,
                  "of a model: circuit, fusion, buffers, program; of a graph: diagnostics, plan, "
                  "cost; or all, which is all but cost")
      ->check(CLI::IsMember({"circuit", "fusion", "buffers", "program", "diagnostics", "plan",
                             "cost", "all"}));
  sub->add_option("--mode", verb->mode,
                  "of a model: decode, multi_seq, verify, verify_batch, draft or prefill; "
                  "of a graph: inference, differentiable or no_cache");
  sub->add_option("--rows", verb->rows, "how many rows a step may have");
  sub->add_option("--policy", verb->policy, "fast or reference");
  sub->add_option("--why", verb->why, "a node's id: what became of the rules tried on it");
  sub->add_option("--measured", verb->measured,
                  "for cost: a file of JSON, {\"nodes\": {id: us}, \"ops\": {name: us}}");
  sub->add_option("--cache", verb->cache,
                  "for cost: a folder that runs kept values in, which says how long they took")
      ->excludes("--measured");
  add_compile_flags(*sub, verb->compile, false);
  sub->add_flag("--json", verb->json, "of a graph: one JSON object");
  sub->callback([verb] {
    looks_like_document(verb->engine.model) ? explain_graph(*verb) : explain_model(*verb);
  });
}

}  // namespace cli
