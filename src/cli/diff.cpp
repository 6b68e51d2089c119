// soma diff: what became of one plan in another.
#include <cstdio>
#include <memory>

#include "cli/document.hpp"
#include "cli/verbs.hpp"

namespace cli {

namespace {

struct DiffVerb {
  std::string before, after;
  CompileFlags compile;
  bool json = false, exit_code = false;
};

// Flags are for those of the two that are graphs.
Plan plan_from(const Runtime& runtime, const std::string& path, const CompileFlags& flags) {
  Document document = read_document(runtime, path);
  const bool is_graph = document.graph != nullptr;
  return plan_of(std::move(document), is_graph ? flags : CompileFlags(), Say::Lines);
}

std::string shown(JsonView text) { return printable(text.text()); }

void print_fields(const std::string& whose, JsonView fields) {
  for (JsonView field = fields.first(); field; field = field.next()) {
    std::printf("%s %s: %s -> %s\n", whose.c_str(), field.at("field").text().c_str(),
                printable(field.at("before").print()).c_str(),
                printable(field.at("after").print()).c_str());
  }
}

void print_placed(const char* what, JsonView nodes) {
  for (JsonView node = nodes.first(); node; node = node.next()) {
    std::printf("%s %s: %s\n", what, shown(node.at("id")).c_str(),
                shown(node.at("place")).c_str());
  }
}

void print_lines(JsonView diff) {
  print_fields("plan", diff.at("plan"));
  print_placed("removed", diff.at("removed"));
  print_placed("added", diff.at("added"));
  for (JsonView node = diff.at("moved").first(); node; node = node.next()) {
    std::printf("moved %s: %s -> %s\n", shown(node.at("id")).c_str(),
                shown(node.at("before")).c_str(), shown(node.at("after")).c_str());
  }
  for (JsonView node = diff.at("changed").first(); node; node = node.next()) {
    print_fields("changed " + shown(node.at("id")), node.at("fields"));
  }
}

bool is_empty(JsonView diff) {
  for (const char* part : {"plan", "removed", "added", "moved", "changed"}) {
    if (diff.at(part).first()) return false;
  }
  return true;
}

void compare(const DiffVerb& verb) {
  const Runtime runtime = make_plain_runtime();
  const Plan before = plan_from(runtime, verb.before, verb.compile);
  const Plan after = plan_from(runtime, verb.after, verb.compile);
  const std::string json = blob_text([&](soma_blob** out, soma_error** error) {
    return soma_plan_diff(before, after, out, error);
  });
  const Json diff = Json::parse(json);
  if (verb.json) {
    std::printf("%s\n", json.c_str());
  } else {
    print_lines(diff.view());
  }
  if (verb.exit_code && !is_empty(diff.view())) throw Leave{kFailed};
}

}  // namespace

void add_diff(CLI::App& app) {
  auto verb = std::make_shared<DiffVerb>();
  CLI::App* sub = app.add_subcommand("diff", "Say what distinguishes two plans; equal: nothing");
  sub->add_option("BEFORE", verb->before, "a plan document, or a graph document to compile")
      ->required();
  sub->add_option("AFTER", verb->after, "another")->required();
  add_compile_flags(*sub, verb->compile, true);
  sub->add_flag("--json", verb->json,
                "one JSON object: \"plan\", \"removed\", \"added\", \"moved\", \"changed\"");
  sub->add_flag("--exit-code", verb->exit_code,
                "end with 1 if the two differ, as if that were a failure");
  sub->callback([verb] { compare(*verb); });
}

}  // namespace cli
