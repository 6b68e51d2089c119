/* Proves the life of caches: released in any order with runs and their runtime, exchanged between
 * executions, shared by runs on several threads, and refused where they do not belong.
 *
 * usage: lifetime_caches FOLDER
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "runtime.h"

static atomic_int calls;
static char key[65];            /* of the last event that has one */
static atomic_int hits, misses, skips, failures;

static int32_t twice(void* user, soma_call* call) {
  soma_value* value = NULL;
  int64_t number = 0;
  calls += 1;
  GOOD(soma_value_int(soma_call_input(call), &number, &error));
  GOOD(soma_value_of_int(user, 2 * number, &value, &error));
  GOOD(soma_call_set_output(call, value, &error));
  soma_value_release(value);
  return SOMA_CONTINUE;
}

static void observe(void* user, const char* event, size_t length) {
  const char* at = strstr(event, "\"key\":\"");
  (void)user, (void)length;
  hits += strstr(event, "\"cache_hit\"") != NULL;
  misses += strstr(event, "\"cache_miss\"") != NULL;
  skips += strstr(event, "\"node_skipped\"") != NULL;
  failures += strstr(event, "\"cache_failed\"") != NULL;
  if (at) memcpy(key, at + 7, 64);
}

static const char chain[] =
    "{\"soma\":\"graph\",\"version\":1,\"nodes\":["
    "{\"id\":\"a\",\"kind\":\"function\",\"op\":\"twice\",\"cacheable\":true},"
    "{\"id\":\"b\",\"kind\":\"function\",\"op\":\"twice\",\"cacheable\":true}],"
    "\"edges\":[{\"from\":\"a\",\"to\":\"b\"}]}";

static soma_run* make_run(soma_runtime* runtime) {
  soma_graph* graph = NULL;
  soma_plan* plan = NULL;
  soma_ops* ops = NULL;
  soma_run* run = NULL;
  GOOD(soma_graph_parse(runtime, chain, SOMA_NUL, &graph, &error));
  GOOD(soma_plan_compile(graph, NULL, &plan, &error));
  GOOD(soma_ops_create(runtime, &ops, &error));
  GOOD(soma_ops_add(ops, "twice", SOMA_NUL, 0, SOMA_THREAD_ANY, 0, twice, runtime, NULL, &error));
  GOOD(soma_run_create(plan, ops, NULL, &run, &error));
  soma_graph_release(graph);
  soma_plan_release(plan);
  soma_ops_release(ops);
  return run;
}

static int64_t execute(soma_runtime* runtime, soma_run* run, int64_t number) {
  soma_value *input = NULL, *output = NULL;
  GOOD(soma_value_of_int(runtime, number, &input, &error));
  GOOD(soma_run_execute(run, input, NULL, &output, &error));
  GOOD(soma_value_int(output, &number, &error));
  soma_value_release(input);
  soma_value_release(output);
  return number;
}

static void forget_events(void) { calls = hits = misses = skips = failures = 0; }

static int has(const soma_cache* cache, const char* text) {
  soma_blob* facts = NULL;
  GOOD(soma_cache_facts(cache, &facts, &error));
  const int found = strstr(soma_blob_data(facts), text) != NULL;
  if (!found) fprintf(report, "no %s in %s\n", text, (const char*)soma_blob_data(facts));
  soma_blob_release(facts);
  return found;
}

static void test_release_in_any_order(const char* folder) {
  for (int order = 0; order < 6; ++order) {
    Account account = {0};
    soma_runtime* runtime = make_runtime(&account, 0);
    soma_run* run = make_run(runtime);
    soma_cache* cache = NULL;
    if (order % 2 == 0) {
      GOOD(soma_cache_create(runtime, NULL, &cache, &error));
    } else {
      GOOD(soma_cache_open(runtime, folder, SOMA_NUL, NULL, &cache, &error));
    }
    GOOD(soma_run_set_cache(run, cache, &error));
    CHECK(execute(runtime, run, 3) == 12 && execute(runtime, run, 3) == 12);
    for (int i = 0; i < 3; ++i) {
      switch ((order + i) % 3) {
        case 0: soma_cache_release(cache); break;
        case 1: soma_runtime_release(runtime); break;
        case 2: soma_run_release(run); break;
      }
    }
    CHECK(account.total > 0 && account.live == 0 && account.destroyed == 1);
  }
}

static void test_exchange(void) {
  Account account = {0};
  soma_runtime* runtime = make_runtime(&account, 0);
  soma_run* run = make_run(runtime);
  soma_cache *first = NULL, *second = NULL;
  int unwatched = 0;
  GOOD(soma_cache_create(runtime, NULL, &first, &error));
  GOOD(soma_cache_create(runtime, NULL, &second, &error));
  GOOD(soma_run_set_observer(run, observe, &unwatched, count_destroy, &error));
  forget_events();
  CHECK(execute(runtime, run, 1) == 4 && calls == 2 && hits + misses + skips == 0);
  GOOD(soma_run_set_cache(run, first, &error));
  CHECK(execute(runtime, run, 1) == 4 && calls == 4 && misses == 2);
  CHECK(execute(runtime, run, 1) == 4 && calls == 4 && hits == 1 && skips == 1);
  GOOD(soma_run_set_cache(run, first, &error));
  first = (soma_cache_release(first), NULL); /* the run still has it */
  CHECK(execute(runtime, run, 1) == 4 && calls == 4);
  GOOD(soma_run_set_cache(run, second, &error));
  CHECK(execute(runtime, run, 1) == 4 && calls == 6);
  CHECK(has(second, "\"hits\":0,\"misses\":2,\"skipped\":0,\"failed_writes\":0"));
  GOOD(soma_run_set_cache(run, NULL, &error));
  CHECK(execute(runtime, run, 1) == 4 && calls == 8);
  /* Not in the middle of an execution. */
  GOOD(soma_run_start(run, NULL, NULL, &error));
  BAD(soma_run_set_cache(run, second, &error), SOMA_FAILED_PRECONDITION, "object.busy");
  soma_run_release(run);
  soma_cache_release(second);
  soma_runtime_release(runtime);
  CHECK(account.live == 0 && unwatched == 1);
}

static void test_pins_and_sweeps(const char* folder) {
  Account account = {0};
  soma_runtime* runtime = make_runtime(&account, 0);
  soma_run* run = make_run(runtime);
  soma_cache *cache = NULL, *none = NULL;
  soma_blob* json = NULL;
  GOOD(soma_cache_open(runtime, folder, SOMA_NUL, NULL, &cache, &error));
  GOOD(soma_run_set_cache(run, cache, &error));
  GOOD(soma_run_set_observer(run, observe, NULL, NULL, &error));
  GOOD(soma_cache_sweep(cache, 0, &json, &error));
  soma_blob_release(json);
  forget_events();
  CHECK(execute(runtime, run, 5) == 20 && calls == 2 && misses == 2);
  GOOD(soma_cache_pin(cache, key, 64, 1, &error));
  CHECK(has(cache, "\"pinned\":2"));
  GOOD(soma_cache_sweep(cache, 0, &json, &error));
  CHECK(strncmp(soma_blob_data(json), "{\"entries\":2,", 13) == 0);
  soma_blob_release(json);
  CHECK(execute(runtime, run, 5) == 20 && calls == 2 && hits == 1 && skips == 1);
  GOOD(soma_cache_verify(cache, NULL, &json, &error));
  CHECK(strncmp(soma_blob_data(json), "{\"entries\":2,", 13) == 0);
  soma_blob_release(json);
  GOOD(soma_cache_measured(cache, &json, &error));
  CHECK(strncmp(soma_blob_data(json), "{\"ops\":{\"twice\":", 16) == 0);
  soma_blob_release(json);
  GOOD(soma_cache_pin(cache, key, 64, 0, &error));
  CHECK(has(cache, "\"pinned\":0"));
  BAD(soma_cache_pin(cache, "12", SOMA_NUL, 1, &error), SOMA_INVALID_ARGUMENT, "cache.key");
  BAD(soma_cache_pin(cache, key, 64, 7, &error), SOMA_OUT_OF_RANGE, "argument.range");
  key[0] = key[0] == 'a' ? 'b' : 'a';
  BAD(soma_cache_pin(cache, key, 64, 1, &error), SOMA_NOT_FOUND, "cache.not_found");
  BAD(soma_cache_open(runtime, "/proc", SOMA_NUL, NULL, &none, &error), SOMA_INCOMPATIBLE,
      "cache.version");
  BAD(soma_cache_open(runtime, "/dev/null/x", SOMA_NUL, NULL, &none, &error), SOMA_UNAVAILABLE,
      "cache.store");
  CHECK(none == NULL);
  soma_run_release(run);
  soma_cache_release(cache);
  soma_runtime_release(runtime);
  CHECK(account.live == 0);
}

static void test_a_cache_without_room_fails_no_run(void) {
  Account account = {0};
  soma_runtime* runtime = make_runtime(&account, 0);
  soma_run* run = make_run(runtime);
  soma_cache* cache = NULL;
  soma_options* settings = NULL;
  GOOD(soma_options_create("cache", SOMA_NUL, &settings, &error));
  GOOD(soma_options_set_int(settings, "memory_bytes", SOMA_NUL, 0, &error));
  GOOD(soma_cache_create(runtime, settings, &cache, &error));
  soma_options_release(settings);
  GOOD(soma_run_set_cache(run, cache, &error));
  GOOD(soma_run_set_observer(run, observe, NULL, NULL, &error));
  forget_events();
  CHECK(execute(runtime, run, 5) == 20 && calls == 2 && failures == 2);
  CHECK(has(cache, "\"failed_writes\":2"));
  soma_run_release(run);
  soma_cache_release(cache);
  soma_runtime_release(runtime);
  CHECK(account.live == 0);
}

typedef struct {
  soma_runtime* runtime;
  soma_cache* cache;
} Shared;

static void* execute_often(void* user) {
  const Shared* shared = user;
  soma_run* run = make_run(shared->runtime);
  soma_blob* json = NULL;
  GOOD(soma_run_set_cache(run, shared->cache, &error));
  for (int i = 0; i < 200; ++i) {
    CHECK(execute(shared->runtime, run, i % 20) == 4 * (i % 20));
    if (i % 50 == 49) {
      GOOD(soma_cache_sweep(shared->cache, 2000, &json, &error));
      soma_blob_release(json);
    }
  }
  soma_run_release(run);
  return NULL;
}

static void test_many_threads(const char* folder) {
  Account account = {0};
  Shared shared = {make_runtime(&account, 0), NULL};
  pthread_t threads[3];
  GOOD(soma_cache_open(shared.runtime, folder, SOMA_NUL, NULL, &shared.cache, &error));
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, execute_often, &shared);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  CHECK(has(shared.cache, "\"damaged\":0"));
  soma_cache_release(shared.cache);
  soma_runtime_release(shared.runtime);
  CHECK(account.live == 0);
}

static void test_runtimes_do_not_mix(void) {
  Account account = {0}, other_account = {0};
  soma_runtime *runtime = make_runtime(&account, 0), *other = make_runtime(&other_account, 0);
  soma_run* run = make_run(runtime);
  soma_cache* foreign = NULL;
  GOOD(soma_cache_create(other, NULL, &foreign, &error));
  BAD(soma_run_set_cache(run, foreign, &error), SOMA_INVALID_ARGUMENT, "argument.handle");
  soma_run_release(run);
  soma_cache_release(foreign);
  soma_runtime_release(runtime);
  soma_runtime_release(other);
  CHECK(account.live == 0 && other_account.live == 0);
}

int main(int count, char** arguments) {
  report = stdout;
  if (count < 2) return 2;
  test_release_in_any_order(arguments[1]);
  test_exchange();
  test_pins_and_sweeps(arguments[1]);
  test_a_cache_without_room_fails_no_run();
  test_many_threads(arguments[1]);
  test_runtimes_do_not_mix();
  return summary();
}
