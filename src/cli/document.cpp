// From a file to a graph or a plan.
#include "cli/document.hpp"

#include <errno.h>

#include <cstring>

#include "cli/progress.hpp"

namespace cli {

namespace {

[[noreturn]] void throw_unreadable(const std::string& path, int cause) {
  const bool is_missing = cause == ENOENT;
  const std::string reason = is_missing ? "file.not_found" : "file.io";
  throw Failure{is_missing ? SOMA_NOT_FOUND : SOMA_UNAVAILABLE,
                path + " can't be read: " + std::strerror(cause) + " [" + reason + "]", reason};
}

// As the binary form of plans does; no JSON does.
bool is_binary_plan(const std::string& text) { return text.starts_with("\x89plan"); }

// Strict reading comes later, and says more: here what is no document may pass for a graph.
bool is_plan(const Runtime& runtime, const std::string& text) {
  Value whole, kind;
  if (is_binary_plan(text)) return true;
  return soma_value_parse(runtime, text.data(), text.size(), whole.out(), nullptr) == SOMA_OK &&
         soma_value_get(whole, "soma", SOMA_NUL, kind.out(), nullptr) == SOMA_OK &&
         std::string_view(static_cast<const char*>(soma_value_data(kind))) == "plan";
}

std::string listed(JsonView array) {
  std::string out;
  for (JsonView one = array.first(); one; one = one.next()) {
    if (!out.empty()) out += ", ";
    out += one.text().empty() ? one.at("from").text() + " -> " + one.at("to").text() : one.text();
  }
  return printable(out);
}

void add_line(std::string& out, const char* name, const std::string& content) {
  if (!content.empty()) out += std::string("  ") + name + ": " + content + "\n";
}

size_t count_errors(const Json& diagnostics) {
  size_t count = 0;
  for (JsonView one = diagnostics.view().at("diagnostics").first(); one; one = one.next()) {
    if (one.at("level").text() == "error") ++count;
  }
  return count;
}

void say(const Document& document, const std::string& diagnostics, Say how) {
  if (how == Say::Nothing) return;
  clear_progress();
  std::fputs(diagnostic_lines(diagnostics, document.path + ": ", how).c_str(), stderr);
}

// Says everything that is wrong with a graph which has no plan, and fails.
[[noreturn]] void refuse(const Document& document, const Options& options, Say how,
                         soma_code code, soma_error* error) {
  const std::string json = blob_text([&](soma_blob** out, soma_error** problem) {
    return soma_graph_check(document.graph, options, out, problem);
  });
  const size_t errors = count_errors(Json::parse(json));
  if (errors == 0) throw_failure(code, error);  // it is not the graph's fault
  soma_error_release(error);
  say(document, json, how);
  throw Failure{code, document.path + ": no plan, because of " + std::to_string(errors) +
                          (errors == 1 ? " error" : " errors")};
}

}  // namespace

void add_compile_flags(CLI::App& verb, CompileFlags& flags, bool mode) {
  if (mode) verb.add_option("--mode", flags.mode, "inference, differentiable or no_cache");
  verb.add_option("--chunk", flags.chunk,
                  "rows of a chunk in streams of nodes with a stream mode; without: no streams");
  verb.add_flag("--parallelize-dag", flags.parallelize_dag,
                "parts that are not series-parallel run by counting instead of in sequence");
}

Options compile_options(const CompileFlags& flags) {
  Options options = make_options("compile");
  if (!flags.mode.empty()) set(options, "mode", flags.mode);
  if (!flags.chunk.empty()) set(options, "chunk", flags.chunk);
  if (flags.parallelize_dag) set(options, "parallelize_dag", "true");
  return options;
}

Runtime make_plain_runtime(const std::string& threads) {
  const Options options = make_options("runtime");
  if (!threads.empty()) set(options, "threads", threads);
  Runtime runtime;
  check([&](soma_error** error) {
    return soma_runtime_create(SOMA_HEADER_ABI, options, runtime.out(), error);
  });
  return runtime;
}

std::string read_text(const std::string& path) {
  File opened(path == "-" ? nullptr : std::fopen(path.c_str(), "rb"));
  if (!opened && path != "-") throw_unreadable(path, errno);
  FILE* file = opened ? opened.get() : stdin;
  std::string text;
  char buffer[1 << 16];
  for (size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, file)) > 0;) {
    text.append(buffer, got);
  }
  if (std::ferror(file) != 0) throw_unreadable(path, errno);
  return text;
}

std::string folder_of(const std::string& document) {
  const size_t slash = document.rfind('/');
  return slash == std::string::npos ? "" : document.substr(0, slash + 1);
}

bool looks_like_document(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) return false;
  int letter = std::fgetc(file.get());
  if (letter == 0x89) return std::fgetc(file.get()) == 'p';  // a plan's binary form
  while (letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r') {
    letter = std::fgetc(file.get());
  }
  return letter == '{';
}

Document read_document(const Runtime& runtime, const std::string& path) {
  const std::string text = read_text(path);
  Document document{path, {}, {}};
  const bool has_plan = is_plan(runtime, text);
  check_in(path, [&](soma_error** error) {
    return has_plan
               ? soma_plan_parse(runtime, text.data(), text.size(), document.plan.out(), error)
               : soma_graph_parse(runtime, text.data(), text.size(), document.graph.out(), error);
  });
  return document;
}

Plan plan_of(Document document, const CompileFlags& flags, Say how) {
  if (document.plan != nullptr) {
    if (!flags.any()) return std::move(document.plan);
    throw CLI::ValidationError(document.path,
                               "--mode, --chunk and --parallelize-dag are for graphs, and this "
                               "is a plan already");
  }
  const Options options = compile_options(flags);
  Plan plan;
  soma_error* error = nullptr;
  const soma_code code = soma_plan_compile(document.graph, options, plan.out(), &error);
  if (code != SOMA_OK) refuse(document, options, how, code, error);
  say(document, blob_text([&](soma_blob** out, soma_error** problem) {
        return soma_plan_diagnostics(plan, out, problem);
      }), how);
  return plan;
}

std::string diagnostic_lines(const std::string& json, const std::string& prefix, Say how) {
  const Json all = Json::parse(json);
  std::string out;
  for (JsonView one = all.view().at("diagnostics").first(); one; one = one.next()) {
    const std::string level = one.at("level").text();
    out += prefix + level + ": " + one.at("message").text() + " [" + one.at("code").text() + "]\n";
    // Whoever is stopped by an error wants to know the way out; the others can ask for it.
    if (how == Say::Full || level == "error") add_line(out, "hint", one.at("hint").text());
    if (how != Say::Full) continue;
    add_line(out, "nodes", listed(one.at("nodes")));
    add_line(out, "edges", listed(one.at("edges")));
  }
  const double left_out = all.number("left_out");
  if (left_out > 0) out += prefix + std::to_string(static_cast<uint64_t>(left_out)) + " more\n";
  return out;
}

}  // namespace cli
