// What a cache costs a run, for each node: looked up in memory or on disk, found or not, beside the
// same run without a cache. `make bench-cache`; the folder is made in the current directory.
#include <cstdio>
#include <filesystem>

#include "base/clock.hpp"
#include "cache/cache.hpp"
#include "compiler/compile.hpp"
#include "run/node_call.hpp"
#include "run/run.hpp"

namespace {

using soma::i64;
using soma::u32;
using soma::u64;

constexpr u32 nodes = 64;

template <typename Value>
Value given(soma::Result<Value> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "%s\n", result.error().message().c_str());
  std::exit(1);
}

// A chain of cacheable nodes, in a loop of one pass: found by content, one by one. Otherwise by
// recipe, the last for all.
soma::Plan chain(bool in_loop) {
  soma::Graph graph;
  const auto edge = [&graph](u32 from, u32 to, soma::EdgeKind kind) {
    soma::GraphEdge& made = graph.edges.emplace_back();
    made.from = from;
    made.to = to;
    made.kind = kind;
  };
  if (in_loop) {
    soma::GraphNode& loop = graph.nodes.emplace_back();
    loop.id = "loop";
    loop.kind = soma::NodeKind::Loop;
    loop.edit().max_iterations = 1;
    loop.edit().until.kind = soma::StopRule::Kind::Exhaust;
    edge(0, 1, soma::EdgeKind::Control);
  }
  for (u32 node = 0; node < nodes; ++node) {
    soma::GraphNode& made = graph.nodes.emplace_back();
    made.id = "n" + std::to_string(node);
    made.op = "body";
    made.op_version = node + 1;     // so that no two of them are one to the cache
    made.cacheable = true;
    const u32 at = static_cast<u32>(graph.nodes.size()) - 1;
    if (node > 0) edge(at - 1, at, soma::EdgeKind::Data);
  }
  soma::Compilation made = soma::compile(graph, {});
  if (!made.plan) {
    std::fprintf(stderr, "%s\n", made.diagnostics.text().c_str());
    std::exit(1);
  }
  return *std::move(made.plan);
}

// Yields its input with another first byte.
soma::Status body(void*, soma::NodeCall& call) {
  const std::span<const soma::u8> read = call.input().bytes();
  std::vector<soma::u8> made(read.begin(), read.end());
  ++made[0];
  call.output() = soma::Value::bytes(std::move(made));
  return {};
}

soma::Value input_of(size_t bytes, u64 seed) {
  std::vector<soma::u8> made(bytes);
  for (soma::u8& byte : made) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<soma::u8>(seed >> 60);   // half of what it could hold: compresses to that
  }
  return soma::Value::bytes(std::move(made));
}

// Nanoseconds a node of the fastest of some executions, each on the input of its seed.
template <typename Seed>
double time_of(soma::Run& run, size_t bytes, u32 times, Seed seed) {
  i64 best = INT64_MAX;
  for (u32 i = 0; i < times; ++i) {
    soma::Value input = input_of(bytes, seed(i));
    const i64 begun = soma::now_ns();
    static_cast<void>(run.start(std::move(input), nullptr));
    given(run.finish());
    best = std::min(best, soma::now_ns() - begun);
  }
  return static_cast<double>(best) / nodes;
}

void measure(const soma::Ops& ops, size_t bytes, const std::string& folder) {
  const soma::Plan looped = chain(true), plain = chain(false);
  const std::unique_ptr<soma::Run> run = given(soma::Run::create(looped, ops, {}));
  const std::unique_ptr<soma::Run> straight = given(soma::Run::create(plain, ops, {}));
  const u32 times = bytes > 1'000'000 ? 3 : 9;
  const auto other = [](u32 i) { return u64{i} + 1000; };
  const auto same = [](u32) { return u64{7}; };
  const double without = time_of(*run, bytes, times, same);
  std::printf("%8zu bytes  without %9.0f ns a node\n", bytes, without);
  const auto with = [&](const char* tier, soma::Cache& cache) {
    static_cast<void>(run->use_cache(&cache));
    static_cast<void>(straight->use_cache(&cache));
    const double missed = time_of(*run, bytes, times, other);
    time_of(*run, bytes, 1, same);
    const double hit = time_of(*run, bytes, times, same);
    time_of(*straight, bytes, 1, same);
    const double skipped = time_of(*straight, bytes, times, same) * nodes;
    std::printf("%8zu bytes  %-7s missed and written %9.0f, hit %9.0f ns a node; "
                "all but the last skipped %9.0f ns\n",
                bytes, tier, missed, hit, skipped);
    static_cast<void>(run->use_cache(nullptr));
    static_cast<void>(straight->use_cache(nullptr));
  };
  soma::Cache memory({.memory_bytes = u64{8} << 30, .disk_bytes = 0});
  with("memory", memory);
  const std::unique_ptr<soma::Cache> disk =
      given(soma::Cache::open(folder, {.memory_bytes = 0, .disk_bytes = u64{8} << 30}));
  with("disk", *disk);
  std::filesystem::remove_all(folder);
}

}  // namespace

int main() {
  soma::Ops ops;
  soma::NodeOp op;
  op.name = "body";
  op.forward = body;
  static_cast<void>(ops.add(std::move(op)));
  for (const size_t bytes : {size_t{64}, size_t{64} << 10, size_t{4} << 20}) {
    measure(ops, bytes, "bench-cache.folder");
  }
  return 0;
}
