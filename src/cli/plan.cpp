// soma plan: in which order the nodes of a graph run, and what the compiler says about it.
#include <cstdio>
#include <memory>

#include "cli/document.hpp"
#include "cli/verbs.hpp"

namespace cli {

namespace {

struct PlanVerb {
  std::string file, format = "tree";
  CompileFlags compile;
  bool explain = false, json = false;
};

void show(const PlanVerb& verb) {
  const Runtime runtime = make_plain_runtime();
  const Plan plan = plan_of(read_document(runtime, verb.file), verb.compile,
                            verb.explain ? Say::Full : Say::Lines);
  if (verb.json || verb.format == "json") {
    const std::string document = blob_text(
        [&](soma_blob** out, soma_error** error) { return soma_plan_document(plan, out, error); });
    std::printf("%s\n", document.c_str());
    return;
  }
  const std::string picture = blob_text([&](soma_blob** out, soma_error** error) {
    return soma_plan_show(plan, verb.format.data(), verb.format.size(), out, error);
  });
  std::printf("%s", picture.c_str());
}

}  // namespace

void add_plan(CLI::App& app) {
  auto verb = std::make_shared<PlanVerb>();
  CLI::App* sub = app.add_subcommand("plan", "Compile a graph of work and show its plan");
  sub->add_option("FILE", verb->file, "a graph document, or a plan document to look at")
      ->required();
  add_compile_flags(*sub, verb->compile, true);
  CLI::Option* format =
      sub->add_option("--format", verb->format, "tree, json (the document), mermaid or dot")
          ->check(CLI::IsMember({"tree", "json", "mermaid", "dot"}));
  sub->add_flag("--explain", verb->explain,
                "with all hints, nodes and edges of what the compiler says on stderr");
  sub->add_flag("--json", verb->json, "the plan document: --format json")->excludes(format);
  sub->callback([verb] { show(*verb); });
}

}  // namespace cli
