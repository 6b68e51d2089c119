// Feeds texts to the reader of graph documents: what is read prints, is read again, and prints the
// same bytes; what strict reading takes, lenient reading takes too.
#include "graph/graph.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  using namespace soma;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<Graph> strict = Graph::parse(text);
  const Result<Graph> graph = Graph::parse(text, Graph::Reading::Lenient);
  if (!graph.ok()) {
    if (strict.ok() || graph.error().message().empty()) __builtin_trap();
    return 0;
  }
  const std::string printed = graph->document();
  if (strict.ok() && strict->document() != printed) __builtin_trap();
  const Result<Graph> again = Graph::parse(printed);
  if (!again.ok() || again->document() != printed) __builtin_trap();
  if (graph->clone().document() != printed) __builtin_trap();
  // Sinks and sources of whatever graph this is.
  Graph end;
  end.nodes.emplace_back().id = "a node of no document/";
  const Result<Graph> longer = then(graph->clone(), end.clone());
  const Result<Graph> later = then(std::move(end), graph->clone());
  if (longer.ok() != later.ok()) __builtin_trap();
  if (longer.ok() && longer->nodes.size() != graph->nodes.size() + 1) __builtin_trap();
  if (graph->find(automatic_id(*graph, text.substr(0, 16))) != nullptr) __builtin_trap();
  return 0;
}
