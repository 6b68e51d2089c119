// The graph object, which alone of its kind may be changed: by one thread at a time.
#pragma once

#include "abi/runtime.hpp"
#include "graph/graph.hpp"

struct soma_graph final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Graph;
  soma_graph(const soma_runtime* owner, soma::Graph content)
      : Object(kind, owner), graph(std::move(content)) {}

  soma::Graph graph;
};
