/* Proves the life of probes: told what happens and where, destroyed once, and no part of a run.
 *
 * usage: lifetime_probes
 */
#define _GNU_SOURCE
#include "runtime.h"

typedef struct {
  int events[SOMA_EVENT_CACHE_FAILED + 1]; /* by kind */
  int destroyed;
  int64_t last_ns;
  soma_cancel* cancel; /* asked for when a node begins; or NULL */
  char paths[128];     /* of nodes that finished */
} Host;

static void destroy(void* user) { ((Host*)user)->destroyed += 1; }

static int says(const char* text, size_t length, const char* expected) {
  return length == strlen(expected) && (length == 0 || memcmp(text, expected, length) == 0);
}

static void probe(void* user, const soma_event* event) {
  Host* host = user;
  CHECK(event->struct_size == sizeof(soma_event));
  CHECK(event->kind >= SOMA_EVENT_RUN_STARTED && event->kind <= SOMA_EVENT_CACHE_FAILED);
  CHECK(event->at_ns >= host->last_ns && event->thread == 0);
  host->last_ns = event->at_ns;
  host->events[event->kind] += 1;
  const int is_of_run = event->kind <= SOMA_EVENT_RUN_SUSPENDED;
  CHECK(is_of_run == (event->node == UINT32_MAX));
  CHECK(event->id && event->path && event->name && event->reason && event->message);
  CHECK(is_of_run == (event->id_length == 0) && is_of_run == (event->path_length == 0));
  if (event->kind == SOMA_EVENT_NODE_FINISHED) {
    strncat(host->paths, event->path, event->path_length);
    strcat(host->paths, " ");
  }
  if (event->kind == SOMA_EVENT_NODE_STARTED && host->cancel) {
    soma_cancel_request(host->cancel);
  }
  const int has_failed =
      event->kind == SOMA_EVENT_NODE_FAILED || event->kind == SOMA_EVENT_RUN_FAILED;
  CHECK(has_failed == (event->reason_length > 0) && has_failed == (event->message_length > 0));
  if (has_failed && host->cancel) CHECK(says(event->reason, event->reason_length, "cancelled"));
  if (event->kind == SOMA_EVENT_PASS_FINISHED) {
    const int is_last = event->number == 2;
    CHECK(event->count == (is_last ? 2 : 0) && says(event->id, event->id_length, "round"));
  }
}

/* Two passes of two nodes, and one behind them. */
static const char document[] =
    "{\"soma\":\"graph\",\"version\":1,\"nodes\":["
    "{\"id\":\"round\",\"kind\":\"loop\",\"max_iterations\":2,\"until\":\"exhaust\"},"
    "{\"id\":\"a\",\"kind\":\"function\",\"op\":\"std.identity\"},"
    "{\"id\":\"b\",\"kind\":\"function\",\"op\":\"std.identity\"},"
    "{\"id\":\"last\",\"kind\":\"function\",\"op\":\"std.identity\"}],\"edges\":["
    "{\"from\":\"round\",\"to\":\"a\",\"kind\":\"control\"},{\"from\":\"a\",\"to\":\"b\"},"
    "{\"from\":\"round\",\"to\":\"last\"}]}";

typedef struct {
  soma_runtime* runtime;
  soma_run* run;
} World;

static World build(Account* account) {
  World w = {make_runtime(account, 1), NULL};
  soma_graph* graph = NULL;
  soma_plan* plan = NULL;
  soma_ops* ops = NULL;
  GOOD(soma_graph_parse(w.runtime, document, SOMA_NUL, &graph, &error));
  GOOD(soma_plan_compile(graph, NULL, &plan, &error));
  GOOD(soma_ops_create(w.runtime, &ops, &error));
  GOOD(soma_run_create(plan, ops, NULL, &w.run, &error));
  soma_graph_release(graph);
  soma_plan_release(plan);
  soma_ops_release(ops);
  return w;
}

static void execute(const World* w) {
  soma_value* out = NULL;
  GOOD(soma_run_execute(w->run, NULL, NULL, &out, &error));
  soma_value_release(out);
}

static void test_is_told_what_happens(void) {
  Host host = {0};
  Account account = {0};
  World w = build(&account);
  GOOD(soma_run_set_probe(w.run, probe, &host, destroy, &error));
  execute(&w);
  CHECK(strcmp(host.paths, "round[1]/a round[1]/b round[2]/a round[2]/b round last ") == 0);
  CHECK(host.events[SOMA_EVENT_RUN_STARTED] == 1 && host.events[SOMA_EVENT_RUN_FINISHED] == 1);
  CHECK(host.events[SOMA_EVENT_NODE_STARTED] == 6 && host.events[SOMA_EVENT_NODE_FINISHED] == 6);
  CHECK(host.events[SOMA_EVENT_PASS_FINISHED] == 2);
  soma_runtime_release(w.runtime);
  soma_run_release(w.run);
  CHECK(host.destroyed == 1 && account.live == 0 && account.destroyed == 1);
}

static void test_is_destroyed_once(void) {
  Host host = {0};
  World w = build(NULL);
  soma_value* out = NULL;
  BAD(soma_run_set_probe(NULL, probe, &host, destroy, &error), SOMA_INVALID_ARGUMENT,
      "argument.null");
  CHECK(host.destroyed == 1);
  GOOD(soma_run_set_probe(w.run, probe, &host, destroy, &error));
  GOOD(soma_run_set_probe(w.run, probe, &host, destroy, &error));
  CHECK(host.destroyed == 2); /* replaced */
  GOOD(soma_run_start(w.run, NULL, NULL, &error));
  BAD(soma_run_set_probe(w.run, probe, &host, destroy, &error), SOMA_FAILED_PRECONDITION,
      "object.busy");
  CHECK(host.destroyed == 3); /* refused in the middle of an execution, in which the first stays */
  while (out == NULL) GOOD(soma_run_step(w.run, INT64_MAX, &out, &error));
  soma_value_release(out);
  CHECK(host.events[SOMA_EVENT_RUN_FINISHED] == 1);
  GOOD(soma_run_set_probe(w.run, NULL, &host, destroy, &error));
  CHECK(host.destroyed == 4); /* taken away; and this one is never called */
  execute(&w);
  CHECK(host.events[SOMA_EVENT_RUN_STARTED] == 1);
  soma_run_release(w.run);
  soma_runtime_release(w.runtime);
  CHECK(host.destroyed == 5);
}

/* A probe may ask for the end; and it is told of that. */
static void test_may_cancel(void) {
  Host host = {0};
  World w = build(NULL);
  soma_value* out = NULL;
  GOOD(soma_cancel_create(w.runtime, &host.cancel, &error));
  GOOD(soma_run_set_probe(w.run, probe, &host, destroy, &error));
  for (int again = 1; again <= 2; ++again) {
    BAD(soma_run_execute(w.run, NULL, host.cancel, &out, &error), SOMA_CANCELLED, "cancelled");
    CHECK(host.events[SOMA_EVENT_RUN_FAILED] == again);
    GOOD(soma_cancel_reset(host.cancel, &error));
  }
  CHECK(host.events[SOMA_EVENT_RUN_FINISHED] == 0 && host.events[SOMA_EVENT_NODE_FAILED] == 2);
  GOOD(soma_run_start(w.run, NULL, NULL, &error));
  GOOD(soma_run_abandon(w.run, &error));
  CHECK(host.events[SOMA_EVENT_RUN_FAILED] == 3);
  soma_cancel_release(host.cancel);
  soma_run_release(w.run);
  soma_runtime_release(w.runtime);
  CHECK(host.destroyed == 1);
}

int main(void) {
  report = stdout;
  test_is_told_what_happens();
  test_is_destroyed_once();
  test_may_cancel();
  return summary();
}
