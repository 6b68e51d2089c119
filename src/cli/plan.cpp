// soma plan: compiles a graph document and shows the plan.
#include <errno.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "cli/document.hpp"
#include "cli/verbs.hpp"

namespace cli {

namespace {

struct PlanVerb {
  std::string file, format = "tree", output;
  CompileFlags compile;
  bool explain = false, json = false;
};

std::string shown(const Plan& plan, const std::string& format) {
  if (format == "json") {
    return blob_text([&](soma_blob** out, soma_error** error) {
      return soma_plan_document(plan, out, error);
    }) + "\n";
  }
  if (format == "binary") {
    return blob_text([&](soma_blob** out, soma_error** error) {
      return soma_plan_binary(plan, out, error);
    });
  }
  return blob_text([&](soma_blob** out, soma_error** error) {
    return soma_plan_show(plan, format.data(), format.size(), out, error);
  });
}

// A file that could not be written whole is a failure, also if only its end was refused.
void write_file(const std::string& path, const std::string& content) {
  File file(std::fopen(path.c_str(), "wb"));
  const bool is_written = file && std::fwrite(content.data(), 1, content.size(), file.get()) ==
                                      content.size();
  if (!is_written || std::fclose(file.release()) != 0) {
    throw Failure{SOMA_UNAVAILABLE, path + " can't be written: " + std::strerror(errno)};
  }
}

void show(const PlanVerb& verb) {
  if (verb.format == "binary" && verb.output.empty() && isatty(STDOUT_FILENO) != 0) {
    throw CLI::ValidationError("--format", "binary is no text for a terminal: say -o FILE");
  }
  const Runtime runtime = make_plain_runtime();
  const Plan plan = plan_of(read_document(runtime, verb.file), verb.compile,
                            verb.explain ? Say::Full : Say::Lines);
  const std::string content = shown(plan, verb.json ? "json" : verb.format);
  if (verb.output.empty()) {
    std::fwrite(content.data(), 1, content.size(), stdout);
  } else {
    write_file(verb.output, content);
  }
}

}  // namespace

void add_plan(CLI::App& app) {
  auto verb = std::make_shared<PlanVerb>();
  CLI::App* sub = app.add_subcommand("plan", "Compile a graph of work and show its plan");
  sub->add_option("FILE", verb->file, "a graph document, or a plan document to look at")
      ->required();
  add_compile_flags(*sub, verb->compile, true);
  CLI::Option* format =
      sub->add_option("--format", verb->format,
                      "tree, json (the document), binary (the same, compressed), mermaid, dot, svg "
                      "or html (a page that needs nothing else)")
          ->check(CLI::IsMember({"tree", "json", "binary", "mermaid", "dot", "svg", "html"}));
  sub->add_option("-o,--output", verb->output, "a file to write it to, instead of stdout");
  sub->add_flag("--explain", verb->explain,
                "with all hints, nodes and edges of what the compiler says on stderr");
  sub->add_flag("--json", verb->json, "the plan document: --format json")->excludes(format);
  sub->callback([verb] { show(*verb); });
}

}  // namespace cli
