// A model ready to run, as the verbs generate, logits and bench want it: the options they share,
// and the objects made from them.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/client.hpp"
#include "cli/progress.hpp"

namespace cli {

// What the command line says; empty texts leave the library's defaults.
struct EngineFlags {
  std::string model;
  std::string threads, isa, amx;       // runtime
  std::string load;                    // model
  std::string context, policy, prefill_rows;  // session
};
// Adds MODEL and --threads --isa --amx; with `session` also --load --context --policy
// --prefill-rows.
void add_engine_flags(CLI::App& verb, EngineFlags& flags, bool session);

struct Engine {
  Runtime runtime;
  Cancel cancel;
  Model model;
  Session session;
  double load_s = 0;   // from nothing to ready
};
Runtime make_runtime(const EngineFlags& flags);
Model open_model(const Runtime& runtime, const EngineFlags& flags, const Cancel& cancel);
Engine make_engine(const EngineFlags& flags, bool show_progress);

Sequence make_sequence(const Session& session);
std::vector<int32_t> tokenize(const Model& model, const std::string& text, uint64_t flags);

// The sampling flags of generate: each is set on `options` if it was given.
struct GenerateFlags {
  std::string tokens, temperature, top_k, top_p, min_p, repetition_penalty, penalty_window, seed,
      stream;
  bool ignore_end = false;
};
void add_generate_flags(CLI::App& verb, GenerateFlags& flags);
Options generate_options(const GenerateFlags& flags);

}  // namespace cli
