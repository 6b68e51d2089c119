// What a plan costs: compiled, found in a plan cache, and the digest of its graph's document beside
// it. `make bench-plans`; medians.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "soma/soma.h"

namespace {

void must(soma_code code) {
  if (code == SOMA_OK) return;
  std::fprintf(stderr, "%s\n", soma_code_name(code));
  std::exit(1);
}

// A chain in which every third node also reads what came four before it.
soma_graph* make_graph(const soma_runtime* runtime, std::uint32_t nodes) {
  soma_graph* graph = nullptr;
  must(soma_graph_create(runtime, &graph, nullptr));
  const auto edge = [graph](std::uint32_t from, std::uint32_t to) {
    must(soma_graph_add_edge(graph, from, to, SOMA_EDGE_DATA, nullptr, 0, nullptr));
  };
  for (std::uint32_t i = 0; i < nodes; ++i) {
    const std::string id = "node_" + std::to_string(i);
    std::uint32_t number = 0;
    must(soma_graph_add_function(graph, id.data(), id.size(), "std.identity", SOMA_NUL, &number,
                                 nullptr));
    if (i > 0) edge(i - 1, i);
    if (i > 4 && i % 3 == 0) edge(i - 4, i);
  }
  return graph;
}

template <typename Work>
double median_us(int rounds, Work work) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    times.push_back(took.count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main() {
  soma_runtime* runtime = nullptr;
  soma_plan_cache* cache = nullptr;
  must(soma_runtime_create(SOMA_HEADER_ABI, nullptr, &runtime, nullptr));
  must(soma_plan_cache_create(runtime, nullptr, &cache, nullptr));
  std::printf("%10s %14s %14s %14s\n", "nodes", "compile us", "hit us", "digest us");
  for (const std::uint32_t nodes : {10U, 1000U, 100000U}) {
    const int rounds = nodes > 10000 ? 9 : 500;
    soma_graph* graph = make_graph(runtime, nodes);
    const double compiled = median_us(rounds, [&] {
      soma_plan* plan = nullptr;
      must(soma_plan_compile(graph, nullptr, &plan, nullptr));
      soma_plan_release(plan);
    });
    const auto find = [&] {
      soma_plan* plan = nullptr;
      must(soma_plan_cache_compile(cache, graph, nullptr, &plan, nullptr));
      soma_plan_release(plan);
    };
    find();
    const double found = median_us(rounds, find);
    const double digested = median_us(rounds, [&] {
      soma_blob* facts = nullptr;
      must(soma_graph_facts(graph, &facts, nullptr));
      soma_blob_release(facts);
    });
    std::printf("%10u %14.1f %14.1f %14.1f\n", nodes, compiled, found, digested);
    soma_graph_release(graph);
  }
  soma_plan_cache_release(cache);
  soma_runtime_release(runtime);
  return 0;
}
