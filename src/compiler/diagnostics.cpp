// Collects what the passes say and shows it: as text, as JSON, as an error.
#include "compiler/diagnostics.hpp"

#include "base/json_writer.hpp"
#include "base/problems.hpp"

namespace soma {

std::string_view level_name(Level level) {
  switch (level) {
    case Level::Error: return "error";
    case Level::Warning: return "warning";
    case Level::Info: return "info";
  }
  return "";
}

Diagnostic& Diagnostic::node(std::string_view id) {
  nodes.emplace_back(id);
  return *this;
}

Diagnostic& Diagnostic::edge(std::string_view from, std::string_view to) {
  edges.push_back({std::string(from), std::string(to)});
  return *this;
}

Diagnostic& Diagnostic::advise(std::string_view what) {
  hint = what;
  return *this;
}

Diagnostic& Diagnostics::error(Reason reason, std::string message) {
  ++errors_;
  return add(Level::Error, reason, std::move(message));
}

Diagnostic& Diagnostics::warning(Reason reason, std::string message) {
  return add(Level::Warning, reason, std::move(message));
}

Diagnostic& Diagnostics::info(Reason reason, std::string message) {
  return add(Level::Info, reason, std::move(message));
}

// Behind the limit, an error still takes the place of something milder: a list that ends before the
// first error would say that there is none.
Diagnostic& Diagnostics::add(Level level, Reason reason, std::string message) {
  Diagnostic made;
  made.reason = reason;
  made.level = level;
  made.message = std::move(message);
  if (kept_.size() < kept_max) return kept_.emplace_back(std::move(made));
  ++left_out_;
  if (level == Level::Error && errors_ == 1) return kept_.back() = std::move(made);
  return spare_ = std::move(made);
}

std::string Diagnostics::json() const {
  JsonWriter json;
  json.object().key("diagnostics").array();
  for (const Diagnostic& one : kept_) {
    json.object()
        .field("code", reason_info(one.reason).id)
        .field("level", level_name(one.level))
        .field("message", one.message)
        .field("hint", one.hint);
    json.key("nodes").array();
    for (const std::string& id : one.nodes) json.value(id);
    json.close().key("edges").array();
    for (const Diagnostic::Edge& edge : one.edges) {
      json.object().field("from", edge.from).field("to", edge.to).close();
    }
    json.close().close();
  }
  json.close().field("left_out", left_out_).close();
  return std::move(json).take();
}

namespace {

std::string with_hint(const Diagnostic& one) {
  return one.hint.empty() ? one.message : one.message + "; " + one.hint;
}

}  // namespace

std::string Diagnostics::text() const {
  std::string out;
  for (const Diagnostic& one : kept_) {
    out += soma::text("{} {}: {}\n", level_name(one.level), reason_info(one.reason).id,
                      with_hint(one));
  }
  if (left_out_ > 0) out += soma::text("{} more are not listed\n", left_out_);
  return out;
}

Error Diagnostics::as_error() const {
  Problems problems;
  for (const Diagnostic& one : kept_) {
    if (one.level != Level::Error) continue;
    Error error(one.reason, with_hint(one));
    for (const std::string& id : one.nodes) error.with("node", id);
    for (const Diagnostic::Edge& edge : one.edges) error.with("edge", edge.from + " -> " + edge.to);
    problems.add(std::move(error));
  }
  return std::move(problems).take();
}

}  // namespace soma
