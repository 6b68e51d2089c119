/* Proves the life of objects and callbacks: destroyed once, in any order, silently, per runtime.
 * Those of graphs are in lifetime_graphs.c.
 *
 * usage: lifetime MODEL          all of it
 *        lifetime MODEL leave    builds everything and exits without releasing
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "account.h"
#include "check.h"

static const char* model_path;

static int32_t go_on(void* user, int32_t token, const char* text, size_t length) {
  (void)user, (void)token, (void)text, (void)length;
  return SOMA_CONTINUE;
}

static int32_t stop_at_once(void* user, int32_t token, const char* text, size_t length) {
  (void)user, (void)token, (void)text, (void)length;
  return SOMA_STOP;
}

static int32_t accident(void* user, int32_t token, const char* text, size_t length) {
  (void)user, (void)token, (void)text, (void)length;
  return 0;
}

static soma_options* options(const char* kind, const char* key, const char* value) {
  soma_options* made = NULL;
  GOOD(soma_options_create(kind, SOMA_NUL, &made, &error));
  if (key) GOOD(soma_options_parse(made, key, SOMA_NUL, value, SOMA_NUL, &error));
  return made;
}

/* Everything that there is, from one runtime to a sequence with logits. */
typedef struct {
  soma_runtime* runtime;
  soma_cancel* cancel;
  soma_model* model;
  soma_circuit* circuit;
  soma_fusion_plan* fusion;
  soma_buffer_plan* buffers;
  soma_program* program;
  soma_session* session;
  soma_sequence* sequence;
  soma_tensor* logits;
} World;

static const int32_t prompt[] = {5, 6, 7};

static World build(Account* account) {
  World w = {0};
  soma_options* settings = options("runtime", "threads", "2");
  if (account) {
    GOOD(soma_options_set_allocator(settings, account_alloc, account_free, account,
                                    account_destroy, &error));
  }
  GOOD(soma_runtime_create(SOMA_HEADER_ABI, settings, &w.runtime, &error));
  soma_options_release(settings);
  GOOD(soma_cancel_create(w.runtime, &w.cancel, &error));
  GOOD(soma_model_open(w.runtime, model_path, SOMA_NUL, NULL, w.cancel, &w.model, &error));
  GOOD(soma_circuit_create(w.model, &w.circuit, &error));
  GOOD(soma_fusion_plan_create(w.circuit, NULL, &w.fusion, &error));
  GOOD(soma_buffer_plan_create(w.fusion, &w.buffers, &error));
  GOOD(soma_program_create(w.buffers, &w.program, &error));
  settings = options("session", "context", "64");
  GOOD(soma_session_create(w.model, settings, w.cancel, &w.session, &error));
  soma_options_release(settings);
  GOOD(soma_sequence_create(w.session, &w.sequence, &error));
  GOOD(soma_sequence_prefill(w.sequence, prompt, 3, SOMA_LOGITS_LAST, w.cancel, &error));
  GOOD(soma_sequence_logits(w.sequence, &w.logits, &error));
  return w;
}

/* Releases the objects in one of the ten rotations of their order, forwards or backwards. */
static void release(World* w, int order) {
  for (int i = 0; i < 10; ++i) {
    switch (((order & 1) ? 10 + order / 2 - i : order / 2 + i) % 10) {
      case 0: soma_runtime_release(w->runtime); break;
      case 1: soma_cancel_release(w->cancel); break;
      case 2: soma_model_release(w->model); break;
      case 3: soma_circuit_release(w->circuit); break;
      case 4: soma_fusion_plan_release(w->fusion); break;
      case 5: soma_buffer_plan_release(w->buffers); break;
      case 6: soma_program_release(w->program); break;
      case 7: soma_session_release(w->session); break;
      case 8: soma_sequence_release(w->sequence); break;
      case 9: soma_tensor_release(w->logits); break;
    }
  }
}

static void test_release_in_any_order(void) {
  for (int order = 0; order < 20; ++order) {
    Account account = {0};
    World w = build(&account);
    release(&w, order);
    CHECK(account.total > 0);
    CHECK(account.live == 0);
    CHECK(account.destroyed == 1);
  }
}

typedef struct {
  World* w;
  int part;
} Part;

static void* release_part(void* user) {
  Part* part = user;
  for (int i = 0; i < 1000; ++i) {
    soma_model_retain(part->w->model);
    soma_sequence_retain(part->w->sequence);
    soma_model_release(part->w->model);
    soma_sequence_release(part->w->sequence);
  }
  return NULL;
}

static void* release_all(void* user) {
  release(user, 7);
  return NULL;
}

static void test_references_from_many_threads(void) {
  Account account = {0};
  World w = build(&account);
  pthread_t threads[4];
  Part parts[4];
  for (int i = 0; i < 4; ++i) {
    parts[i] = (Part){&w, i};
    pthread_create(&threads[i], NULL, release_part, &parts[i]);
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  pthread_create(&threads[0], NULL, release_all, &w); /* not the thread that made them */
  pthread_join(threads[0], NULL);
  CHECK(account.live == 0);
  CHECK(account.destroyed == 1);
}

static void test_each_station_outlives_the_one_before(void) {
  World w = build(NULL);
  soma_blob* text = NULL;
  soma_model_release(w.model);
  soma_session_release(w.session);
  soma_sequence_release(w.sequence);
  soma_runtime_release(w.runtime);
  soma_circuit_release(w.circuit);
  soma_fusion_plan_release(w.fusion);
  GOOD(soma_buffer_plan_dump(w.buffers, &text, &error));
  CHECK(soma_blob_size(text) > 0);
  soma_blob_release(text);
  soma_buffer_plan_release(w.buffers);
  GOOD(soma_program_dump(w.program, &text, &error));
  CHECK(((const char*)soma_blob_data(text))[soma_blob_size(text)] == '\0');
  soma_blob_release(text);
  soma_program_release(w.program);
  CHECK(soma_tensor_data(w.logits) != NULL);
  CHECK(soma_tensor_shape(w.logits)[0] == 1);
  soma_tensor_release(w.logits);
  soma_cancel_release(w.cancel);
}

static void test_destroy_is_called_once(void) {
  World w = build(NULL);
  int count = 0;
  soma_blob* result = NULL;
  soma_options* few = options("generate", "tokens", "3");

  /* success, stop, accident, refused arguments, cancelled before it began */
  GOOD(soma_sequence_generate(w.sequence, prompt, 3, few, go_on, &count, count_destroy, NULL,
                              &result, &error));
  CHECK(count == 1);
  soma_blob_release(result);
  GOOD(soma_sequence_generate(w.sequence, prompt, 1, few, stop_at_once, &count, count_destroy,
                              NULL, &result, &error));
  CHECK(count == 2);
  CHECK(strstr(soma_blob_data(result), "\"finish\":\"stopped\"") != NULL);
  soma_blob_release(result);
  BAD(soma_sequence_generate(w.sequence, prompt, 1, few, accident, &count, count_destroy, NULL,
                             &result, &error),
      SOMA_ABORTED, "callback.failed");
  CHECK(count == 3);
  CHECK(result == NULL);
  BAD(soma_sequence_generate(NULL, prompt, 1, few, go_on, &count, count_destroy, NULL, &result,
                             &error),
      SOMA_INVALID_ARGUMENT, "argument.null");
  CHECK(count == 4);
  BAD(soma_sequence_generate(w.sequence, prompt, 0, few, go_on, &count, count_destroy, NULL,
                             &result, &error),
      SOMA_OUT_OF_RANGE, "argument.range");
  CHECK(count == 5);
  soma_cancel_request(w.cancel);
  BAD(soma_sequence_generate(w.sequence, prompt, 1, few, go_on, &count, count_destroy, w.cancel,
                             &result, &error),
      SOMA_CANCELLED, "cancelled");
  CHECK(count == 6);
  soma_options_release(few);
  release(&w, 0);
}

static int32_t agree(void* user, const char* phase, size_t length, uint64_t done,
                     uint64_t total) {
  (void)user, (void)phase, (void)length, (void)done, (void)total;
  return SOMA_CONTINUE;
}

static void drop_record(void* user, int32_t level, const char* text, size_t length) {
  (void)user, (void)level, (void)text, (void)length;
}

static void test_destroy_of_what_is_kept(void) {
  World w = build(NULL);
  int tick = 0, log = 0, allocator = 0;
  GOOD(soma_cancel_set_tick(w.cancel, agree, &tick, count_destroy, &error));
  CHECK(tick == 0);
  GOOD(soma_cancel_set_tick(w.cancel, agree, &tick, count_destroy, &error));
  CHECK(tick == 1); /* replaced */
  BAD(soma_cancel_set_tick(NULL, agree, &tick, count_destroy, &error), SOMA_INVALID_ARGUMENT,
      "argument.null");
  CHECK(tick == 2); /* refused */
  GOOD(soma_cancel_set_tick(w.cancel, NULL, NULL, NULL, &error));
  CHECK(tick == 3); /* taken away */

  soma_options* settings = options("runtime", NULL, NULL);
  soma_options* wrong = options("plan", NULL, NULL);
  GOOD(soma_options_set_log(settings, SOMA_LOG_INFO, SOMA_THREAD_CALLER, drop_record, &log,
                            count_destroy, &error));
  BAD(soma_options_set_log(settings, 1u << 20, SOMA_THREAD_CALLER, drop_record, &log,
                           count_destroy, &error),
      SOMA_OUT_OF_RANGE, "argument.range");
  CHECK(log == 1);
  BAD(soma_options_set_allocator(wrong, account_alloc, account_free, &allocator, count_destroy,
                                 &error),
      SOMA_INVALID_ARGUMENT, "argument.handle");
  CHECK(allocator == 1);
  soma_runtime* second = NULL;
  GOOD(soma_runtime_create(SOMA_HEADER_ABI, settings, &second, &error));
  soma_options_release(settings);
  soma_options_release(wrong);
  CHECK(log == 1); /* the runtime still has it */
  soma_runtime_release(second);
  CHECK(log == 2);
  release(&w, 3);
}

/* What callbacks may do, and may not. */
typedef struct {
  World* w;
  soma_sequence* spare;
  int calls;
} Reentry;

static int32_t reenter(void* user, int32_t token, const char* text, size_t length) {
  Reentry* r = user;
  soma_sequence* other = NULL;
  (void)token, (void)text, (void)length;
  ++r->calls;
  BAD(soma_sequence_truncate(r->w->sequence, 0, &error), SOMA_FAILED_PRECONDITION, "object.busy");
  CHECK(soma_sequence_length(r->w->sequence) >= 0);
  GOOD(soma_sequence_create(r->w->session, &other, &error)); /* others may go on */
  GOOD(soma_sequence_prefill(other, prompt, 3, SOMA_LOGITS_LAST, NULL, &error));
  soma_sequence_release(other);
  return SOMA_CONTINUE;
}

static int32_t tick_reenters(void* user, const char* phase, size_t length, uint64_t done,
                             uint64_t total) {
  Reentry* r = user;
  soma_blob* facts = NULL;
  (void)length, (void)done, (void)total;
  ++r->calls;
  CHECK(phase[length] == '\0');
  BAD(soma_sequence_truncate(r->spare ? r->spare : r->w->sequence, 0, &error),
      SOMA_FAILED_PRECONDITION, "object.busy");
  BAD(soma_runtime_measure(r->w->runtime, "read_bandwidth", SOMA_NUL, NULL, &facts, &error),
      SOMA_FAILED_PRECONDITION, "object.busy");
  BAD(soma_cancel_reset(r->w->cancel, &error), SOMA_FAILED_PRECONDITION, "object.busy");
  GOOD(soma_session_facts(r->w->session, &facts, &error));
  soma_blob_release(facts);
  soma_sequence_release(r->spare); /* releasing is fine, also in the middle of a step */
  r->spare = NULL;
  return r->calls < 3 ? SOMA_CONTINUE : 0;
}

static void test_callbacks_may_not_use_what_called_them(void) {
  World w = build(NULL);
  Reentry reentry = {&w, NULL, 0};
  soma_blob* result = NULL;
  soma_options* few = options("generate", "tokens", "3");
  GOOD(soma_options_parse(few, "ignore_end", SOMA_NUL, "true", SOMA_NUL, &error));
  GOOD(soma_sequence_generate(w.sequence, prompt, 3, few, reenter, &reentry, NULL, NULL, &result,
                              &error));
  CHECK(reentry.calls == 3);
  soma_blob_release(result);
  soma_options_release(few);

  reentry.calls = 0;
  GOOD(soma_sequence_fork(w.sequence, &reentry.spare, &error));
  GOOD(soma_cancel_set_tick(w.cancel, tick_reenters, &reentry, NULL, &error));
  BAD(soma_runtime_measure(w.runtime, "read_bandwidth", SOMA_NUL, w.cancel, &result, &error),
      SOMA_CANCELLED, "cancelled");
  CHECK(reentry.calls == 3);
  GOOD(soma_cancel_reset(w.cancel, &error));
  GOOD(soma_cancel_set_deadline(w.cancel, 5000000, &error));
  GOOD(soma_cancel_set_tick(w.cancel, agree, NULL, NULL, &error));
  BAD(soma_runtime_measure(w.runtime, "read_bandwidth", SOMA_NUL, w.cancel, &result, &error),
      SOMA_DEADLINE_EXCEEDED, "deadline");
  release(&w, 11);
}

static void* request_soon(void* user) {
  const struct timespec pause = {0, 30000000};
  nanosleep(&pause, NULL);
  soma_cancel_request(user);
  return NULL;
}

static void test_another_thread_cancels(void) {
  World w = build(NULL);
  soma_blob* result = NULL;
  pthread_t thread;
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  pthread_create(&thread, NULL, request_soon, w.cancel);
  BAD(soma_runtime_measure(w.runtime, "read_bandwidth", SOMA_NUL, w.cancel, &result, &error),
      SOMA_CANCELLED, "cancelled");
  clock_gettime(CLOCK_MONOTONIC, &end);
  pthread_join(thread, NULL);
  CHECK((double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec) < 2);
  release(&w, 5);
}

static void test_logits_are_never_overwritten(void) {
  World w = build(NULL);
  soma_tensor* again = NULL;
  soma_tensor* later = NULL;
  soma_sequence* same = w.sequence;
  int32_t chosen = -1, sampled = -1;
  float before[4];
  GOOD(soma_sequence_logits(w.sequence, &again, &error));
  CHECK(again == w.logits);
  soma_tensor_release(again);
  CHECK(soma_tensor_dtype(w.logits) == SOMA_DTYPE_F32);
  CHECK(soma_tensor_rank(w.logits) == 2);
  memcpy(before, soma_tensor_data(w.logits), sizeof before);
  GOOD(soma_sequence_sample(w.sequence, NULL, &sampled, &error)); /* after they were handed out */
  const float* row = soma_tensor_data(w.logits);
  chosen = 0;
  for (int32_t i = 1; i < soma_tensor_shape(w.logits)[1]; ++i) {
    if (row[i] > row[chosen]) chosen = i;
  }
  CHECK(sampled == chosen);
  GOOD(soma_sequence_decode(&same, &sampled, 1, NULL, &error));
  GOOD(soma_sequence_logits(w.sequence, &later, &error));
  CHECK(later != w.logits);
  CHECK(memcmp(before, soma_tensor_data(w.logits), sizeof before) == 0);
  soma_tensor_release(later);
  /* A failing step leaves tokens and logits as they were. */
  const int32_t wrong = 1 << 30;
  CHECK(soma_sequence_decode(&same, &wrong, 1, NULL, NULL) == SOMA_OUT_OF_RANGE);
  GOOD(soma_sequence_sample(w.sequence, NULL, &sampled, &error));
  CHECK(soma_sequence_length(w.sequence) == 4);
  release(&w, 8);
}

static void test_decode_of_several_is_all_or_none(void) {
  World w = build(NULL);
  soma_sequence* both[2] = {w.sequence, NULL};
  const int32_t good[2] = {5, 6}, bad[2] = {5, 1 << 30};
  GOOD(soma_sequence_fork(w.sequence, &both[1], &error));
  GOOD(soma_sequence_decode(both, good, 2, NULL, &error));
  CHECK(soma_sequence_length(both[0]) == 4 && soma_sequence_length(both[1]) == 4);
  BAD(soma_sequence_decode(both, bad, 2, NULL, &error), SOMA_OUT_OF_RANGE, "tokenizer.token");
  CHECK(soma_sequence_length(both[0]) == 4 && soma_sequence_length(both[1]) == 4);
  soma_sequence* twice[2] = {w.sequence, w.sequence};
  BAD(soma_sequence_decode(twice, good, 2, NULL, &error), SOMA_FAILED_PRECONDITION,
      "object.busy");
  soma_sequence_release(both[1]);
  release(&w, 2);
}

/* The start of DLPack's versioned struct, as a consumer knows it. */
typedef struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(struct DLManagedTensorVersioned*);
  uint64_t flags;
  void* data;
} Exchange;

static void test_an_exported_tensor_outlives_everything(void) {
  Account account = {0};
  World w = build(&account);
  struct DLManagedTensorVersioned* exported = NULL;
  const void* data = soma_tensor_data(w.logits);
  GOOD(soma_tensor_export(w.logits, &exported, &error));
  release(&w, 4);
  Exchange* exchange = (Exchange*)(void*)exported;
  CHECK(account.live > 0);
  CHECK(exchange->major == 1);
  CHECK(exchange->data == data); /* no copy */
  exchange->deleter(exchange);
  CHECK(account.live == 0);
  CHECK(account.destroyed == 1);
}

static void test_two_runtimes_share_nothing(void) {
  Account first = {0}, second = {0};
  World a = build(&first);
  const long before = first.total;
  World b = build(&second);
  CHECK(first.total == before);
  CHECK(second.total > 0);
  release(&a, 0);
  CHECK(first.live == 0 && first.destroyed == 1);
  GOOD(soma_sequence_prefill(b.sequence, prompt, 3, SOMA_LOGITS_LAST, NULL, &error));
  release(&b, 0);
  CHECK(second.live == 0 && second.destroyed == 1);
}

static void test_a_forked_child_is_refused(void) {
  World w = build(NULL);
  soma_cancel_release(w.cancel);
  const pid_t child = fork();
  if (child == 0) {
    soma_blob* blob = NULL;
    soma_error* error = NULL;
    soma_runtime* fresh = NULL;
    passed = failed = 0;
    CHECK(soma_runtime_facts(w.runtime, &blob, &error) == SOMA_FAILED_PRECONDITION);
    CHECK(strcmp(soma_error_reason(error, NULL), "process.forked") == 0);
    soma_error_release(error);
    CHECK(soma_sequence_prefill(w.sequence, prompt, 3, SOMA_LOGITS_LAST, NULL, NULL) ==
          SOMA_FAILED_PRECONDITION);
    release(&(World){.runtime = w.runtime, .model = w.model, .session = w.session,
                     .sequence = w.sequence, .logits = w.logits}, 0);
    GOOD(soma_runtime_create(SOMA_HEADER_ABI, NULL, &fresh, &error)); /* its own is fine */
    soma_runtime_release(fresh);
    fflush(report);
    _exit(failed != 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  GOOD(soma_sequence_prefill(w.sequence, prompt, 3, SOMA_LOGITS_LAST, NULL, &error));
  w.cancel = NULL;
  release(&w, 0);
}

static void test_errors_are_data(void) {
  soma_error* failure = NULL;
  soma_runtime* runtime = NULL;
  soma_blob* json = NULL;
  size_t length = 0;
  CHECK(soma_runtime_create(9u << 16, NULL, &runtime, &failure) == SOMA_INCOMPATIBLE);
  CHECK(soma_error_code(failure) == SOMA_INCOMPATIBLE);
  CHECK(strstr(soma_error_message(failure, &length), "9.0") != NULL);
  CHECK(length == strlen(soma_error_message(failure, NULL)));
  soma_error_retain(failure);
  soma_error_release(failure);
  GOOD(soma_error_json(failure, &json, &error));
  CHECK(strstr(soma_blob_data(json), "\"reason\":\"abi.incompatible\"") != NULL);
  soma_blob_release(json);
  soma_error_release(failure);
  CHECK(runtime == NULL);
  CHECK(soma_error_code(NULL) == SOMA_INVALID_ARGUMENT);
  CHECK(*soma_error_message(NULL, NULL) == '\0');
}

/* Everything above ran with standard output and error on this file; nothing may be in it. */
static int silent_file(void) {
  char name[] = "/tmp/soma-silence-XXXXXX";
  const int file = mkstemp(name);
  unlink(name);
  dup2(file, 1);
  dup2(file, 2);
  return file;
}

static void test_silence(int file) {
  struct stat status;
  fflush(stdout);
  CHECK(fstat(file, &status) == 0 && status.st_size == 0);
  close(1);
  close(2);
  World w = build(NULL); /* and it works without them */
  release(&w, 0);
  const int next = open("/dev/null", O_RDONLY);
  CHECK(next == 1); /* nobody else took the number */
  close(next);
}

int main(int count, char** arguments) {
  report = stdout;
  if (count < 2) return 2;
  model_path = arguments[1];
  if (count > 2) {
    const World w = build(NULL);
    return w.sequence == NULL || failed != 0;
  }
  report = fdopen(dup(1), "w");
  const int file = silent_file();
  test_release_in_any_order();
  test_references_from_many_threads();
  test_each_station_outlives_the_one_before();
  test_destroy_is_called_once();
  test_destroy_of_what_is_kept();
  test_callbacks_may_not_use_what_called_them();
  test_another_thread_cancels();
  test_logits_are_never_overwritten();
  test_decode_of_several_is_all_or_none();
  test_an_exported_tensor_outlives_everything();
  test_two_runtimes_share_nothing();
  test_a_forked_child_is_refused();
  test_errors_are_data();
  test_silence(file);
  return summary();
}
