// What the compiler says about a graph: everything that it found, errors, warnings and hints.
#pragma once

#include "base/core.hpp"

namespace soma {

enum class Level : u8 { Error, Warning, Info };
std::string_view level_name(Level level);  // "error", "warning", "info"

struct Diagnostic {
  struct Edge {
    std::string from, to;
  };

  Reason reason = Reason::internal;
  Level level = Level::Error;
  std::string message;           // what is wrong, where, and what is there
  std::string hint;              // what to do now; may be empty
  std::vector<std::string> nodes;  // whom it is about
  std::vector<Edge> edges;

  // diagnostics.error(Reason::x, "…").node("a").edge("a", "b").advise("…")
  Diagnostic& node(std::string_view id);
  Diagnostic& edge(std::string_view from, std::string_view to);
  Diagnostic& advise(std::string_view what);
};

class Diagnostics {
 public:
  // A graph of a million nodes can be wrong in each of them: this many are kept, the rest counted.
  static constexpr size_t kept_max = 1000;

  Diagnostic& error(Reason reason, std::string message);
  Diagnostic& warning(Reason reason, std::string message);
  Diagnostic& info(Reason reason, std::string message);

  bool has_errors() const { return errors_ > 0; }
  size_t errors() const { return errors_; }
  std::span<const Diagnostic> list() const { return kept_; }  // in the order in which they came
  size_t left_out() const { return left_out_; }

  // {"diagnostics":[{"code","level","message","hint","nodes","edges"}…],"left_out":0}
  std::string json() const;
  // "error graph.cycle: … (hint)" a line.
  std::string text() const;
  // The first error with the others attached. Only if there is one.
  Error as_error() const;

 private:
  Diagnostic& add(Level level, Reason reason, std::string message);

  std::vector<Diagnostic> kept_;
  Diagnostic spare_;             // takes what is no longer kept
  size_t errors_ = 0, left_out_ = 0;
};

}  // namespace soma
