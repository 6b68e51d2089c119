// soma_plan_*, soma_graph_check: in which order a graph's nodes run, or why in none.
#include "abi/plan.hpp"

#include <set>

#include "abi/blob.hpp"
#include "abi/compile.hpp"
#include "abi/guard.hpp"
#include "abi/text_argument.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "compiler/measured.hpp"
#include "plan/binary.hpp"
#include "plan/diff.hpp"
#include "plan/picture.hpp"
#include "run/builtins.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

std::vector<std::string_view> models_of(const Plan& plan) {
  std::vector<std::string_view> models;
  std::set<std::string_view> known;
  for (const PlanNode& node : plan.nodes) {
    if (node.kind != NodeKind::Program) continue;
    if (known.insert(node.model()).second) models.push_back(node.model());
  }
  return models;
}

std::string facts(const Plan& plan) {
  JsonWriter json;
  json.object()
      .field("digest", plan.digest())
      .field("graph", plan.graph_digest())
      .field("mode", plan_mode_name(plan.mode))
      .field("nodes", plan.nodes.size())
      .field("items", plan.items.size())
      .key("models")
      .array();
  for (const std::string_view model : models_of(plan)) json.value(model);
  json.close().close();
  return std::move(json).take();
}

}  // namespace

Result<CompileOptions> soma::wall::compile_options(const soma_options* options) {
  SOMA_ASSIGN(const Settings settings, Settings::of(options, OptionKind::Compile));
  CompileOptions out;
  out.mode = plan_mode_by_name(settings.text("mode")).value_or(PlanMode::Inference);
  if (const i64 chunk = settings.integer("chunk"); chunk >= 0) out.chunk_size = chunk;
  out.parallelize_dag = settings.truth("parallelize_dag");
  out.rules = builtin_rules();
  return out;
}

Result<Ref<soma_plan>> soma::wall::compile_graph(const soma_graph& graph,
                                                 const CompileOptions& options) {
  Compilation made = compile(graph.graph, options);
  if (!made.plan) return made.diagnostics.as_error();
  return make<soma_plan>(graph.runtime, std::move(*made.plan), std::move(made.diagnostics));
}

soma_code soma_plan_compile(const soma_graph* graph, const soma_options* options, soma_plan** out,
                            soma_error** error) noexcept {
  return produce(graph, out, error, [&]() -> Result<Ref<soma_plan>> {
    SOMA_ASSIGN(const CompileOptions wanted, compile_options(options));
    return compile_graph(*graph, wanted);
  });
}

soma_code soma_graph_check(const soma_graph* graph, const soma_options* options, soma_blob** out,
                           soma_error** error) noexcept {
  return produce(graph, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_ASSIGN(const CompileOptions wanted, compile_options(options));
    return make_blob(graph->runtime, compile(graph->graph, wanted).diagnostics.json());
  });
}

soma_code soma_plan_diagnostics(const soma_plan* plan, soma_blob** out,
                                soma_error** error) noexcept {
  return produce(plan, out, error, [&]() -> Result<Ref<soma_blob>> {
    return make_blob(plan->runtime, plan->diagnostics.json());
  });
}

// What is no text in UTF-8 may be the binary form, which says how long it is.
soma_code soma_plan_parse(const soma_runtime* runtime, const char* document,
                          size_t document_length, soma_plan** out, soma_error** error) noexcept {
  return produce(runtime, out, error, [&]() -> Result<Ref<soma_plan>> {
    SOMA_TRY(check_array("document", document, document_length == SOMA_NUL ? 0 : document_length,
                         sizeof *document));
    std::string_view bytes;
    if (document && document_length != SOMA_NUL) bytes = {document, document_length};
    if (!is_plan_binary(bytes)) {
      SOMA_ASSIGN(bytes, text_argument("document", document, document_length));
    }
    SOMA_ASSIGN(Plan plan, parse_plan(bytes));
    return make<soma_plan>(runtime, std::move(plan), Diagnostics());
  });
}

soma_code soma_plan_binary(const soma_plan* plan, soma_blob** out, soma_error** error) noexcept {
  return produce(plan, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_ASSIGN(std::string bytes, plan_binary(plan->plan));
    return make_blob(plan->runtime, std::move(bytes));
  });
}

soma_code soma_plan_document(const soma_plan* plan, soma_blob** out, soma_error** error) noexcept {
  return produce(plan, out, error, [&]() -> Result<Ref<soma_blob>> {
    return make_blob(plan->runtime, plan->plan.document());
  });
}

soma_code soma_plan_facts(const soma_plan* plan, soma_blob** out, soma_error** error) noexcept {
  return produce(plan, out, error, [&]() -> Result<Ref<soma_blob>> {
    return make_blob(plan->runtime, facts(plan->plan));
  });
}

soma_code soma_plan_show(const soma_plan* plan, const char* format, size_t format_length,
                         soma_blob** out, soma_error** error) noexcept {
  return produce(plan, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_ASSIGN(const std::string_view name, text_argument("format", format, format_length));
    if (name == "tree") return make_blob(plan->runtime, plan->plan.display());
    if (name == "mermaid") return make_blob(plan->runtime, plan->plan.mermaid());
    if (name == "dot") return make_blob(plan->runtime, plan->plan.dot());
    if (name == "svg") return make_blob(plan->runtime, plan_svg(plan->plan));
    if (name == "html") return make_blob(plan->runtime, plan_html(plan->plan));
    return fail(Reason::argument_range, "format is tree, mermaid, dot, svg or html, got {}",
                quoted(name));
  });
}

soma_code soma_plan_estimate(const soma_plan* plan, const char* measured, size_t measured_length,
                             uint64_t threads, soma_blob** out, soma_error** error) noexcept {
  return produce(plan, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_ASSIGN(const std::string_view text,
                text_argument("measured", measured, measured_length));
    SOMA_ASSIGN(const std::vector<MeasuredTime> times, parse_measured(text));
    const PlanEstimate found = estimate(plan->plan, times, threads);
    return make_blob(plan->runtime, estimate_json(plan->plan, found, threads));
  });
}

soma_code soma_plan_diff(const soma_plan* before, const soma_plan* after, soma_blob** out,
                         soma_error** error) noexcept {
  return produce(before, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_TRY(check(after));
    return make_blob(before->runtime, diff(before->plan, after->plan).json());
  });
}

void soma_plan_retain(const soma_plan* plan) noexcept { retain(plan); }
void soma_plan_release(const soma_plan* plan) noexcept { release(plan); }
