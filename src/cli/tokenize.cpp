// soma tokenize: a text's token ids.
#include <cstdio>
#include <memory>

#include "cli/engine.hpp"
#include "cli/verbs.hpp"

namespace cli {

namespace {

struct TokenizeVerb {
  EngineFlags engine;
  std::string text;
  bool json = false, plain = false;
};

void run(const TokenizeVerb& verb) {
  const Runtime runtime = make_runtime(verb.engine);
  const Model model = open_model(runtime, verb.engine, Cancel());
  const std::vector<int32_t> tokens =
      tokenize(model, verb.text, verb.plain ? 0 : uint64_t{SOMA_TEXT_SPECIAL});
  if (verb.json) {
    Json out = Json::object();
    out.add("tokens", tokens);
    std::printf("%s\n", out.print().c_str());
    return;
  }
  for (const int32_t token : tokens) {
    const std::string piece = blob_text([&](soma_blob** out, soma_error** error) {
      return soma_model_piece(model, token, SOMA_TEXT_SPECIAL, out, error);
    });
    std::printf("%7d  %s\n", token, piece.c_str());
  }
}

}  // namespace

void add_tokenize(CLI::App& app) {
  auto verb = std::make_shared<TokenizeVerb>();
  CLI::App* sub = app.add_subcommand("tokenize", "Show the tokens of a text");
  add_engine_flags(*sub, verb->engine, false);
  sub->add_option("TEXT", verb->text, "the text")->required();
  sub->add_flag("--plain", verb->plain, "the text of control tokens is ordinary text");
  sub->add_flag("--json", verb->json, "print {\"tokens\": […]}");
  sub->callback([verb] { run(*verb); });
}

}  // namespace cli
