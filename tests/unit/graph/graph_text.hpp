// What the tests of graphs show of a refusal: every problem, one a line.
#pragma once

#include "graph/graph.hpp"

namespace soma::fixture {

inline std::string place_of(const Error& error) {
  for (const Detail& detail : error.details()) {
    if (detail.key == "place" || detail.key == "node") return detail.value;
  }
  return "";
}

// "document.type nodes[0].id: …" for each problem; nothing if there is none.
inline std::string problems_of(const Result<Graph>& graph) {
  if (graph.ok()) return "";
  std::string out = text("{} {}\n", graph.error().id(), graph.error().message());
  for (const Error& other : graph.error().others()) {
    out += text("{} {}\n", other.id(), other.message());
  }
  return out;
}

// "document.type nodes[0].id" for each problem.
inline std::string reasons_of(const Result<Graph>& graph) {
  if (graph.ok()) return "";
  std::string out = text("{} {}\n", graph.error().id(), place_of(graph.error()));
  for (const Error& other : graph.error().others()) {
    out += text("{} {}\n", other.id(), place_of(other));
  }
  return out;
}

}  // namespace soma::fixture
