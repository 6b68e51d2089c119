// Graph and plan documents as the verbs plan, run, diff and explain take them: read from files,
// told apart, compiled, with everything that the compiler says on stderr.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/client.hpp"

namespace cli {

// What the command line says of compiling; empty texts leave the library's defaults.
struct CompileFlags {
  std::string mode, chunk;
  bool parallelize_dag = false;

  bool any() const { return !mode.empty() || !chunk.empty() || parallelize_dag; }
};
// Adds --mode --chunk --parallelize-dag; without `mode` the verb has one of its own.
void add_compile_flags(CLI::App& verb, CompileFlags& flags, bool mode);
Options compile_options(const CompileFlags& flags);

Runtime make_plain_runtime(const std::string& threads = "");
std::string read_text(const std::string& path);  // "-": stdin
// Where what a document names counts from: with a slash at its end, or empty for the folder in
// which the tool runs.
std::string folder_of(const std::string& document);
// Whether a file begins as a JSON object or the binary form of a plan does. False for files that
// can't be read.
bool looks_like_document(const std::string& path);

// One of the two is there: "soma" says which.
struct Document {
  std::string path;
  Graph graph;
  Plan plan;
};
Document read_document(const Runtime& runtime, const std::string& path);

// Of what the compiler says: nothing, lines, or with all hints, nodes and edges.
enum class Say { Nothing, Lines, Full };

// The plan of a document, compiled if it is a graph, with its diagnostics on stderr. A plan does
// not take flags: they are wrong usage then.
Plan plan_of(Document document, const CompileFlags& flags, Say how);

// {"diagnostics":[…],"left_out":0} as lines: "warning: … [code]".
std::string diagnostic_lines(const std::string& json, const std::string& prefix, Say how);

// check() for a call about a file, which the failure's text then names.
template <typename Call>
void check_in(const std::string& path, Call call) {
  try {
    check(call);
  } catch (Failure& failure) {
    failure.text = path + ": " + failure.text;
    throw;
  }
}

}  // namespace cli
