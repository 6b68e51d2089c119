// soma generate: a prompt in, text out as it comes, and one line of figures at the end.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/engine.hpp"
#include "cli/verbs.hpp"

namespace cli {

namespace {

struct GenerateVerb {
  EngineFlags engine;
  GenerateFlags generate;
  std::string prompt, system;
  bool has_prompt = false, raw = false, json = false, quiet = false;
};

std::string read_all_of_stdin() {
  std::string text;
  char buffer[4096];
  for (size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;) {
    text.append(buffer, got);
  }
  return text;
}

std::vector<int32_t> prompt_tokens(const GenerateVerb& verb, const Model& model,
                                   const std::string& prompt) {
  if (verb.raw) return tokenize(model, prompt, SOMA_TEXT_SPECIAL | SOMA_TEXT_BEGIN);
  std::vector<const char*> roles, contents;
  std::vector<size_t> role_lengths, content_lengths;
  const auto turn = [&](std::string_view role, std::string_view content) {
    roles.push_back(role.data());
    role_lengths.push_back(role.size());
    contents.push_back(content.data());
    content_lengths.push_back(content.size());
  };
  if (!verb.system.empty()) turn("system", verb.system);
  turn("user", prompt);
  return blob_tokens([&](soma_blob** out, soma_error** error) {
    return soma_model_chat_tokens(model, roles.data(), role_lengths.data(), contents.data(),
                                  content_lengths.data(), roles.size(), out, error);
  });
}

int32_t on_token(void* has_text, int32_t, const char* text, size_t length) {
  clear_progress();
  *static_cast<bool*>(has_text) = true;
  std::fwrite(text, 1, length, stdout);
  // A reader that has gone away ends the generation, not the process.
  return std::fflush(stdout) == 0 ? SOMA_CONTINUE : SOMA_STOP;
}

double rate(double count, double seconds) { return seconds > 0 ? count / seconds : 0; }

struct Figures {
  double load_s, prefill_tok_s, decode_tok_s, peak_bytes, arena_bytes, launches;
};

void print_figures(FILE* to, const Figures& figures) {
  std::fprintf(to,
               "load %.3f s, prefill %.0f tok/s, decode %.0f tok/s, peak %.1f MiB, "
               "arena %.1f KiB, launches %.0f per token\n",
               figures.load_s, figures.prefill_tok_s, figures.decode_tok_s,
               figures.peak_bytes / 1048576, figures.arena_bytes / 1024, figures.launches);
}

void run(const GenerateVerb& verb) {
  const std::string prompt = verb.has_prompt ? verb.prompt : read_all_of_stdin();
  const Options options = generate_options(verb.generate);
  const Engine engine = make_engine(verb.engine, !verb.quiet);
  if (prompt.empty()) throw CLI::RequiredError("-p PROMPT (or text on stdin)");
  const std::vector<int32_t> tokens = prompt_tokens(verb, engine.model, prompt);
  if (tokens.empty()) throw Failure{SOMA_INVALID_ARGUMENT, "the prompt is empty: give one with -p"};
  const Sequence sequence = make_sequence(engine.session);
  bool has_text = false;
  const auto generate = [&](soma_blob** out, soma_error** error) {
    const soma_code code = soma_sequence_generate(
        sequence, tokens.data(), tokens.size(), options, verb.json ? nullptr : on_token, &has_text,
        nullptr, engine.cancel, out, error);
    if (code != SOMA_OK && has_text) std::printf("\n");  // a message gets a line of its own
    return code;
  };
  const Json result = blob_json(generate);
  clear_progress();
  const Json facts = blob_json([&](soma_blob** out, soma_error** error) {
    return soma_session_facts(engine.session, out, error);
  });
  const std::vector<int32_t> generated = result.integers("tokens");
  const Figures figures = {
      engine.load_s,
      rate(static_cast<double>(tokens.size()), result.number("prefill_s")),
      rate(std::max(0.0, static_cast<double>(generated.size()) - 1), result.number("decode_s")),
      static_cast<double>(peak_memory_bytes()),
      facts.number("arena_bytes"),
      facts.number("decode_launches")};
  if (verb.json) {
    Json out = Json::object();
    out.add("text", result.text("text")).add("prompt_tokens", tokens).add("tokens", generated);
    out.add("finish", result.text("finish")).add("load_s", figures.load_s);
    out.add("prefill_tok_s", figures.prefill_tok_s).add("decode_tok_s", figures.decode_tok_s);
    out.add("first_token_s", result.number("first_token_s"));
    out.add("peak_bytes", figures.peak_bytes).add("arena_bytes", figures.arena_bytes);
    out.add("launches_per_token", figures.launches);
    std::printf("%s\n", out.print().c_str());
    if (!verb.quiet) print_figures(stderr, figures);
  } else {
    std::printf("\n");
    if (!verb.quiet) print_figures(stdout, figures);
  }
}

}  // namespace

void add_generate(CLI::App& app) {
  auto verb = std::make_shared<GenerateVerb>();
  CLI::App* sub = app.add_subcommand("generate", "Continue a prompt, streaming the text");
  add_engine_flags(*sub, verb->engine, true);
  CLI::Option* prompt =
      sub->add_option("-p,--prompt", verb->prompt, "the user's turn; without it, stdin is read");
  sub->add_option("--system", verb->system, "the system turn, in place of the family's default");
  sub->add_flag("--raw", verb->raw, "no chat template: the prompt is continued as it stands");
  add_generate_flags(*sub, verb->generate);
  sub->add_flag("--json", verb->json, "print one JSON object instead of the text");
  sub->add_flag("-q,--quiet", verb->quiet, "no progress, and no line of figures after the text");
  sub->callback([verb, prompt] {
    verb->has_prompt = prompt->count() > 0;
    if (!verb->has_prompt && isatty(STDIN_FILENO)) {
      throw CLI::RequiredError("-p PROMPT (or text on stdin)");
    }
    run(*verb);
  });
}

}  // namespace cli
