/* Proves that exhausted memory is an error like others: in each phase, from making a runtime to
 * generating, the n-th allocation fails, for every n until the phase succeeds. A failing call says
 * SOMA_RESOURCE_EXHAUSTED, and the objects it was about hold what they held before.
 *
 * usage: fault MODEL
 */
#define _GNU_SOURCE
#include <stdatomic.h>

#include "check.h"

static struct {
  atomic_long until_failure; /* counts down to the allocation that fails; negative: none does */
  atomic_long live;
} account;

static void* failing_alloc(void* user, size_t size, size_t alignment) {
  void* memory = NULL;
  (void)user;
  if (atomic_fetch_sub(&account.until_failure, 1) == 0) return NULL;
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  if (posix_memalign(&memory, alignment, size) != 0) return NULL;
  account.live += (long)size;
  return memory;
}

static void counting_free(void* user, void* memory, size_t size, size_t alignment) {
  (void)user, (void)alignment;
  account.live -= (long)size;
  free(memory);
}

static const char* model_path;
static soma_runtime* runtime;
static soma_model* model;
static soma_session* session;
static const int32_t prompt[] = {5, 6, 7, 8};

static soma_code make_runtime(soma_error** error) {
  soma_options* settings = NULL;
  soma_code code = soma_options_create("runtime", SOMA_NUL, &settings, error);
  if (code == SOMA_OK) code = soma_options_set_int(settings, "threads", SOMA_NUL, 2, error);
  if (code == SOMA_OK) {
    code = soma_options_set_allocator(settings, failing_alloc, counting_free, NULL, NULL, error);
  }
  if (code == SOMA_OK) code = soma_runtime_create(SOMA_HEADER_ABI, settings, &runtime, error);
  soma_options_release(settings);
  return code;
}

static soma_code open_model(soma_error** error) {
  return soma_model_open(runtime, model_path, SOMA_NUL, NULL, NULL, &model, error);
}

static soma_code text_and_back(soma_error** error) {
  static const char text[] = "hello there, user: the answer is \xc3\xa9";
  const char* roles[] = {"user"};
  const char* contents[] = {text};
  soma_blob *tokens = NULL, *again = NULL, *chat = NULL, *facts = NULL;
  soma_code code =
      soma_model_tokenize(model, text, SOMA_NUL, SOMA_TEXT_SPECIAL, &tokens, error);
  if (code == SOMA_OK) {
    code = soma_model_detokenize(model, soma_blob_data(tokens), soma_blob_size(tokens) / 4, 0,
                                 &again, error);
  }
  if (code == SOMA_OK) {
    CHECK(strcmp(soma_blob_data(again), text) == 0);
    code = soma_model_chat(model, roles, NULL, contents, NULL, 1, &chat, error);
  }
  if (code == SOMA_OK) code = soma_model_facts(model, &facts, error);
  soma_blob_release(tokens);
  soma_blob_release(again);
  soma_blob_release(chat);
  soma_blob_release(facts);
  return code;
}

static soma_code compile(soma_error** error) {
  soma_circuit* circuit = NULL;
  soma_fusion_plan* fusion = NULL;
  soma_buffer_plan* buffers = NULL;
  soma_program* program = NULL;
  soma_blob* text = NULL;
  soma_code code = soma_circuit_create(model, &circuit, error);
  if (code == SOMA_OK) code = soma_fusion_plan_create(circuit, NULL, &fusion, error);
  if (code == SOMA_OK) code = soma_buffer_plan_create(fusion, &buffers, error);
  if (code == SOMA_OK) code = soma_program_create(buffers, &program, error);
  if (code == SOMA_OK) code = soma_program_dump(program, &text, error);
  soma_circuit_release(circuit);
  soma_fusion_plan_release(fusion);
  soma_buffer_plan_release(buffers);
  soma_program_release(program);
  soma_blob_release(text);
  return code;
}

static soma_code make_session(soma_error** error) {
  soma_options* settings = NULL;
  soma_code code = soma_options_create("session", SOMA_NUL, &settings, error);
  if (code == SOMA_OK) code = soma_options_set_int(settings, "context", SOMA_NUL, 64, error);
  if (code == SOMA_OK) code = soma_session_create(model, settings, NULL, &session, error);
  soma_options_release(settings);
  return code;
}

/* From an empty sequence to text, with a temperature, and to a fork that goes on. */
static soma_code run_sequence(soma_error** error) {
  soma_options* settings = NULL;
  soma_blob* result = NULL;
  soma_sequence *sequence = NULL, *fork = NULL;
  soma_tensor* logits = NULL;
  soma_code code = soma_options_create("generate", SOMA_NUL, &settings, error);
  if (code == SOMA_OK) code = soma_options_set_int(settings, "tokens", SOMA_NUL, 4, error);
  if (code == SOMA_OK) {
    code = soma_options_set_double(settings, "temperature", SOMA_NUL, 0.7, error);
  }
  if (code == SOMA_OK) code = soma_sequence_create(session, &sequence, error);
  if (code == SOMA_OK) {
    code = soma_sequence_generate(sequence, prompt, 4, settings, NULL, NULL, NULL, NULL, &result,
                                  error);
  }
  if (code == SOMA_OK) code = soma_sequence_logits(sequence, &logits, error);
  if (code == SOMA_OK) code = soma_sequence_fork(sequence, &fork, error);
  if (code == SOMA_OK) code = soma_sequence_decode(&fork, prompt, 1, NULL, error);
  soma_sequence_release(sequence);
  soma_sequence_release(fork);
  soma_tensor_release(logits);
  soma_blob_release(result);
  soma_options_release(settings);
  return code;
}

/* Fails each allocation of a phase in turn. */
static void each_failure(const char* name, soma_code (*phase)(soma_error**)) {
  long n = 0;
  soma_code code = SOMA_UNKNOWN;
  int right = 1;
  while (code != SOMA_OK && right) {
    soma_error* error = NULL;
    const long before = account.live;
    account.until_failure = n;
    code = phase(&error);
    account.until_failure = -1;
    if (code != SOMA_OK) {
      right = code == SOMA_RESOURCE_EXHAUSTED && error != NULL && account.live == before;
      if (!right) {
        fprintf(report, "%s, allocation %ld: code %d, %s, %ld bytes more\n", name, n, code,
                soma_error_message(error, NULL), account.live - before);
      }
      ++n;
    }
    CHECK(right);
    soma_error_release(error);
  }
  CHECK(code == SOMA_OK);
  CHECK(n > 0);
  fprintf(report, "%s: %ld failures survived\n", name, n);
}

int main(int count, char** arguments) {
  report = stdout;
  if (count < 2) return 2;
  model_path = arguments[1];
  account.until_failure = -1;
  each_failure("runtime", make_runtime);
  each_failure("open", open_model);
  each_failure("text", text_and_back);
  each_failure("compile", compile);
  each_failure("session", make_session);
  each_failure("run", run_sequence);
  soma_runtime_release(runtime);
  soma_model_release(model);
  soma_session_release(session);
  CHECK(account.live == 0);
  return summary();
}
