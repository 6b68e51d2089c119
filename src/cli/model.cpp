// soma model: what a file holds, and whether it would run.
#include <cstdio>
#include <memory>

#include "cli/engine.hpp"
#include "cli/verbs.hpp"

namespace cli {

namespace {

struct ModelVerb {
  EngineFlags engine;
  bool json = false, tensors = false;
};

void show(const ModelVerb& verb) {
  const Runtime runtime = make_runtime(verb.engine);
  const Model model = open_model(runtime, verb.engine, Cancel());
  const std::string facts = blob_text([&](soma_blob** out, soma_error** error) {
    return verb.tensors ? soma_model_tensors(model, out, error)
                        : soma_model_facts(model, out, error);
  });
  std::printf("%s\n", verb.json ? facts.c_str() : indented(facts).c_str());
}

// The failure, which goes on its way, for who reads stdout.
Model open_or_say(const Runtime& runtime, const ModelVerb& verb) {
  try {
    return open_model(runtime, verb.engine, Cancel());
  } catch (const Failure& failure) {
    Json out = Json::object();
    out.add("ok", false).add("reason", failure.reason).add("message", failure.text);
    if (verb.json) std::printf("%s\n", out.print().c_str());
    throw;
  }
}

void check_model(const ModelVerb& verb) {
  const Runtime runtime = make_runtime(verb.engine);
  const Model model = open_or_say(runtime, verb);
  const Json facts = blob_json(
      [&](soma_blob** out, soma_error** error) { return soma_model_facts(model, out, error); });
  if (verb.json) {
    Json out = Json::object();
    out.add("ok", true).add("architecture", facts.text("architecture"));
    out.add("name", facts.text("name"));
    std::printf("%s\n", out.print().c_str());
  } else {
    std::printf("%s: fine (%s)\n", verb.engine.model.c_str(), facts.text("architecture").c_str());
  }
}

}  // namespace

void add_model(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("model", "Look at a model file");
  sub->require_subcommand(1);
  auto shown = std::make_shared<ModelVerb>();
  CLI::App* show_verb = sub->add_subcommand("show", "Print what the file says of itself");
  add_engine_flags(*show_verb, shown->engine, false);
  show_verb->add_flag("--tensors", shown->tensors, "the tensors instead of the metadata");
  show_verb->add_flag("--json", shown->json, "on one line");
  show_verb->callback([shown] { show(*shown); });
  auto checked = std::make_shared<ModelVerb>();
  CLI::App* check_verb =
      sub->add_subcommand("check", "Make every check that generate makes before packing");
  add_engine_flags(*check_verb, checked->engine, false);
  check_verb->add_flag("--json", checked->json, "print one JSON object");
  check_verb->callback([checked] { check_model(*checked); });
}

}  // namespace cli
