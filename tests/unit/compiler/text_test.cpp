// Proves that graphs become the plans, and get the diagnostics, that tests/text says: each case is
// a graph in a terse form, and what the compiler makes of it, word for word.
//
//   == name of the case
//   the graph (compile_text.hpp)
//   --
//   what it says, and how the plan is displayed
//
// With SOMA_GOLDEN_WRITE set, the files are written anew instead; read the difference.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "unit/compiler/compile_text.hpp"

namespace soma {

namespace {

struct Case {
  std::string name, input, expected;
};

std::vector<Case> read_cases(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file.good());
  std::vector<Case> cases;
  bool in_input = true;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("== ")) {
      cases.push_back({line.substr(3), "", ""});
      in_input = true;
    } else if (line == "--") {
      in_input = false;
    } else if (!cases.empty() && !line.empty()) {
      (in_input ? cases.back().input : cases.back().expected) += line + "\n";
    }
  }
  return cases;
}

void write_cases(const std::string& path, const std::vector<Case>& cases) {
  std::ofstream file(path);
  for (const Case& one : cases) {
    file << (&one == &cases.front() ? "" : "\n") << "== " << one.name << "\n"
         << one.input << "--\n" << fixture::outcome_of(one.input);
  }
}

void check_file(const std::string& path) {
  const std::vector<Case> cases = read_cases(path);
  REQUIRE(!cases.empty());
  if (std::getenv("SOMA_GOLDEN_WRITE")) return write_cases(path, cases);
  for (const Case& one : cases) {
    CAPTURE(one.name);
    CHECK(fixture::outcome_of(one.input) == one.expected);
  }
}

}  // namespace

TEST_CASE("plans") { check_file("tests/text/plans.text"); }
TEST_CASE("constructs") { check_file("tests/text/constructs.text"); }
TEST_CASE("diagnostics") { check_file("tests/text/diagnostics.text"); }

TEST_CASE("every diagnostic that the compiler has is said by some case") {
  std::string all;
  for (const char* path : {"tests/text/plans.text", "tests/text/constructs.text",
                           "tests/text/diagnostics.text"}) {
    for (const Case& one : read_cases(path)) all += one.expected;
  }
  for (const ReasonInfo& reason : reason_table()) {
    const std::string_view id = reason.id;
    const bool is_ours = id.starts_with("graph.") || id.starts_with("loop.") ||
                         id.starts_with("branch.") || id.starts_with("region.") ||
                         id.starts_with("schema.") || id.starts_with("gradient.") ||
                         id.starts_with("stream.") || id.starts_with("distribute.") ||
                         id == "predicate.syntax";
    // More nodes than a text can hold; unit tests reach that limit.
    if (!is_ours || id == "graph.limit") continue;
    CAPTURE(id);
    CHECK(all.find(std::string(id) + ":") != all.npos);
  }
}

}  // namespace soma
