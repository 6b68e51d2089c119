/* Proves the life of graphs, plans, ops, runs and values, and of what hosts put into them:
 * destroyed once, in any order, whether calls succeed or fail, and whoever else still holds a part.
 *
 * usage: lifetime_graphs
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

#include "runtime.h"

/* What a node's function and an observer know. */
typedef struct {
  atomic_int op_destroyed, observer_destroyed, opaque_destroyed;
  atomic_int calls, events;
  soma_runtime* runtime;
  soma_run* run;     /* the one at hand */
  soma_cancel* cancel;
  soma_value* kept;  /* by a node, beyond its call */
} Host;

static void op_destroy(void* user) { ((Host*)user)->op_destroyed += 1; }
static void observer_destroy(void* user) { ((Host*)user)->observer_destroyed += 1; }
static void opaque_destroy(void* user) { ((Host*)user)->opaque_destroyed += 1; }

static void observe(void* user, const char* event, size_t length) {
  ((Host*)user)->events += 1;
  CHECK(length > 0 && event[length] == '\0');
}

/* Keeps its input, and yields a list of it and something of the host's. */
static int32_t keep(void* user, soma_call* call) {
  Host* host = user;
  const soma_value* parts[2];
  soma_value *mine = NULL, *both = NULL;
  host->calls += 1;
  parts[0] = soma_call_input(call);
  CHECK(parts[0] != NULL && soma_call_input(call) == parts[0]);
  if (!host->kept) {
    soma_value_retain(parts[0]);
    host->kept = (soma_value*)(uintptr_t)parts[0];
  }
  GOOD(soma_value_of_opaque(host->runtime, host, opaque_destroy, &mine, &error));
  parts[1] = mine;
  GOOD(soma_value_of_list(host->runtime, parts, 2, &both, &error));
  GOOD(soma_call_set_output(call, mine, &error)); /* the last one counts */
  GOOD(soma_call_set_output(call, both, &error));
  soma_value_release(mine);
  soma_value_release(both);
  return SOMA_CONTINUE;
}

static int32_t go_on(void* user, soma_call* call) {
  (void)user;
  CHECK(soma_call_goes_on(call) == 1);
  return SOMA_CONTINUE;
}

/* Sets an output and says why there is none after all. */
static int32_t refuse(void* user, soma_call* call) {
  ((Host*)user)->calls += 1;
  GOOD(soma_call_set_output(call, soma_call_input(call), &error));
  GOOD(soma_call_fail(call, "first", SOMA_NUL, &error));
  GOOD(soma_call_fail(call, "not today", SOMA_NUL, &error));
  return ((Host*)user)->calls % 2 == 0 ? SOMA_STOP : SOMA_CONTINUE; /* it fails all the same */
}

static int32_t accident(void* user, soma_call* call) {
  (void)user, (void)call;
  return 0;
}

/* A plan of one chain of two nodes: the identity, and a node of an op of ours. */
static soma_plan* plan_of(const soma_runtime* runtime, const char* op) {
  soma_graph* graph = NULL;
  soma_plan* plan = NULL;
  uint32_t first = 9, second = 9;
  GOOD(soma_graph_create(runtime, &graph, &error));
  GOOD(soma_graph_add_function(graph, "first", SOMA_NUL, "std.identity", SOMA_NUL, &first, &error));
  GOOD(soma_graph_add_function(graph, op, SOMA_NUL, NULL, 0, &second, &error));
  CHECK(first == 0 && second == 1);
  GOOD(soma_graph_add_edge(graph, first, second, SOMA_EDGE_DATA, NULL, 0, &error));
  GOOD(soma_plan_compile(graph, NULL, &plan, &error));
  soma_graph_release(graph);
  return plan;
}

/* From a document, with one op bound. */
static soma_run* run_of(soma_runtime* runtime, const char* document, const char* op,
                        soma_node_fn function, Host* host) {
  soma_graph* graph = NULL;
  soma_plan* plan = NULL;
  soma_ops* ops = NULL;
  soma_run* run = NULL;
  GOOD(soma_graph_parse(runtime, document, SOMA_NUL, &graph, &error));
  GOOD(soma_plan_compile(graph, NULL, &plan, &error));
  GOOD(soma_ops_create(runtime, &ops, &error));
  GOOD(soma_ops_add(ops, op, SOMA_NUL, 0, SOMA_THREAD_ANY, 0, function, host, op_destroy, &error));
  GOOD(soma_run_create(plan, ops, NULL, &run, &error));
  soma_graph_release(graph);
  soma_plan_release(plan);
  soma_ops_release(ops);
  return run;
}

#define ONE_NODE(op) \
  "{\"soma\":\"graph\",\"version\":1,\"nodes\":[{\"id\":\"n\",\"kind\":\"function\",\"op\":\"" op \
  "\"}],\"edges\":[]}"
/* Goes round until somebody stops it. */
static const char endless[] =
    "{\"soma\":\"graph\",\"version\":1,\"nodes\":[{\"id\":\"round\",\"kind\":\"loop\",\"until\":"
    "{\"when_signaled\":\"no\"}},{\"id\":\"n\",\"kind\":\"function\",\"op\":\"visit\"},{\"id\":"
    "\"no\",\"kind\":\"function\",\"op\":\"std.const\",\"config\":{\"value\":false}}],\"edges\":["
    "{\"from\":\"round\",\"to\":\"n\",\"kind\":\"control\"},{\"from\":\"n\",\"to\":\"no\"}]}";

/* Everything there is, from one runtime to what a run yielded. */
typedef struct {
  soma_runtime* runtime;
  soma_value* input;
  soma_graph* graph;
  soma_plan* plan;
  soma_ops* ops;
  soma_run* run;
  soma_value* output;
  soma_value* kept;
} World;

static World build(Account* account, Host* host) {
  World w = {0};
  uint32_t node = 0;
  *host = (Host){0};
  w.runtime = host->runtime = make_runtime(account, 1);
  GOOD(soma_value_parse(w.runtime, "{\"a\":[1,\"text\"]}", SOMA_NUL, &w.input, &error));
  GOOD(soma_graph_create(w.runtime, &w.graph, &error));
  GOOD(soma_graph_add_function(w.graph, "keep", SOMA_NUL, NULL, 0, &node, &error));
  w.plan = plan_of(w.runtime, "keep");
  GOOD(soma_ops_create(w.runtime, &w.ops, &error));
  GOOD(soma_ops_add(w.ops, "keep", SOMA_NUL, 0, SOMA_THREAD_ANY, 0, keep, host, op_destroy,
                    &error));
  GOOD(soma_run_create(w.plan, w.ops, NULL, &w.run, &error));
  GOOD(soma_run_set_observer(w.run, observe, host, observer_destroy, &error));
  GOOD(soma_run_execute(w.run, w.input, NULL, &w.output, &error));
  w.kept = host->kept;
  CHECK(host->calls == 1 && host->events >= 6);
  CHECK(host->op_destroyed == 0 && host->observer_destroyed == 0 && host->opaque_destroyed == 0);
  return w;
}

/* Releases the objects in one of the eight rotations of their order, forwards or backwards. */
static void release(World* w, int order) {
  for (int i = 0; i < 8; ++i) {
    switch (((order & 1) ? 8 + order / 2 - i : order / 2 + i) % 8) {
      case 0: soma_runtime_release(w->runtime); break;
      case 1: soma_value_release(w->input); break;
      case 2: soma_graph_release(w->graph); break;
      case 3: soma_plan_release(w->plan); break;
      case 4: soma_ops_release(w->ops); break;
      case 5: soma_run_release(w->run); break;
      case 6: soma_value_release(w->output); break;
      case 7: soma_value_release(w->kept); break;
    }
  }
}

static void check_all_gone(const Account* account, const Host* host) {
  CHECK(account->total > 0 && account->live == 0 && account->destroyed == 1);
  CHECK(host->op_destroyed == 1);
  CHECK(host->observer_destroyed == 1);
  CHECK(host->opaque_destroyed == host->calls);
}

static void test_release_in_any_order(void) {
  for (int order = 0; order < 16; ++order) {
    Account account = {0};
    Host host;
    World w = build(&account, &host);
    release(&w, order);
    check_all_gone(&account, &host);
  }
}

static void* release_all(void* user) {
  release(user, 5);
  return NULL;
}

/* One plan and one ops object serve a run on each thread. */
static void* execute_often(void* user) {
  const World* w = user;
  soma_run* run = NULL;
  GOOD(soma_run_create(w->plan, w->ops, NULL, &run, &error));
  for (int i = 0; i < 200; ++i) {
    soma_value* out = NULL;
    if (soma_run_execute(run, w->output, NULL, &out, NULL) != SOMA_OK) break;
    soma_value_retain(w->input);
    soma_value_release(w->input);
    soma_value_release(out);
  }
  soma_run_release(run);
  return NULL;
}

static void test_many_threads(void) {
  Account account = {0};
  Host host;
  World w = build(&account, &host);
  pthread_t threads[4];
  const int passed_before = passed;
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, execute_often, &w);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  CHECK(host.calls == 801);
  CHECK(passed > passed_before);
  pthread_create(&threads[0], NULL, release_all, &w); /* not the thread that made them */
  pthread_join(threads[0], NULL);
  check_all_gone(&account, &host);
}

static void test_values_outlive_all_else(void) {
  Account account = {0};
  Host host;
  World w = build(&account, &host);
  soma_value* list = NULL;
  soma_blob* json = NULL;
  GOOD(soma_value_at(w.output, 0, &list, &error));
  w.output = (soma_value_release(w.output), NULL);
  CHECK(host.opaque_destroyed == 1);
  release(&(World){w.runtime, w.input, w.graph, w.plan, w.ops, w.run, NULL, NULL}, 0);
  CHECK(host.op_destroyed == 1 && host.observer_destroyed == 1);
  CHECK(account.live > 0 && account.destroyed == 0);
  GOOD(soma_value_json(list, &json, &error));
  CHECK(strcmp(soma_blob_data(json), "{\"a\":[1,\"text\"]}") == 0);
  CHECK(soma_value_size(w.kept) == 1 && strcmp(soma_value_key(w.kept, 0), "a") == 0);
  soma_value_release(list);
  soma_value_release(w.kept);
  CHECK(account.destroyed == 0);
  soma_blob_release(json);
  check_all_gone(&account, &host);
}

static void test_ops_destroy_once(void) {
  Host host;
  World w = build(NULL, &host);
  int count = 0;
  soma_ops* ops = NULL;
  soma_run* run = NULL;
  soma_plan* unbound = plan_of(w.runtime, "visit");
  const char wrong[] = "\xff";
  GOOD(soma_ops_create(w.runtime, &ops, &error));
  BAD(soma_ops_add(NULL, "a", SOMA_NUL, 0, SOMA_THREAD_ANY, 0, go_on, &count, count_destroy,
                   &error), SOMA_INVALID_ARGUMENT, "argument.null");
  CHECK(count == 1);
  BAD(soma_ops_add(ops, "a", SOMA_NUL, 0, SOMA_THREAD_ANY, 0, NULL, &count, count_destroy,
                   &error), SOMA_INVALID_ARGUMENT, "argument.null");
  CHECK(count == 2);
  BAD(soma_ops_add(ops, "a", SOMA_NUL, 0, 9, 0, go_on, &count, count_destroy, &error),
      SOMA_OUT_OF_RANGE, "argument.range");
  for (int waits = -1; waits < 4; waits += 3) {
    int destroyed = 0;
    BAD(soma_ops_add(ops, "a", SOMA_NUL, 0, SOMA_THREAD_ANY, waits, go_on, &destroyed,
                     count_destroy, &error), SOMA_OUT_OF_RANGE, "argument.range");
    CHECK(destroyed == 1);
  }
  CHECK(count == 3);
  CHECK(soma_ops_add(ops, wrong, SOMA_NUL, 0, SOMA_THREAD_ANY, 0, go_on, &count, count_destroy,
                     NULL) == SOMA_INVALID_ARGUMENT);
  CHECK(count == 4);
  BAD(soma_ops_add(ops, "std.sum", SOMA_NUL, 1, SOMA_THREAD_ANY, 0, go_on, &count, count_destroy,
                   &error), SOMA_ALREADY_EXISTS, "ops.duplicate");
  CHECK(count == 5);
  BAD(soma_ops_add(w.ops, "late", SOMA_NUL, 0, SOMA_THREAD_ANY, 0, go_on, &count, count_destroy,
                   &error), SOMA_FAILED_PRECONDITION, "ops.in_use");
  CHECK(count == 6);

  /* A run that could not be made leaves the ops as they were: what it lacked can be added. */
  BAD(soma_run_create(unbound, ops, NULL, &run, &error), SOMA_NOT_FOUND, "run.unbound_op");
  CHECK(run == NULL);
  GOOD(soma_ops_add(ops, "visit", SOMA_NUL, 7, SOMA_THREAD_ANY, 0, go_on, &count, count_destroy,
                    &error));
  BAD(soma_run_create(unbound, ops, NULL, &run, &error), SOMA_NOT_FOUND, "run.unbound_op");
  GOOD(soma_ops_add(ops, "visit", SOMA_NUL, 1, SOMA_THREAD_CALLER, 1, go_on, &count,
                    count_destroy, &error));
  GOOD(soma_run_create(unbound, ops, NULL, &run, &error));
  soma_ops_release(ops);
  soma_plan_release(unbound);
  CHECK(count == 6); /* the run still has them */
  soma_run_release(run);
  CHECK(count == 8);
  release(&w, 1);
}

static void test_opaque_destroy_once(void) {
  Host host = {0};
  soma_runtime* runtime = make_runtime(NULL, 1);
  soma_value *mine = NULL, *map = NULL, *out = NULL;
  const char* keys[] = {"x", "y"};
  const soma_value* twice[2];
  BAD(soma_value_of_opaque(NULL, &host, opaque_destroy, &mine, &error), SOMA_INVALID_ARGUMENT,
      "argument.null");
  CHECK(host.opaque_destroyed == 1);
  BAD(soma_value_of_opaque(runtime, &host, opaque_destroy, NULL, &error), SOMA_INVALID_ARGUMENT,
      "argument.null");
  CHECK(host.opaque_destroyed == 2);
  GOOD(soma_value_of_opaque(runtime, NULL, NULL, &mine, &error));
  soma_value_release(mine);
  GOOD(soma_value_of_opaque(runtime, &host, opaque_destroy, &mine, &error));
  CHECK(soma_value_opaque(mine) == &host);
  twice[0] = twice[1] = mine;
  GOOD(soma_value_of_map(runtime, keys, twice, 2, &map, &error));
  soma_value_release(mine);
  CHECK(host.opaque_destroyed == 2);

  /* Through a run that succeeds, and one that fails, which lets go of what it read. */
  soma_run* run = run_of(runtime, ONE_NODE("std.identity"), "unused", go_on, &host);
  GOOD(soma_run_execute(run, map, NULL, &out, &error));
  soma_run_release(run);
  soma_value_release(map);
  CHECK(host.opaque_destroyed == 2);
  run = run_of(runtime, ONE_NODE("refuse"), "refuse", refuse, &host);
  map = out;
  BAD(soma_run_execute(run, map, NULL, &out, &error), SOMA_ABORTED, "run.node_failed");
  CHECK(out == NULL && host.calls == 1);
  soma_value_release(map);
  CHECK(host.opaque_destroyed == 3);
  soma_run_release(run);

  /* An execution that was begun and never ended. */
  GOOD(soma_value_of_opaque(runtime, &host, opaque_destroy, &mine, &error));
  run = run_of(runtime, endless, "visit", go_on, &host);
  GOOD(soma_run_start(run, mine, NULL, &error));
  soma_value_release(mine);
  GOOD(soma_run_step(run, 1, &out, &error));
  CHECK(out == NULL && host.opaque_destroyed == 3);
  soma_run_release(run);
  CHECK(host.opaque_destroyed == 4);
  soma_runtime_release(runtime);
}

static void test_observer_destroy_once(void) {
  Host host;
  World w = build(NULL, &host);
  soma_value* out = NULL;
  BAD(soma_run_set_observer(NULL, observe, &host, observer_destroy, &error),
      SOMA_INVALID_ARGUMENT, "argument.null");
  CHECK(host.observer_destroyed == 1);
  GOOD(soma_run_set_observer(w.run, observe, &host, observer_destroy, &error));
  CHECK(host.observer_destroyed == 2); /* replaced */
  GOOD(soma_run_start(w.run, NULL, NULL, &error));
  BAD(soma_run_set_observer(w.run, observe, &host, observer_destroy, &error),
      SOMA_FAILED_PRECONDITION, "object.busy");
  CHECK(host.observer_destroyed == 3); /* refused in the middle of an execution */
  while (out == NULL) GOOD(soma_run_step(w.run, INT64_MAX, &out, &error));
  soma_value_release(out);
  GOOD(soma_run_set_observer(w.run, NULL, &host, observer_destroy, &error));
  CHECK(host.observer_destroyed == 4); /* taken away; and this one is never called */
  const int events = host.events;
  GOOD(soma_run_execute(w.run, w.input, NULL, &out, &error));
  CHECK(host.events == events);
  soma_value_release(out);
  release(&w, 3);
  CHECK(host.observer_destroyed == 5);
}

/* The details of an error, by key; NULL: there is none. */
static const char* detail(const soma_error* error, const char* key) {
  for (size_t i = 0; i < soma_error_detail_count(error); ++i) {
    if (strcmp(soma_error_detail_key(error, i, NULL), key) == 0) {
      return soma_error_detail_value(error, i, NULL);
    }
  }
  return NULL;
}

static void test_failures_say_where_and_leave_the_run_usable(void) {
  Account account = {0};
  Host host = {0};
  soma_runtime* runtime = make_runtime(&account, 1);
  soma_run* run = run_of(runtime, ONE_NODE("refuse"), "refuse", refuse, &host);
  for (int i = 0; i < 3; ++i) {
    soma_error* failure = NULL;
    soma_value* out = NULL;
    CHECK(soma_run_execute(run, NULL, NULL, &out, &failure) == SOMA_ABORTED && out == NULL);
    CHECK(strstr(soma_error_message(failure, NULL), "not today") != NULL);
    CHECK(strstr(soma_error_message(failure, NULL), "first") == NULL);
    CHECK(strcmp(detail(failure, "node"), "n") == 0 && strcmp(detail(failure, "path"), "n") == 0);
    soma_error_release(failure);
    CHECK(soma_run_start(run, NULL, NULL, NULL) == SOMA_OK);
    CHECK(soma_run_step(run, 0, &out, NULL) == SOMA_ABORTED && out == NULL);
    BAD(soma_run_step(run, 0, &out, &error), SOMA_FAILED_PRECONDITION, "run.not_started");
  }
  CHECK(host.calls == 6);
  soma_run_release(run);
  run = run_of(runtime, ONE_NODE("accident"), "accident", accident, &host);
  soma_value* out = NULL;
  BAD(soma_run_execute(run, NULL, NULL, &out, &error), SOMA_ABORTED, "run.node_failed");
  soma_run_release(run);
  CHECK(host.op_destroyed == 2);
  soma_runtime_release(runtime);
  CHECK(account.live == 0);
}

/* What a node may do with the run that calls it, and with others. */
static int32_t reenter(void* user, soma_call* call) {
  Host* host = user;
  soma_value *out = NULL, *made = NULL;
  host->calls += 1;
  BAD(soma_run_execute(host->run, NULL, NULL, &out, &error), SOMA_FAILED_PRECONDITION,
      "object.busy");
  BAD(soma_run_start(host->run, NULL, NULL, &error), SOMA_FAILED_PRECONDITION, "object.busy");
  BAD(soma_run_step(host->run, 1, &out, &error), SOMA_FAILED_PRECONDITION, "object.busy");
  BAD(soma_run_set_observer(host->run, NULL, NULL, NULL, &error), SOMA_FAILED_PRECONDITION,
      "object.busy");
  soma_run* inner = run_of(host->runtime, ONE_NODE("std.identity"), "unused", go_on, host);
  GOOD(soma_run_execute(inner, soma_call_input(call), NULL, &out, &error)); /* others may go on */
  GOOD(soma_value_of_int(host->runtime, 42, &made, &error));
  GOOD(soma_call_set_output(call, made, &error));
  soma_value_release(made);
  soma_value_release(out);
  soma_run_release(inner);
  soma_run_release(host->run); /* the last reference: it lives as long as the call */
  soma_runtime_release(host->runtime);
  return SOMA_CONTINUE;
}

static void test_a_node_may_release_its_run(void) {
  Account account = {0};
  Host host = {0};
  soma_value* out = NULL;
  int64_t number = 0;
  host.runtime = make_runtime(&account, 1);
  host.run = run_of(host.runtime, ONE_NODE("reenter"), "reenter", reenter, &host);
  GOOD(soma_run_execute(host.run, NULL, NULL, &out, &error));
  CHECK(host.calls == 1 && host.op_destroyed == 2);
  GOOD(soma_value_int(out, &number, &error));
  CHECK(number == 42 && account.live > 0);
  soma_value_release(out);
  CHECK(account.live == 0 && account.destroyed == 1);
}

static int32_t visit(void* user, soma_call* call) {
  Host* host = user;
  host->calls += 1;
  if (host->cancel) {
    CHECK(soma_call_goes_on(call) == 1);
    if (host->calls == 1000) soma_cancel_request(host->cancel);
    CHECK(soma_call_goes_on(call) == (host->calls < 1000));
  }
  return SOMA_CONTINUE;
}

static int32_t tick(void* user, const char* phase, size_t length, uint64_t done,
                    uint64_t total) {
  Host* host = user;
  (void)length, (void)done;
  CHECK(strcmp(phase, "run") == 0 && total == 3);
  BAD(soma_run_set_observer(host->run, NULL, NULL, NULL, &error), SOMA_FAILED_PRECONDITION,
      "object.busy");
  return SOMA_STOP;
}

static void test_cancelling(void) {
  Account account = {0};
  Host host = {0};
  soma_value* out = NULL;
  host.runtime = make_runtime(&account, 1);
  host.run = run_of(host.runtime, endless, "visit", visit, &host);
  GOOD(soma_cancel_create(host.runtime, &host.cancel, &error));
  BAD(soma_run_execute(host.run, NULL, host.cancel, &out, &error), SOMA_CANCELLED, "cancelled");
  CHECK(host.calls == 1000);
  BAD(soma_run_execute(host.run, NULL, host.cancel, &out, &error), SOMA_CANCELLED, "cancelled");
  CHECK(host.calls == 1000); /* not even begun */
  soma_cancel* stop = host.cancel;
  host.cancel = NULL;
  GOOD(soma_cancel_reset(stop, &error));
  GOOD(soma_cancel_set_deadline(stop, 5000000, &error));
  BAD(soma_run_execute(host.run, NULL, stop, &out, &error), SOMA_DEADLINE_EXCEEDED, "deadline");
  GOOD(soma_cancel_reset(stop, &error));
  GOOD(soma_cancel_set_tick(stop, tick, &host, NULL, &error));
  BAD(soma_run_execute(host.run, NULL, stop, &out, &error), SOMA_CANCELLED, "cancelled");
  CHECK(out == NULL);
  soma_cancel_release(stop);
  soma_run_release(host.run);
  soma_runtime_release(host.runtime);
  CHECK(account.live == 0 && host.op_destroyed == 1);
}

static void is_over(soma_call* call) {
  soma_blob* facts = NULL;
  uint64_t chunk = 0;
  CHECK(soma_call_state(call) == NULL);
  BAD(soma_call_chunk(call, &chunk, NULL, &error), SOMA_INVALID_ARGUMENT, "argument.handle");
  BAD(soma_call_set_state(call, NULL, &error), SOMA_INVALID_ARGUMENT, "argument.handle");
  CHECK(soma_call_input(call) == NULL && soma_call_goes_on(call) == 0);
  BAD(soma_call_fail(call, "late", SOMA_NUL, &error), SOMA_INVALID_ARGUMENT, "argument.handle");
  BAD(soma_call_facts(call, &facts, &error), SOMA_INVALID_ARGUMENT, "argument.handle");
  BAD(soma_call_set_output(call, NULL, &error), SOMA_INVALID_ARGUMENT, "argument.handle");
}

typedef struct {
  soma_call* first;
  soma_call* last;
  long calls, alive;
} Keeper;

/* Keeps its first call, and the one before. */
static int32_t keep_call(void* user, soma_call* call) {
  Keeper* keeper = user;
  if (keeper->calls == 0) keeper->first = call;
  if (keeper->calls > 0) {
    keeper->alive += soma_call_goes_on(keeper->first) + soma_call_goes_on(keeper->last);
  }
  if (keeper->calls == 1) {
    is_over(keeper->first);
    /* A handle of a call is nothing else. */
    soma_value_retain((const soma_value*)call);
    soma_run_release((const soma_run*)call);
    CHECK(soma_call_goes_on(call) == 1);
  }
  keeper->last = call;
  keeper->calls += 1;
  return SOMA_CONTINUE;
}

/* A run that is driven by steps stops when it is told to, and when it is abandoned. */
static void test_steps_are_cancelled_and_abandoned(void) {
  Account account = {0};
  Host host = {0};
  soma_value* out = NULL;
  soma_cancel* stop = NULL;
  host.runtime = make_runtime(&account, 1);
  host.run = run_of(host.runtime, endless, "visit", visit, &host);
  GOOD(soma_run_abandon(host.run, &error)); /* nothing has been started */
  GOOD(soma_cancel_create(host.runtime, &stop, &error));
  GOOD(soma_run_start(host.run, NULL, stop, &error));
  BAD(soma_run_start(host.run, NULL, NULL, &error), SOMA_FAILED_PRECONDITION, "object.busy");
  BAD(soma_cancel_reset(stop, &error), SOMA_FAILED_PRECONDITION, "object.busy");
  GOOD(soma_run_step(host.run, 0, &out, &error));
  CHECK(out == NULL && host.calls == 1);
  soma_cancel_request(stop);
  BAD(soma_run_step(host.run, 0, &out, &error), SOMA_CANCELLED, "cancelled");
  BAD(soma_run_step(host.run, 0, &out, &error), SOMA_FAILED_PRECONDITION, "run.not_started");
  BAD(soma_run_start(host.run, NULL, stop, &error), SOMA_CANCELLED, "cancelled");
  GOOD(soma_cancel_reset(stop, &error));

  GOOD(soma_run_start(host.run, NULL, stop, &error));
  GOOD(soma_run_step(host.run, 0, &out, &error));
  GOOD(soma_run_abandon(host.run, &error));
  BAD(soma_run_step(host.run, 0, &out, &error), SOMA_FAILED_PRECONDITION, "run.not_started");
  GOOD(soma_cancel_reset(stop, &error)); /* it is free */
  GOOD(soma_run_start(host.run, NULL, NULL, &error));
  GOOD(soma_run_abandon(host.run, &error)); /* before the first step */

  GOOD(soma_run_start(host.run, NULL, stop, &error));
  soma_cancel_release(stop); /* the run keeps it */
  GOOD(soma_run_step(host.run, 0, &out, &error));
  soma_run_release(host.run);
  soma_runtime_release(host.runtime);
  CHECK(account.live == 0);
}

/* More often than there are numbers for the calls in one place. */
static void test_a_call_that_is_over_stays_over(void) {
  static const char often[] =
      "{\"soma\":\"graph\",\"version\":1,\"nodes\":[{\"id\":\"round\",\"kind\":\"loop\","
      "\"max_iterations\":4200000,\"until\":\"exhaust\"},{\"id\":\"n\",\"kind\":\"function\","
      "\"op\":\"keep\"}],\"edges\":[{\"from\":\"round\",\"to\":\"n\",\"kind\":\"control\"}]}";
  Account account = {0};
  Keeper keeper = {0};
  soma_value* out = NULL;
  soma_ops* ops = NULL;
  soma_graph* graph = NULL;
  soma_plan* plan = NULL;
  soma_run* run = NULL;
  soma_runtime* runtime = make_runtime(&account, 1);
  GOOD(soma_graph_parse(runtime, often, SOMA_NUL, &graph, &error));
  GOOD(soma_plan_compile(graph, NULL, &plan, &error));
  GOOD(soma_ops_create(runtime, &ops, &error));
  GOOD(soma_ops_add(ops, "keep", SOMA_NUL, 0, SOMA_THREAD_CALLER, 0, keep_call, &keeper, NULL,
                    &error));
  GOOD(soma_run_create(plan, ops, NULL, &run, &error));
  GOOD(soma_run_execute(run, NULL, NULL, &out, &error));
  CHECK(keeper.calls == 4200000 && keeper.alive == 0);
  is_over(keeper.first);
  is_over(keeper.last);
  soma_run_release(run);
  is_over(keeper.last);
  soma_value_release(out);
  soma_ops_release(ops);
  soma_plan_release(plan);
  soma_graph_release(graph);
  soma_runtime_release(runtime);
  CHECK(account.live == 0);
}

/* Blocks go back to the runtime they came from, so nothing goes from one into another. */
static void test_runtimes_do_not_mix(void) {
  Account first = {0}, second = {0};
  Host host, other_host;
  World w = build(&first, &host), other = build(&second, &other_host);
  const char* key = "k";
  const soma_value* foreign = other.input;
  soma_value* value = NULL;
  soma_graph* graph = NULL;
  soma_run* run = NULL;
  uint32_t node = 0;
  BAD(soma_value_of_list(w.runtime, &foreign, 1, &value, &error), SOMA_INVALID_ARGUMENT,
      "argument.handle");
  BAD(soma_value_of_map(w.runtime, &key, &foreign, 1, &value, &error), SOMA_INVALID_ARGUMENT,
      "argument.handle");
  BAD(soma_graph_then(w.graph, other.graph, &graph, &error), SOMA_INVALID_ARGUMENT,
      "argument.handle");
  BAD(soma_graph_beside(w.graph, other.graph, &graph, &error), SOMA_INVALID_ARGUMENT,
      "argument.handle");
  BAD(soma_graph_add_subgraph(w.graph, "s", SOMA_NUL, other.graph, &node, &error),
      SOMA_INVALID_ARGUMENT, "argument.handle");
  BAD(soma_run_create(w.plan, other.ops, NULL, &run, &error), SOMA_INVALID_ARGUMENT,
      "argument.handle");
  BAD(soma_run_execute(w.run, foreign, NULL, &value, &error), SOMA_INVALID_ARGUMENT,
      "argument.handle");
  BAD(soma_run_start(w.run, foreign, NULL, &error), SOMA_INVALID_ARGUMENT, "argument.handle");
  CHECK(value == NULL && graph == NULL && run == NULL);
  release(&w, 0);
  check_all_gone(&first, &host);
  release(&other, 0);
  check_all_gone(&second, &other_host);
}

int main(void) {
  report = stdout;
  test_release_in_any_order();
  test_many_threads();
  test_values_outlive_all_else();
  test_ops_destroy_once();
  test_opaque_destroy_once();
  test_observer_destroy_once();
  test_failures_say_where_and_leave_the_run_usable();
  test_a_node_may_release_its_run();
  test_cancelling();
  test_steps_are_cancelled_and_abandoned();
  test_a_call_that_is_over_stays_over();
  test_runtimes_do_not_mix();
  return summary();
}
