/* Proves that branches of a run meet on threads: the library's own and a host's, that a host's
 * threads get as many tasks as it runs at once, and that it gets its pool back.
 *
 * usage: pool
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { patience_s = 20 };

/* A node's function returns once so many others are in theirs. */
typedef struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int expected, arrived, met;
} Meeting;

static int32_t meet(void* user, soma_call* call) {
  Meeting* meeting = user;
  struct timespec deadline;
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += patience_s;
  pthread_mutex_lock(&meeting->mutex);
  meeting->arrived += 1;
  pthread_cond_broadcast(&meeting->changed);
  while (meeting->arrived < meeting->expected) {
    if (pthread_cond_timedwait(&meeting->changed, &meeting->mutex, &deadline) != 0) break;
  }
  if (meeting->arrived >= meeting->expected) meeting->met += 1;
  pthread_mutex_unlock(&meeting->mutex);
  CHECK(soma_call_goes_on(call) == 1);
  GOOD(soma_call_set_output(call, soma_call_input(call), &error));
  return SOMA_CONTINUE;
}

/* A host's pool: a thread for each task, as many as it says at a time. */
typedef struct {
  pthread_mutex_t mutex;
  int running, most, submitted, destroyed;
} Host;

typedef struct {
  Host* host;
  soma_task_fn task;
  void* argument;
} Task;

static void* run_task(void* user) {
  Task task = *(Task*)user;
  free(user);
  task.task(task.argument);
  pthread_mutex_lock(&task.host->mutex);
  task.host->running -= 1;
  pthread_mutex_unlock(&task.host->mutex);
  return NULL;
}

static void submit(void* user, soma_task_fn run, void* argument) {
  Host* host = user;
  Task* task = malloc(sizeof *task);
  pthread_t thread;
  *task = (Task){host, run, argument};
  pthread_mutex_lock(&host->mutex);
  host->submitted += 1;
  host->running += 1;
  if (host->running > host->most) host->most = host->running;
  pthread_mutex_unlock(&host->mutex);
  CHECK(pthread_create(&thread, NULL, run_task, task) == 0);
  CHECK(pthread_detach(thread) == 0);
}

static void host_destroy(void* user) { ((Host*)user)->destroyed += 1; }

static soma_runtime* make_runtime(int threads, Host* host, int parallelism) {
  soma_options* settings = NULL;
  soma_runtime* runtime = NULL;
  GOOD(soma_options_create("runtime", SOMA_NUL, &settings, &error));
  GOOD(soma_options_set_int(settings, "threads", SOMA_NUL, threads, &error));
  if (host) GOOD(soma_options_set_pool(settings, submit, parallelism, host, host_destroy, &error));
  GOOD(soma_runtime_create(SOMA_HEADER_ABI, settings, &runtime, &error));
  soma_options_release(settings);
  return runtime;
}

/* A wave of so many nodes of the op "meet". */
static soma_plan* wave_of(const soma_runtime* runtime, int nodes) {
  soma_graph* graph = NULL;
  soma_plan* plan = NULL;
  GOOD(soma_graph_create(runtime, &graph, &error));
  for (int i = 0; i < nodes; ++i) {
    char id[16];
    uint32_t number = 0;
    snprintf(id, sizeof id, "n%d", i);
    GOOD(soma_graph_add_function(graph, id, SOMA_NUL, "meet", SOMA_NUL, &number, &error));
  }
  GOOD(soma_plan_compile(graph, NULL, &plan, &error));
  soma_graph_release(graph);
  return plan;
}

static soma_ops* ops_of(const soma_runtime* runtime, Meeting* meeting, int waits) {
  soma_ops* ops = NULL;
  GOOD(soma_ops_create(runtime, &ops, &error));
  GOOD(soma_ops_add(ops, "meet", SOMA_NUL, 0, SOMA_THREAD_ANY, waits, meet, meeting, NULL,
                    &error));
  return ops;
}

/* Runs a wave in which all nodes meet, several times, and takes all of it down. */
static void check_meets(soma_runtime* runtime, int nodes, int waits, const char* launch) {
  Meeting meeting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, nodes, 0, 0};
  soma_plan* plan = wave_of(runtime, nodes);
  soma_ops* ops = ops_of(runtime, &meeting, waits);
  soma_options* settings = NULL;
  soma_value* input = NULL;
  soma_run* run = NULL;
  GOOD(soma_options_create("run", SOMA_NUL, &settings, &error));
  GOOD(soma_options_set_text(settings, "launch", SOMA_NUL, launch, SOMA_NUL, &error));
  GOOD(soma_value_parse(runtime, "{\"a\":[1,\"text\"]}", SOMA_NUL, &input, &error));
  GOOD(soma_run_create(plan, ops, settings, &run, &error));
  soma_options_release(settings);
  soma_ops_release(ops);
  soma_plan_release(plan);
  soma_runtime_release(runtime);
  for (int again = 0; again < 20; ++again) {
    soma_value* out = NULL;
    meeting.arrived = meeting.met = 0;
    GOOD(soma_run_execute(run, input, NULL, &out, &error));
    CHECK(meeting.met == nodes);
    CHECK(soma_value_size(out) == (size_t)nodes);
    soma_value_release(out);
  }
  soma_value_release(input);
  soma_run_release(run);
}

static void test_on_threads_of_the_library(void) {
  check_meets(make_runtime(4, NULL, 0), 4, 1, "adaptive");
  check_meets(make_runtime(1, NULL, 0), 6, 1, "adaptive"); /* beyond the bound */
  check_meets(make_runtime(4, NULL, 0), 4, 0, "always");
  check_meets(make_runtime(2, NULL, 0), 3, 0, "adaptive"); /* nobody said that they wait */
}

static void test_on_a_hosts_threads(void) {
  Host host = {PTHREAD_MUTEX_INITIALIZER, 0, 0, 0, 0};
  check_meets(make_runtime(1, &host, 3), 4, 1, "adaptive");
  CHECK(host.destroyed == 1);
  CHECK(host.submitted >= 60 && host.most <= 4); /* a task that has ended may still count here */

  Meeting meeting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 3, 0, 0};
  soma_runtime* runtime = make_runtime(8, &host, 1);
  soma_plan* plan = wave_of(runtime, 3);
  soma_ops* ops = ops_of(runtime, &meeting, 1);
  soma_run* run = NULL;
  BAD(soma_run_create(plan, ops, NULL, &run, &error), SOMA_RESOURCE_EXHAUSTED, "run.threads");
  CHECK(run == NULL);
  soma_plan_release(plan);
  soma_ops_release(ops);
  soma_runtime_release(runtime);
  CHECK(host.destroyed == 2);
}

/* Several runs want all of a host's threads. Each gets them or is told that it can't; none waits
 * for threads that others have. */
typedef struct {
  soma_runtime* runtime;
  atomic_int met, refused;
} Contest;

static void* compete(void* user) {
  Contest* contest = user;
  Meeting meeting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 4, 0, 0};
  soma_plan* plan = wave_of(contest->runtime, 4);
  soma_ops* ops = ops_of(contest->runtime, &meeting, 1);
  soma_run* run = NULL;
  GOOD(soma_run_create(plan, ops, NULL, &run, &error));
  for (int again = 0; again < 50; ++again) {
    soma_value* out = NULL;
    soma_error* error = NULL;
    meeting.arrived = meeting.met = 0;
    const soma_code code = soma_run_execute(run, NULL, NULL, &out, &error);
    if (code == SOMA_OK) {
      CHECK(meeting.met == 4);
      contest->met += 1;
    } else {
      CHECK(strcmp(soma_error_reason(error, NULL), "run.threads") == 0);
      CHECK(meeting.arrived == 0);
      contest->refused += 1;
    }
    soma_value_release(out);
    soma_error_release(error);
  }
  soma_run_release(run);
  soma_plan_release(plan);
  soma_ops_release(ops);
  return NULL;
}

static void test_runs_that_compete(void) {
  Host host = {PTHREAD_MUTEX_INITIALIZER, 0, 0, 0, 0};
  Contest contest = {make_runtime(1, &host, 3), 0, 0};
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, compete, &contest);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  CHECK(contest.met + contest.refused == 200);
  CHECK(contest.met > 0);
  soma_runtime_release(contest.runtime);
}

static void test_pools_that_are_refused(void) {
  Host host = {PTHREAD_MUTEX_INITIALIZER, 0, 0, 0, 0};
  soma_options *settings = NULL, *wrong = NULL;
  GOOD(soma_options_create("runtime", SOMA_NUL, &settings, &error));
  GOOD(soma_options_create("run", SOMA_NUL, &wrong, &error));
  BAD(soma_options_set_pool(settings, submit, -1, &host, host_destroy, &error), SOMA_OUT_OF_RANGE,
      "argument.range");
  BAD(soma_options_set_pool(settings, submit, 1024, &host, host_destroy, &error),
      SOMA_OUT_OF_RANGE, "argument.range");
  BAD(soma_options_set_pool(wrong, submit, 1, &host, host_destroy, &error), SOMA_INVALID_ARGUMENT,
      "argument.handle");
  CHECK(host.destroyed == 3);
  GOOD(soma_options_set_pool(settings, submit, 1, &host, host_destroy, &error));
  GOOD(soma_options_set_pool(settings, NULL, 0, NULL, NULL, &error)); /* taken away */
  CHECK(host.destroyed == 4);
  soma_options_release(settings);
  soma_options_release(wrong);
  CHECK(host.submitted == 0);
}

int main(void) {
  report = stdout;
  test_on_threads_of_the_library();
  test_on_a_hosts_threads();
  test_runs_that_compete();
  test_pools_that_are_refused();
  return summary();
}
