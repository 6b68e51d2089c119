/* Proves the life of gradients through the C interface: of the functions that make and add them, of
 * what their calls show, and of what a run keeps to trace them back.
 *
 * usage: lifetime_gradients
 */
#define _GNU_SOURCE
#include "runtime.h"

/* What the functions know. */
typedef struct {
  soma_runtime* runtime;
  atomic_int destroyed, released, calls;
  soma_call* over;        /* a vjp's, after its end */
  soma_value* kept;       /* what it showed */
  int fails;
} Host;

static void host_destroy(void* user) { ((Host*)user)->destroyed += 1; }
static void opaque_destroy(void* user) { ((Host*)user)->released += 1; }

/* Yields what it reads, and shows no gradient. */
static int32_t same(void* user, soma_call* call) {
  (void)user;
  CHECK(soma_call_yielded(call) == NULL && soma_call_gradient(call) == NULL);
  GOOD(soma_call_set_output(call, soma_call_input(call), &error));
  return SOMA_CONTINUE;
}

/* Of all that it is given makes something opaque; keeps its gradient beyond the call. */
static int32_t gradient(void* user, soma_call* call) {
  Host* host = user;
  soma_blob* facts = NULL;
  soma_value* made = NULL;
  int64_t read = 0, yielded = 0;
  host->calls += 1;
  GOOD(soma_value_int(soma_call_input(call), &read, &error));
  GOOD(soma_value_int(soma_call_yielded(call), &yielded, &error));
  CHECK(read == 7 && yielded == 7);
  CHECK(soma_call_gradient(call) == soma_call_gradient(call));
  CHECK(soma_call_goes_on(call) == 1);
  GOOD(soma_call_facts(call, &facts, &error));
  CHECK(strstr(soma_blob_data(facts), "\"op\":\"same\"") != NULL);
  soma_blob_release(facts);
  if (!host->kept) {
    soma_value_retain(soma_call_gradient(call));
    host->kept = (soma_value*)(uintptr_t)soma_call_gradient(call);
    host->over = call;
  }
  if (host->fails) {
    GOOD(soma_call_fail(call, "not today", SOMA_NUL, &error));
    return SOMA_STOP;
  }
  GOOD(soma_value_of_opaque(host->runtime, host, opaque_destroy, &made, &error));
  GOOD(soma_call_set_output(call, made, &error));
  soma_value_release(made);
  return SOMA_CONTINUE;
}

/* Of two opaque gradients the number of their kinds. */
static int32_t add(void* user, soma_call* call) {
  Host* host = user;
  soma_value *one = NULL, *other = NULL, *sum = NULL;
  soma_blob* facts = NULL;
  CHECK(soma_value_size(soma_call_input(call)) == 2 && soma_call_yielded(call) != NULL);
  GOOD(soma_value_at(soma_call_input(call), 0, &one, &error));
  GOOD(soma_value_at(soma_call_input(call), 1, &other, &error));
  CHECK(soma_value_opaque(one) == host && soma_value_opaque(other) == host);
  BAD(soma_call_facts(call, &facts, &error), SOMA_INVALID_ARGUMENT, "argument.handle");
  GOOD(soma_value_of_int(host->runtime, 2, &sum, &error));
  GOOD(soma_call_set_output(call, sum, &error));
  soma_value_release(one);
  soma_value_release(other);
  soma_value_release(sum);
  return SOMA_CONTINUE;
}

static const char two_leaves[] =
    "{\"soma\":\"graph\",\"version\":1,\"nodes\":["
    "{\"id\":\"a\",\"kind\":\"function\",\"op\":\"same\",\"differentiable\":true},"
    "{\"id\":\"b\",\"kind\":\"function\",\"op\":\"same\",\"differentiable\":true}],\"edges\":[]}";

static soma_plan* make_plan(const soma_runtime* runtime, const char* mode) {
  soma_graph* graph = NULL;
  soma_options* settings = NULL;
  soma_plan* plan = NULL;
  GOOD(soma_graph_parse(runtime, two_leaves, SOMA_NUL, &graph, &error));
  GOOD(soma_options_create("compile", SOMA_NUL, &settings, &error));
  GOOD(soma_options_set_text(settings, "mode", SOMA_NUL, mode, SOMA_NUL, &error));
  GOOD(soma_plan_compile(graph, settings, &plan, &error));
  soma_graph_release(graph);
  soma_options_release(settings);
  return plan;
}

static soma_run* make_run(Host* host, const char* mode, int can_add) {
  soma_plan* plan = make_plan(host->runtime, mode);
  soma_ops* ops = NULL;
  soma_run* run = NULL;
  GOOD(soma_ops_create(host->runtime, &ops, &error));
  GOOD(soma_ops_add(ops, "same", SOMA_NUL, 0, SOMA_THREAD_ANY, 0, same, host, host_destroy,
                    &error));
  GOOD(soma_ops_add_vjp(ops, "same", SOMA_NUL, 0, gradient, host, host_destroy, &error));
  if (can_add) GOOD(soma_ops_set_gradient_sum(ops, add, host, host_destroy, &error));
  GOOD(soma_run_create(plan, ops, NULL, &run, &error));
  BAD(soma_ops_add_vjp(ops, "same", SOMA_NUL, 0, gradient, host, host_destroy, &error),
      SOMA_FAILED_PRECONDITION, "ops.in_use");
  BAD(soma_ops_set_gradient_sum(ops, add, host, host_destroy, &error), SOMA_FAILED_PRECONDITION,
      "ops.in_use");
  CHECK(host->destroyed == 2);   /* what was refused is given back */
  host->destroyed = 0;
  soma_plan_release(plan);
  soma_ops_release(ops);
  return run;
}

static void execute(const Host* host, soma_run* run) {
  soma_value *input = NULL, *out = NULL;
  GOOD(soma_value_of_int(host->runtime, 7, &input, &error));
  GOOD(soma_run_execute(run, input, NULL, &out, &error));
  soma_value_release(input);
  soma_value_release(out);
}

static soma_value* ones(const Host* host) {
  soma_value* made = NULL;
  GOOD(soma_value_parse(host->runtime, "{\"a\":1,\"b\":1}", SOMA_NUL, &made, &error));
  return made;
}

static void test_functions_live_as_long_as_their_ops(void) {
  Account account = {0};
  Host host = {0};
  host.runtime = make_runtime(&account, 0);
  soma_run* run = make_run(&host, "differentiable", 1);
  soma_value *given = ones(&host), *out = NULL;
  int64_t sum = 0;
  execute(&host, run);
  for (int again = 1; again <= 2; ++again) {
    GOOD(soma_run_backward(run, given, NULL, &out, &error));
    GOOD(soma_value_int(out, &sum, &error));
    CHECK(sum == 2 && host.calls == 2 * again && host.released == 2 * again);
    soma_value_release(out);
  }
  soma_value_release(given);
  CHECK(soma_call_input(host.over) == NULL && soma_call_yielded(host.over) == NULL &&
        soma_call_gradient(host.over) == NULL && soma_call_goes_on(host.over) == 0);
  CHECK(soma_call_yielded(NULL) == NULL && soma_call_gradient(NULL) == NULL);
  BAD(soma_call_fail(host.over, "late", SOMA_NUL, &error), SOMA_INVALID_ARGUMENT,
      "argument.handle");
  CHECK(host.destroyed == 0);
  soma_run_release(run);
  CHECK(host.destroyed == 3);
  soma_runtime_release(host.runtime);
  CHECK(account.live > 0);       /* what was kept keeps the runtime */
  soma_value_release(host.kept);
  CHECK(account.live == 0);
}

static void test_failures(void) {
  Account account = {0};
  Host host = {0};
  soma_value *given, *out = NULL;
  soma_error* error = NULL;
  host.runtime = make_runtime(&account, 0);
  soma_run* run = make_run(&host, "differentiable", 0);
  given = ones(&host);
  BAD(soma_run_backward(run, given, NULL, &out, &error), SOMA_FAILED_PRECONDITION,
      "run.no_gradient");
  execute(&host, run);
  BAD(soma_run_backward(run, given, NULL, &out, &error), SOMA_INVALID_ARGUMENT, "run.gradient");
  CHECK(out == NULL && host.released == 2);
  host.fails = 1;
  CHECK(soma_run_backward(run, given, NULL, &out, &error) == SOMA_ABORTED);
  CHECK(strcmp(soma_error_message(error, NULL),
               "node 'b' failed: its vjp: not today (callback.failed)") == 0);
  soma_error_release(error);
  host.fails = 0;
  soma_cancel* stop = NULL;
  GOOD(soma_cancel_create(host.runtime, &stop, &error));
  soma_cancel_request(stop);
  BAD(soma_run_backward(run, given, stop, &out, &error), SOMA_CANCELLED, "cancelled");
  soma_cancel_release(stop);
  GOOD(soma_run_start(run, NULL, NULL, &error));
  BAD(soma_run_backward(run, given, NULL, &out, &error), SOMA_FAILED_PRECONDITION, "object.busy");
  GOOD(soma_run_abandon(run, &error));
  BAD(soma_run_backward(run, given, NULL, &out, &error), SOMA_FAILED_PRECONDITION,
      "run.no_gradient");
  soma_run_release(run);
  CHECK(host.destroyed == 2);
  host.destroyed = 0;
  run = make_run(&host, "inference", 0);
  execute(&host, run);
  BAD(soma_run_backward(run, given, NULL, &out, &error), SOMA_FAILED_PRECONDITION,
      "run.no_gradient");
  soma_run_release(run);
  soma_value_release(given);
  soma_value_release(host.kept);
  soma_runtime_release(host.runtime);
  CHECK(account.live == 0);
}

static void test_refusals(void) {
  Account account = {0};
  Host host = {0};
  int destroyed = 0;
  soma_ops* ops = NULL;
  host.runtime = make_runtime(&account, 0);
  GOOD(soma_ops_create(host.runtime, &ops, &error));
  BAD(soma_ops_add_vjp(ops, "none", SOMA_NUL, 0, gradient, &destroyed, count_destroy, &error),
      SOMA_OUT_OF_RANGE, "argument.range");
  BAD(soma_ops_add_vjp(ops, "std.sum", SOMA_NUL, 1, gradient, &destroyed, count_destroy, &error),
      SOMA_ALREADY_EXISTS, "ops.duplicate");
  BAD(soma_ops_add_vjp(ops, "std.concat", SOMA_NUL, 1, NULL, &destroyed, count_destroy, &error),
      SOMA_INVALID_ARGUMENT, "argument.null");
  CHECK(destroyed == 3);
  GOOD(soma_ops_add_vjp(ops, "std.concat", SOMA_NUL, 1, gradient, &destroyed, count_destroy,
                        &error));
  GOOD(soma_ops_set_gradient_sum(ops, add, &destroyed, count_destroy, &error));
  BAD(soma_ops_set_gradient_sum(ops, add, &destroyed, count_destroy, &error), SOMA_ALREADY_EXISTS,
      "ops.duplicate");
  CHECK(destroyed == 4);
  GOOD(soma_ops_add_prepare(ops, "std.sum", SOMA_NUL, 1, same, &destroyed, count_destroy, &error));
  BAD(soma_ops_add_prepare(ops, "std.sum", SOMA_NUL, 1, same, &destroyed, count_destroy, &error),
      SOMA_ALREADY_EXISTS, "ops.duplicate");
  BAD(soma_ops_add_prepare(ops, "none", SOMA_NUL, 1, same, &destroyed, count_destroy, &error),
      SOMA_OUT_OF_RANGE, "argument.range");
  CHECK(destroyed == 6);
  soma_ops_release(ops);
  CHECK(destroyed == 9);
  soma_runtime_release(host.runtime);
  CHECK(account.live == 0);
}

int main(void) {
  report = stdout;
  test_functions_live_as_long_as_their_ops();
  test_failures();
  test_refusals();
  return summary();
}
