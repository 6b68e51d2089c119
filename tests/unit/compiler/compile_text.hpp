// Graphs in a terse form, and what the compiler makes of them as text.
//
//   nodes: a l:loop b:branch          kinds behind colons
//   edges: a>l l~b o^b b~c:x > 1      > data, ~ control, ^ capture; an arm behind the colon, to the
//                                     end of the line; a.o>b.i names ports; several lines are
//                                     allowed
//   node l: {"max_iterations":4}      further keys of a node; or a whole document: json: {…}
//   with: parallelize_dag             mode=differentiable chunk=8
#pragma once

#include <doctest/doctest.h>

#include <sstream>

#include "base/json_writer.hpp"
#include "compiler/compile.hpp"
#include "run/builtins.hpp"

namespace soma::fixture {

inline std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> out;
  for (std::string word; stream >> word;) out.push_back(word);
  return out;
}

class TerseGraph {
 public:
  void read(const std::string& line) {
    const size_t colon = line.find(':');
    const std::string key = line.substr(0, colon), rest = line.substr(colon + 1);
    if (key == "nodes") {
      for (const std::string& word : words_of(rest)) add_node(word);
    } else if (key == "edges") {
      add_edges(rest);
    } else if (key.starts_with("node ")) {
      settings_.emplace_back(key.substr(5), rest);
    } else if (key == "json") {
      json_ = rest;
    } else if (key == "with") {
      for (const std::string& word : words_of(rest)) add_option(word);
    } else {
      FAIL("no such line: ", line);
    }
  }

  // As a document, so that the terse form can say nothing that documents can't.
  Result<Graph> graph() const {
    if (!json_.empty()) return Graph::parse(json_);
    std::string nodes;
    for (const auto& [id, kind] : nodes_) {
      std::string keys = text(R"("id":"{}")", id);
      if (!kind.empty()) keys += text(R"(,"kind":"{}")", kind);
      for (const auto& [of, more] : settings_) {
        const size_t begin = more.find('{') + 1;
        if (of == id) keys += "," + more.substr(begin, more.rfind('}') - begin);
      }
      nodes += text("{}{{{}}}", nodes.empty() ? "" : ",", keys);
    }
    return Graph::parse(text(R"({{"soma":"graph","version":1,"nodes":[{}],"edges":[{}]}})", nodes,
                             edges_));
  }
  const CompileOptions& options() const { return options_; }

 private:
  void add_node(const std::string& word) {
    const size_t colon = word.find(':');
    nodes_.emplace_back(word.substr(0, colon),
                        colon == word.npos ? "" : word.substr(colon + 1));
  }

  void add_edges(std::string line) {
    const size_t colon = line.find(':');
    std::string arm;
    if (colon != line.npos) {
      arm = line.substr(colon + 1);
      line.resize(colon);
    }
    std::vector<std::string> words = words_of(line);
    for (const std::string& word : words) {
      const size_t at = word.find_first_of(">~^");
      JsonWriter json;
      const auto [from, output] = end_of(word.substr(0, at));
      const auto [to, input] = end_of(word.substr(at + 1));
      json.object().field("from", from).field("to", to);
      if (!output.empty()) json.field("output", output);
      if (!input.empty()) json.field("input", input);
      if (word[at] == '~') json.field("kind", "control");
      if (word[at] == '^') json.field("capture", true);
      if (&word == &words.back() && !arm.empty()) json.field("arm", arm);
      json.close();
      edges_ += (edges_.empty() ? "" : ",") + std::move(json).take();
    }
  }

  // A node and its port, if one is named.
  static std::pair<std::string, std::string> end_of(const std::string& end) {
    const size_t dot = end.find('.');
    return {end.substr(0, dot), dot == end.npos ? "" : end.substr(dot + 1)};
  }

  void add_option(const std::string& word) {
    if (word == "parallelize_dag") options_.parallelize_dag = true;
    if (word.starts_with("mode=")) options_.mode = plan_mode_by_name(word.substr(5)).value();
    if (word.starts_with("chunk=")) options_.chunk_size = std::stoll(word.substr(6));
  }

  std::vector<std::pair<std::string, std::string>> nodes_, settings_;
  std::string edges_, json_;
  CompileOptions options_;
};

inline TerseGraph terse(const std::string& input) {
  TerseGraph out;
  std::istringstream lines(input);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) out.read(line);
  }
  return out;
}

inline Compilation compiled(const Graph& graph, CompileOptions options) {
  options.rules = builtin_rules();
  return compile(graph, options);
}

// What it says, and the plan as it is displayed, if there is one.
inline std::string outcome_of(const std::string& input) {
  const TerseGraph read = terse(input);
  const Result<Graph> graph = read.graph();
  if (!graph) return text("refused {}: {}\n", graph.error().id(), graph.error().message());
  const Compilation made = compiled(*graph, read.options());
  std::string out = made.diagnostics.text();
  if (made.plan) out += made.plan->display();
  if (out.empty() || out.back() != '\n') out += '\n';
  return out;
}

inline Compilation compiled(const std::string& input) {
  const TerseGraph read = terse(input);
  const Result<Graph> graph = read.graph();
  REQUIRE(graph.ok());
  return compiled(*graph, read.options());
}

// "error graph.cycle: …" for each problem.
inline std::string diagnostics_of(const std::string& input) {
  return compiled(input).diagnostics.text();
}

inline std::string display_of(const std::string& input) {
  const Compilation made = compiled(input);
  INFO(made.diagnostics.text());
  REQUIRE(made.plan);
  return made.plan->display();
}

}  // namespace soma::fixture
