// soma_plan_cache_*: graphs that were compiled before are not compiled again.
#include "abi/blob.hpp"
#include "abi/compile.hpp"
#include "abi/guard.hpp"
#include "abi/plan_table.hpp"
#include "base/json_writer.hpp"
#include "graph/key.hpp"

using namespace soma;
using namespace soma::wall;

struct soma_plan_cache final : Object {
  static constexpr Tag kind = Tag::PlanCache;
  soma_plan_cache(const soma_runtime* owner, PlanTable::Limits limits)
      : Object(kind, owner), table(limits) {}

  mutable PlanTable table;
};

namespace {

// All that compiling depends on, but for the rules, which are the library's.
PlanTable::Key key_of(const Graph& graph, const CompileOptions& options) {
  return {.graph = graph_key(graph), .mode = options.mode,
          .parallelize_dag = options.parallelize_dag, .chunk_size = options.chunk_size};
}

class GraphCompiler final : public PlanTable::Maker {
 public:
  GraphCompiler(const soma_graph& graph, const CompileOptions& options)
      : graph_(graph), options_(options) {}
  Result<Ref<soma_plan>> make() override { return compile_graph(graph_, options_); }

 private:
  const soma_graph& graph_;
  const CompileOptions& options_;
};

}  // namespace

soma_code soma_plan_cache_create(const soma_runtime* runtime, const soma_options* options,
                                 soma_plan_cache** out, soma_error** error) noexcept {
  return produce(runtime, out, error, [&]() -> Result<Ref<soma_plan_cache>> {
    SOMA_ASSIGN(const Settings settings, Settings::of(options, OptionKind::PlanCache));
    const PlanTable::Limits limits = {
        .plans = static_cast<u64>(settings.integer("plans")),
        .bytes = static_cast<u64>(settings.integer("memory_bytes"))};
    return make<soma_plan_cache>(runtime, limits);
  });
}

soma_code soma_plan_cache_compile(const soma_plan_cache* cache, const soma_graph* graph,
                                  const soma_options* options, soma_plan** out,
                                  soma_error** error) noexcept {
  return produce(cache, out, error, [&]() -> Result<Ref<soma_plan>> {
    SOMA_TRY(check_within(cache->runtime, graph));
    SOMA_ASSIGN(const CompileOptions wanted, compile_options(options));
    GraphCompiler compiler(*graph, wanted);
    return cache->table.get(key_of(graph->graph, wanted), compiler);
  });
}

soma_code soma_plan_cache_facts(const soma_plan_cache* cache, soma_blob** out,
                                soma_error** error) noexcept {
  return produce(cache, out, error, [&]() -> Result<Ref<soma_blob>> {
    const PlanTable::Facts facts = cache->table.facts();
    const PlanTable::Limits& limits = cache->table.limits();
    JsonWriter json;
    json.object().field("hits", facts.hits).field("misses", facts.misses);
    json.field("failures", facts.failures).field("evicted", facts.evicted);
    json.field("plans", facts.plans).field("plans_max", limits.plans);
    json.field("bytes", facts.bytes).field("bytes_max", limits.bytes).close();
    return make_blob(cache->runtime, std::move(json).take());
  });
}

void soma_plan_cache_retain(const soma_plan_cache* cache) noexcept { retain(cache); }
void soma_plan_cache_release(const soma_plan_cache* cache) noexcept { release(cache); }
