// From flags to a session.
#include "cli/engine.hpp"

namespace cli {

namespace {

void set_if(const Options& options, const char* key, const std::string& value) {
  if (!value.empty()) set(options, key, value);
}

}  // namespace

void add_engine_flags(CLI::App& verb, EngineFlags& flags, bool session) {
  verb.add_option("MODEL", flags.model, "a GGUF file")->required();
  verb.add_option("--threads", flags.threads, "threads of the team; 0: as many as processors");
  verb.add_option("--isa", flags.isa, "kernel set: auto, scalar, avx2, avx512_vnni, amx_int8");
  verb.add_option("--amx", flags.amx, "auto, or never: do not ask the system for tile registers");
  if (!session) return;
  verb.add_option("--load", flags.load, "map the file, or read it into memory");
  verb.add_option("--context", flags.context, "positions a sequence may hold");
  verb.add_option("--policy", flags.policy, "fast: 8-bit activations; reference: 32-bit floats");
  verb.add_option("--prefill-rows", flags.prefill_rows, "most tokens in one step of the prompt");
}

Runtime make_runtime(const EngineFlags& flags) {
  const Options options = make_options("runtime");
  set_if(options, "threads", flags.threads);
  set_if(options, "isa", flags.isa);
  set_if(options, "amx", flags.amx);
  Runtime runtime;
  check([&](soma_error** error) {
    return soma_runtime_create(SOMA_HEADER_ABI, options, runtime.out(), error);
  });
  return runtime;
}

Model open_model(const Runtime& runtime, const EngineFlags& flags, const Cancel& cancel) {
  const Options options = make_options("model");
  set_if(options, "load", flags.load);
  Model model;
  check([&](soma_error** error) {
    return soma_model_open(runtime, flags.model.data(), flags.model.size(), options, cancel,
                           model.out(), error);
  });
  return model;
}

Engine make_engine(const EngineFlags& flags, bool show_progress) {
  const double start = seconds_now();
  Engine engine;
  engine.runtime = make_runtime(flags);
  engine.cancel = make_cancel(engine.runtime, show_progress);
  engine.model = open_model(engine.runtime, flags, engine.cancel);
  const Options options = make_options("session");
  set_if(options, "context", flags.context);
  set_if(options, "policy", flags.policy);
  set_if(options, "prefill_rows", flags.prefill_rows);
  set(options, "sequences", "1");
  check([&](soma_error** error) {
    return soma_session_create(engine.model, options, engine.cancel, engine.session.out(), error);
  });
  clear_progress();
  engine.load_s = seconds_now() - start;
  return engine;
}

Sequence make_sequence(const Session& session) {
  Sequence sequence;
  check([&](soma_error** error) { return soma_sequence_create(session, sequence.out(), error); });
  return sequence;
}

std::vector<int32_t> tokenize(const Model& model, const std::string& text, uint64_t flags) {
  return blob_tokens([&](soma_blob** out, soma_error** error) {
    return soma_model_tokenize(model, text.data(), text.size(), flags, out, error);
  });
}

void add_generate_flags(CLI::App& verb, GenerateFlags& flags) {
  verb.add_option("-n,--tokens", flags.tokens, "most tokens to generate");
  verb.add_option("--temp,--temperature", flags.temperature, "0: always the likeliest token");
  verb.add_option("--top-k", flags.top_k, "sample from the k likeliest; 0: all");
  verb.add_option("--top-p", flags.top_p, "sample from the likeliest that make up p");
  verb.add_option("--min-p", flags.min_p,
                  "only tokens at least min-p times as likely as the first");
  verb.add_option("--repetition-penalty", flags.repetition_penalty, "1: none");
  verb.add_option("--penalty-window", flags.penalty_window, "how many last tokens are penalised");
  verb.add_option("--seed", flags.seed, "of the random numbers");
  verb.add_option("--stream", flags.stream, "another series of random numbers from the same seed");
  verb.add_flag("--ignore-eos", flags.ignore_end, "go on after an end token");
}

Options generate_options(const GenerateFlags& flags) {
  Options options = make_options("generate");
  set_if(options, "tokens", flags.tokens);
  set_if(options, "temperature", flags.temperature);
  set_if(options, "top_k", flags.top_k);
  set_if(options, "top_p", flags.top_p);
  set_if(options, "min_p", flags.min_p);
  set_if(options, "repetition_penalty", flags.repetition_penalty);
  set_if(options, "penalty_window", flags.penalty_window);
  set_if(options, "seed", flags.seed);
  set_if(options, "stream", flags.stream);
  if (flags.ignore_end) set(options, "ignore_end", "true");
  return options;
}

}  // namespace cli
