/* Proves the life of plan caches: what is found, what is not, what goes, one compilation for many
 * threads, and release in any order.
 *
 * usage: lifetime_plans
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "runtime.h"

/* A chain of so many nodes; its last one has the id. */
static soma_graph* make_graph(soma_runtime* runtime, int nodes, const char* last) {
  soma_graph* graph = NULL;
  GOOD(soma_graph_create(runtime, &graph, &error));
  for (int i = 0; i < nodes; ++i) {
    char id[32];
    uint32_t number = 0;
    snprintf(id, sizeof id, "%s%d", i + 1 < nodes ? "n" : last, i);
    if (soma_graph_add_function(graph, id, SOMA_NUL, "std.identity", SOMA_NUL, &number, NULL)) {
      CHECK(!"a node could not be added");
    }
    if (i > 0 && soma_graph_add_edge(graph, number - 1, number, SOMA_EDGE_DATA, NULL, 0, NULL)) {
      CHECK(!"an edge could not be added");
    }
  }
  return graph;
}

static soma_plan_cache* make_cache(soma_runtime* runtime, const char* key, int64_t value) {
  soma_plan_cache* cache = NULL;
  soma_options* options = NULL;
  if (key) {
    GOOD(soma_options_create("plan_cache", SOMA_NUL, &options, &error));
    GOOD(soma_options_set_int(options, key, SOMA_NUL, value, &error));
  }
  GOOD(soma_plan_cache_create(runtime, options, &cache, &error));
  soma_options_release(options);
  return cache;
}

static soma_plan* compile(const soma_plan_cache* cache, const soma_graph* graph,
                          const soma_options* options) {
  soma_plan* plan = NULL;
  GOOD(soma_plan_cache_compile(cache, graph, options, &plan, &error));
  return plan;
}

static int has(const soma_plan_cache* cache, const char* text) {
  soma_blob* facts = NULL;
  GOOD(soma_plan_cache_facts(cache, &facts, &error));
  const int found = strstr(soma_blob_data(facts), text) != NULL;
  if (!found) fprintf(report, "no %s in %s\n", text, (const char*)soma_blob_data(facts));
  soma_blob_release(facts);
  return found;
}

static soma_blob* document(const soma_plan* plan) {
  soma_blob* out = NULL;
  GOOD(soma_plan_document(plan, &out, &error));
  return out;
}

static void test_found_and_missed(void) {
  Account account = {0};
  soma_runtime* runtime = make_runtime(&account, 0);
  soma_plan_cache* cache = make_cache(runtime, NULL, 0);
  soma_graph* graph = make_graph(runtime, 9, "z");
  soma_graph* same = make_graph(runtime, 9, "z");
  soma_graph* other = make_graph(runtime, 9, "y");
  soma_options *differentiable = NULL, *usual = NULL;
  GOOD(soma_options_create("compile", SOMA_NUL, &usual, &error));
  GOOD(soma_options_create("compile", SOMA_NUL, &differentiable, &error));
  GOOD(soma_options_set_text(differentiable, "mode", SOMA_NUL, "differentiable", SOMA_NUL,
                             &error));
  soma_plan* first = compile(cache, graph, NULL);
  soma_plan* again = compile(cache, same, usual);
  CHECK(first == again && has(cache, "\"hits\":1,\"misses\":1,\"failures\":0"));
  soma_plan* fused = compile(cache, graph, differentiable);
  soma_plan* renamed = compile(cache, other, NULL);
  CHECK(fused != first && renamed != first && has(cache, "\"hits\":1,\"misses\":3"));
  /* It is what the compiler makes. */
  soma_plan* plain = NULL;
  GOOD(soma_plan_compile(graph, NULL, &plain, &error));
  soma_blob *a = document(plain), *b = document(first);
  CHECK(soma_blob_size(a) == soma_blob_size(b) &&
        memcmp(soma_blob_data(a), soma_blob_data(b), soma_blob_size(a)) == 0);
  /* A graph that has changed is another. */
  uint32_t number = 0;
  GOOD(soma_graph_add_function(graph, "more", SOMA_NUL, NULL, 0, &number, &error));
  soma_plan* longer = compile(cache, graph, NULL);
  CHECK(longer != first && has(cache, "\"misses\":4") && has(cache, "\"plans\":4,"));
  soma_blob* facts = NULL;
  GOOD(soma_plan_diagnostics(longer, &facts, &error));
  CHECK(strstr(soma_blob_data(facts), "graph.isolated_node") != NULL);
  soma_blob_release(facts);
  soma_plan* warned = compile(cache, graph, NULL);
  GOOD(soma_plan_diagnostics(warned, &facts, &error));
  CHECK(warned == longer && strstr(soma_blob_data(facts), "graph.isolated_node") != NULL);
  soma_blob_release(facts);
  soma_plan* const plans[] = {first, again, fused, renamed, plain, longer, warned};
  for (size_t i = 0; i < sizeof plans / sizeof *plans; ++i) soma_plan_release(plans[i]);
  soma_blob_release(a);
  soma_blob_release(b);
  soma_graph_release(graph);
  soma_graph_release(same);
  soma_graph_release(other);
  soma_options_release(usual);
  soma_options_release(differentiable);
  soma_plan_cache_release(cache);
  soma_runtime_release(runtime);
  CHECK(account.live == 0);
}

static void test_failures_are_not_kept(void) {
  Account account = {0};
  soma_runtime *runtime = make_runtime(&account, 0), *strange = make_runtime(&account, 0);
  soma_plan_cache* cache = make_cache(runtime, NULL, 0);
  soma_graph* graph = make_graph(runtime, 2, "z");
  soma_graph* foreign = make_graph(strange, 2, "z");
  soma_plan* plan = NULL;
  GOOD(soma_graph_add_edge(graph, 1, 0, SOMA_EDGE_DATA, NULL, 0, &error));
  for (int i = 0; i < 3; ++i) {
    BAD(soma_plan_cache_compile(cache, graph, NULL, &plan, &error), SOMA_INVALID_ARGUMENT,
        "graph.cycle");
  }
  CHECK(plan == NULL && has(cache, "\"hits\":0,\"misses\":3,\"failures\":3"));
  CHECK(has(cache, "\"plans\":0,") && has(cache, "\"bytes\":0,"));
  BAD(soma_plan_cache_compile(cache, foreign, NULL, &plan, &error), SOMA_INVALID_ARGUMENT,
      "argument.handle");
  soma_graph_release(graph);
  soma_graph_release(foreign);
  soma_plan_cache_release(cache);
  soma_runtime_release(runtime);
  soma_runtime_release(strange);
  CHECK(account.live == 0);
}

static void test_bounds(void) {
  Account account = {0};
  soma_runtime* runtime = make_runtime(&account, 0);
  soma_graph* graphs[4];
  for (int i = 0; i < 4; ++i) graphs[i] = make_graph(runtime, i + 1, "z");
  soma_plan_cache* cache = make_cache(runtime, "plans", 2);
  soma_plan* first = compile(cache, graphs[0], NULL);
  soma_plan_release(compile(cache, graphs[1], NULL));
  soma_plan_release(compile(cache, graphs[0], NULL)); /* so the second is the one unused longest */
  soma_plan_release(compile(cache, graphs[2], NULL));
  CHECK(has(cache, "\"hits\":1,\"misses\":3,\"failures\":0,\"evicted\":1,\"plans\":2"));
  soma_plan* still = compile(cache, graphs[0], NULL);
  CHECK(still == first && has(cache, "\"hits\":2"));
  soma_plan_release(compile(cache, graphs[1], NULL));
  soma_plan_release(compile(cache, graphs[3], NULL));
  CHECK(has(cache, "\"misses\":5,\"failures\":0,\"evicted\":3,\"plans\":2"));
  soma_plan_cache_release(cache);
  soma_blob* kept = document(still); /* what was given out stays */
  soma_blob_release(kept);
  soma_plan_release(first);
  soma_plan_release(still);
  /* Nothing fits, and all is compiled. */
  const char* const keys[] = {"plans", "memory_bytes"};
  for (int i = 0; i < 2; ++i) {
    cache = make_cache(runtime, keys[i], 0);
    soma_plan_release(compile(cache, graphs[3], NULL));
    soma_plan_release(compile(cache, graphs[3], NULL));
    CHECK(has(cache, "\"hits\":0,\"misses\":2,\"failures\":0,\"evicted\":0,\"plans\":0"));
    soma_plan_cache_release(cache);
  }
  /* Room for one of them at a time. */
  cache = make_cache(runtime, "memory_bytes", 1000);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 4; ++i) soma_plan_release(compile(cache, graphs[i], NULL));
  }
  CHECK(has(cache, "\"hits\":0,\"misses\":8,\"failures\":0,\"evicted\":7,\"plans\":1"));
  soma_plan_cache_release(cache);
  for (int i = 0; i < 4; ++i) soma_graph_release(graphs[i]);
  soma_runtime_release(runtime);
  CHECK(account.live == 0);
}

enum { THREADS = 8, ROUNDS = 20 };

typedef struct {
  soma_plan_cache* cache;
  soma_graph* graphs[ROUNDS];
  pthread_barrier_t start;
} Crew;

static void* ask(void* argument) {
  Crew* crew = argument;
  for (int i = 0; i < ROUNDS; ++i) {
    soma_plan* plan = NULL;
    pthread_barrier_wait(&crew->start);
    const soma_code code = soma_plan_cache_compile(crew->cache, crew->graphs[i], NULL, &plan, NULL);
    /* Every second graph has a cycle. */
    CHECK((code == SOMA_OK) == (i % 2 == 0) && (plan != NULL) == (i % 2 == 0));
    soma_plan_release(plan);
  }
  return NULL;
}

static void test_many_threads_compile_once(void) {
  Account account = {0};
  soma_runtime* runtime = make_runtime(&account, 0);
  Crew crew;
  pthread_t threads[THREADS];
  crew.cache = make_cache(runtime, NULL, 0);
  pthread_barrier_init(&crew.start, NULL, THREADS);
  for (int i = 0; i < ROUNDS; ++i) {
    crew.graphs[i] = make_graph(runtime, 300 + i, "z");
    if (i % 2 == 0) continue;
    GOOD(soma_graph_add_edge(crew.graphs[i], 1, 0, SOMA_EDGE_DATA, NULL, 0, &error));
  }
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, ask, &crew);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  char facts[64]; /* of what does not fail, once each; of what does, each time or shared */
  snprintf(facts, sizeof facts, "\"plans\":%d,", ROUNDS / 2);
  CHECK(has(crew.cache, facts));
  snprintf(facts, sizeof facts, "\"hits\":%d,", (THREADS - 1) * ROUNDS / 2);
  CHECK(has(crew.cache, facts));
  for (int i = 0; i < ROUNDS; ++i) soma_graph_release(crew.graphs[i]);
  soma_plan_cache_release(crew.cache);
  soma_runtime_release(runtime);
  pthread_barrier_destroy(&crew.start);
  CHECK(account.live == 0);
}

static void test_release_in_any_order(void) {
  for (int order = 0; order < 6; ++order) {
    Account account = {0};
    soma_runtime* runtime = make_runtime(&account, 0);
    soma_plan_cache* cache = make_cache(runtime, NULL, 0);
    soma_graph* graph = make_graph(runtime, 3, "z");
    soma_plan* plan = compile(cache, graph, NULL);
    soma_graph_release(graph);
    for (int i = 0; i < 3; ++i) {
      switch ((order + i) % 3) {
        case 0: soma_plan_cache_release(cache); break;
        case 1: soma_runtime_release(runtime); break;
        case 2: soma_plan_release(plan); break;
      }
    }
    CHECK(account.total > 0 && account.live == 0 && account.destroyed == 1);
  }
}

int main(void) {
  report = stdout;
  test_found_and_missed();
  test_failures_are_not_kept();
  test_bounds();
  test_many_threads_compile_once();
  test_release_in_any_order();
  return summary();
}
