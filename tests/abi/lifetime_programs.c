/* Proves nodes of kind program: that they yield what their session generates, alone and beside each
 * other; that ops keep sessions alive, in whatever order things are released; that what can't be is
 * refused, all of it at once; that caches tell models apart, and that journals keep what came.
 *
 * usage: lifetime_programs MODEL OTHER_MODEL
 */
#define _GNU_SOURCE
#include "runtime.h"

static const char *model_path, *other_path;

/* A document of one program and its settings, and of two that read the same. */
#define PROGRAM(id, more) \
  "{\"id\":\"" id "\",\"kind\":\"program\",\"model\":\"m.gguf\",\"task\":\"generate\"" more "}"
#define GRAPH(nodes, edges) \
  "{\"soma\":\"graph\",\"version\":1,\"nodes\":[" nodes "],\"edges\":[" edges "]}"
#define ALL                                                                                \
  ",\"config\":{\"system\":\"sing\",\"max_tokens\":9,\"temperature\":2,\"top_k\":40,"     \
  "\"top_p\":0.9,\"min_p\":0.01,\"repetition_penalty\":1.5,\"penalty_window\":8,"         \
  "\"seed\":-7,\"stream\":3,\"ignore_end\":true}"
#define MANY ",\"config\":{\"max_tokens\":60,\"ignore_end\":true}"
#define TOO_MANY ",\"config\":{\"max_tokens\":500,\"ignore_end\":true}"
#define FEW ",\"config\":{\"max_tokens\":12,\"ignore_end\":true}"

typedef struct {
  soma_runtime* runtime;
  soma_model* model;
  soma_session* session;
  soma_plan* plan;
  soma_ops* ops;
  soma_run* run;
} World;

static soma_session* make_session(const soma_model* model, int64_t context, int64_t sequences,
                                  const char* policy) {
  soma_session* session = NULL;
  soma_options* settings = NULL;
  GOOD(soma_options_create("session", SOMA_NUL, &settings, &error));
  GOOD(soma_options_set_int(settings, "context", SOMA_NUL, context, &error));
  GOOD(soma_options_set_int(settings, "sequences", SOMA_NUL, sequences, &error));
  GOOD(soma_options_set_text(settings, "policy", SOMA_NUL, policy, SOMA_NUL, &error));
  GOOD(soma_session_create(model, settings, NULL, &session, &error));
  soma_options_release(settings);
  return session;
}

static soma_plan* plan_of(const soma_runtime* runtime, const char* document) {
  soma_graph* graph = NULL;
  soma_plan* plan = NULL;
  GOOD(soma_graph_parse(runtime, document, SOMA_NUL, &graph, &error));
  GOOD(soma_plan_compile(graph, NULL, &plan, &error));
  soma_graph_release(graph);
  return plan;
}

static soma_ops* ops_with(const soma_runtime* runtime, const soma_session* session) {
  soma_ops* ops = NULL;
  GOOD(soma_ops_create(runtime, &ops, &error));
  GOOD(soma_ops_add_session(ops, "m.gguf", SOMA_NUL, session, &error));
  return ops;
}

static soma_run* run_with(const soma_plan* plan, const soma_ops* ops, const char* launch) {
  soma_run* run = NULL;
  soma_options* settings = NULL;
  GOOD(soma_options_create("run", SOMA_NUL, &settings, &error));
  GOOD(soma_options_set_text(settings, "launch", SOMA_NUL, launch, SOMA_NUL, &error));
  GOOD(soma_run_create(plan, ops, settings, &run, &error));
  soma_options_release(settings);
  return run;
}

static World build(Account* account, const char* document) {
  World w = {0};
  w.runtime = make_runtime(account, 2);
  GOOD(soma_model_open(w.runtime, model_path, SOMA_NUL, NULL, NULL, &w.model, &error));
  w.session = make_session(w.model, 160, 4, "fast");
  w.plan = plan_of(w.runtime, document);
  w.ops = ops_with(w.runtime, w.session);
  w.run = run_with(w.plan, w.ops, "adaptive");
  return w;
}

/* Releases the objects in one of the six rotations of their order, forwards or backwards. */
static void release(World* w, int order) {
  for (int i = 0; i < 6; ++i) {
    switch (((order & 1) ? 6 + order / 2 - i : order / 2 + i) % 6) {
      case 0: soma_runtime_release(w->runtime); break;
      case 1: soma_model_release(w->model); break;
      case 2: soma_session_release(w->session); break;
      case 3: soma_plan_release(w->plan); break;
      case 4: soma_ops_release(w->ops); break;
      case 5: soma_run_release(w->run); break;
    }
  }
}

/* What a run yields of an input in JSON, as JSON; to be freed. */
static char* yields(const soma_runtime* runtime, soma_run* run, const char* input) {
  soma_value *given = NULL, *value = NULL;
  soma_blob* json = NULL;
  GOOD(soma_value_parse(runtime, input, SOMA_NUL, &given, &error));
  GOOD(soma_run_execute(run, given, NULL, &value, &error));
  GOOD(soma_value_json(value, &json, &error));
  char* const text = strdup(json ? soma_blob_data(json) : "");
  soma_blob_release(json);
  soma_value_release(value);
  soma_value_release(given);
  return text;
}

/* Checks and forgets. */
static int is_same(char* first, char* second) {
  const int same = strcmp(first, second) == 0;
  if (!same) fprintf(report, "%s\n%s\n", first, second);
  free(first);
  free(second);
  return same;
}

/* The same without a graph: of a conversation of up to two turns. */
static char* generated(const World* w, const char* role, const char* content, const char* user,
                       soma_options* settings) {
  const char *roles[] = {role, "user"}, *contents[] = {content, user};
  const size_t skipped = role ? 0 : 1;
  soma_blob *tokens = NULL, *result = NULL;
  soma_sequence* sequence = NULL;
  soma_value *whole = NULL, *text = NULL;
  soma_blob* json = NULL;
  GOOD(soma_model_chat_tokens(w->model, roles + skipped, NULL, contents + skipped, NULL,
                              2 - skipped, &tokens, &error));
  GOOD(soma_sequence_create(w->session, &sequence, &error));
  GOOD(soma_sequence_generate(sequence, soma_blob_data(tokens), soma_blob_size(tokens) / 4,
                              settings, NULL, NULL, NULL, NULL, &result, &error));
  GOOD(soma_value_parse(w->runtime, soma_blob_data(result), soma_blob_size(result), &whole,
                        &error));
  GOOD(soma_value_get(whole, "text", SOMA_NUL, &text, &error));
  GOOD(soma_value_json(text, &json, &error));
  char* const said = strdup(soma_blob_data(json));
  soma_blob_release(json);
  soma_value_release(text);
  soma_value_release(whole);
  soma_blob_release(result);
  soma_blob_release(tokens);
  soma_sequence_release(sequence);
  return said;
}

static void test_it_yields_what_its_session_generates(void) {
  World w = build(NULL, GRAPH(PROGRAM("talk", FEW), ""));
  World told = build(NULL, GRAPH(PROGRAM("talk", ALL), ""));
  soma_options* few = NULL;
  GOOD(soma_options_create("generate", SOMA_NUL, &few, &error));
  GOOD(soma_options_set_int(few, "tokens", SOMA_NUL, 12, &error));
  GOOD(soma_options_set_int(few, "ignore_end", SOMA_NUL, 1, &error));
  CHECK(is_same(yields(w.runtime, w.run, "\"hello\""), generated(&w, NULL, NULL, "hello", few)));
  /* A list of turns, with a system turn of its own or without. */
  CHECK(is_same(yields(w.runtime, w.run, "[{\"role\":\"system\",\"content\":\"x\"},"
                                         "{\"role\":\"user\",\"content\":\"hello\"}]"),
                generated(&w, "system", "x", "hello", few)));
  GOOD(soma_options_set_int(few, "tokens", SOMA_NUL, 9, &error));
  GOOD(soma_options_set_double(few, "temperature", SOMA_NUL, 2, &error));
  GOOD(soma_options_set_int(few, "top_k", SOMA_NUL, 40, &error));
  GOOD(soma_options_set_double(few, "top_p", SOMA_NUL, 0.9, &error));
  GOOD(soma_options_set_double(few, "min_p", SOMA_NUL, 0.01, &error));
  GOOD(soma_options_set_double(few, "repetition_penalty", SOMA_NUL, 1.5, &error));
  GOOD(soma_options_set_int(few, "penalty_window", SOMA_NUL, 8, &error));
  GOOD(soma_options_set_int(few, "seed", SOMA_NUL, -7, &error));
  GOOD(soma_options_set_int(few, "stream", SOMA_NUL, 3, &error));
  CHECK(is_same(yields(told.runtime, told.run, "\"hello\""),
                generated(&told, "system", "sing", "hello", few)));
  CHECK(is_same(yields(told.runtime, told.run, "[{\"content\":\"hello\",\"role\":\"user\"}]"),
                generated(&told, "system", "sing", "hello", few)));
  CHECK(is_same(yields(told.runtime, told.run, "[{\"role\":\"system\",\"content\":\"x\"},"
                                               "{\"role\":\"user\",\"content\":\"hello\"}]"),
                generated(&told, "system", "x", "hello", few)));
  soma_options_release(few);
  release(&w, 0);
  release(&told, 1);
}

static void test_release_in_any_order(void) {
  for (int order = 0; order < 12; ++order) {
    Account account = {0};
    World w = build(&account, GRAPH(PROGRAM("talk", FEW), ""));
    free(yields(w.runtime, w.run, "\"hello\""));
    release(&w, order);
    CHECK(account.total > 0 && account.live == 0 && account.destroyed == 1);
  }
}

static void test_ops_keep_their_sessions(void) {
  Account account = {0};
  World w = build(&account, GRAPH(PROGRAM("talk", FEW), ""));
  char* const before = yields(w.runtime, w.run, "\"hello\"");
  w.run = (soma_run_release(w.run), NULL);
  w.session = (soma_session_release(w.session), NULL);
  w.model = (soma_model_release(w.model), NULL);
  w.run = run_with(w.plan, w.ops, "adaptive");
  w.ops = (soma_ops_release(w.ops), NULL);
  CHECK(is_same(before, yields(w.runtime, w.run, "\"hello\"")));
  release(&w, 3);
  CHECK(account.live == 0 && account.destroyed == 1);
}

static void test_what_ops_refuse(void) {
  Account account = {0}, other_account = {0};
  World w = build(&account, GRAPH(PROGRAM("talk", FEW), ""));
  World other = build(&other_account, GRAPH(PROGRAM("talk", FEW), ""));
  soma_ops* ops = NULL;
  GOOD(soma_ops_create(w.runtime, &ops, &error));
  BAD(soma_ops_add_session(ops, "m", SOMA_NUL, other.session, &error), SOMA_INVALID_ARGUMENT,
      "argument.handle");
  BAD(soma_ops_add_session(ops, "m", SOMA_NUL, NULL, &error), SOMA_INVALID_ARGUMENT,
      "argument.null");
  BAD(soma_ops_add_session(ops, NULL, 0, w.session, &error), SOMA_OUT_OF_RANGE, "argument.range");
  GOOD(soma_ops_add_session(ops, "m", SOMA_NUL, w.session, &error));
  BAD(soma_ops_add_session(ops, "m", SOMA_NUL, w.session, &error), SOMA_ALREADY_EXISTS,
      "ops.duplicate");
  GOOD(soma_ops_add_session(ops, "n", SOMA_NUL, w.session, &error));
  soma_run* run = NULL;
  BAD(soma_run_create(w.plan, ops, NULL, &run, &error), SOMA_NOT_FOUND, "run.unbound_op");
  GOOD(soma_ops_add_session(ops, "m.gguf", SOMA_NUL, w.session, &error));
  GOOD(soma_run_create(w.plan, ops, NULL, &run, &error));
  BAD(soma_ops_add_session(ops, "o", SOMA_NUL, w.session, &error), SOMA_FAILED_PRECONDITION,
      "ops.in_use");
  soma_run_release(run);
  soma_ops_release(ops);
  release(&w, 0);
  release(&other, 0);
  CHECK(account.live == 0 && other_account.live == 0);
}

/* Everything that a plan's programs ask in vain, each with its node. */
static void test_what_sessions_refuse(void) {
  static const char* const wrong[] = {
      "node 'a': a session's task is 'generate', got 'sing'",
      "node 'a': a session has its own deployment, expected null, got an empty map",
      "node 'a': the session computes on the device cpu, not on 'cuda:0'",
      "node 'a': config.temperature: expected a number, got the text 'hot'",
      "node 'a': config.top_p: the option generate.top_p is from 0 to 1, got 1.5",
      "node 'a': config: 'tokens' is no setting of task generate, which takes system, max_tokens, ",
      "node 'b': config.max_tokens: the option generate.tokens is from 0 to 1073741824, got -1",
      ("node 'c': config.max_tokens: expected a whole number, beyond 2^53 as a text of its "
       "digits, got the number 1.5"),
      "node 'c': config.system: expected a text, got null",
      "node 'c': config.ignore_end: expected true or false, got the integer 1",
  };
  World w = build(NULL, GRAPH(PROGRAM("talk", FEW), ""));
  soma_plan* plan = plan_of(
      w.runtime,
      GRAPH("{\"id\":\"a\",\"kind\":\"program\",\"model\":\"m.gguf\",\"task\":\"sing\","
            "\"deployment\":{},\"device\":\"cuda:0\",\"config\":{\"temperature\":\"hot\","
            "\"top_p\":1.5,\"tokens\":3}}," PROGRAM("b", ",\"config\":{\"max_tokens\":-1}") ","
            PROGRAM("c", ",\"config\":{\"max_tokens\":1.5,\"system\":null,\"ignore_end\":1}"), ""));
  soma_run* run = NULL;
  soma_error* refusal = NULL;
  soma_blob* json = NULL;
  CHECK(soma_run_create(plan, w.ops, NULL, &run, &refusal) == SOMA_INVALID_ARGUMENT);
  CHECK(run == NULL && strcmp(soma_error_reason(refusal, NULL), "run.program") == 0);
  GOOD(soma_error_json(refusal, &json, &error));
  const char* at = json ? soma_blob_data(json) : "";
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    const char* found = strstr(at, wrong[i]);
    CHECK(found != NULL);
    if (!found) fprintf(report, "  no %s\n  in %s\n", wrong[i], at);
    if (found) at = found; /* in this order */
  }
  soma_blob_release(json);
  soma_error_release(refusal);
  soma_plan_release(plan);
  release(&w, 2);
}

/* The detail "cause" of a run that fails in its node. */
static void check_cause(const World* w, const char* input, const char* cause) {
  soma_value *given = NULL, *value = NULL;
  soma_error* error = NULL;
  const char* found = "";
  GOOD(soma_value_parse(w->runtime, input, SOMA_NUL, &given, &error));
  CHECK(soma_run_execute(w->run, given, NULL, &value, &error) == SOMA_ABORTED);
  CHECK(value == NULL && strcmp(soma_error_reason(error, NULL), "run.node_failed") == 0);
  for (size_t i = 0; i < soma_error_detail_count(error); ++i) {
    const int is_cause = strcmp(soma_error_detail_key(error, i, NULL), "cause") == 0;
    if (is_cause) found = soma_error_detail_value(error, i, NULL);
  }
  CHECK(strcmp(found, cause) == 0);
  if (strcmp(found, cause) != 0) fprintf(report, "  %s\n", soma_error_message(error, NULL));
  soma_error_release(error);
  soma_value_release(given);
}

static void test_what_a_node_can_not_read(void) {
  World w = build(NULL, GRAPH(PROGRAM("talk", FEW), ""));
  static const char* const unreadable[] = {
      "null", "7", "{\"role\":\"user\",\"content\":\"x\"}", "[]", "[\"x\"]",
      "[{\"role\":\"user\"}]",
      "[{\"role\":\"user\",\"content\":7}]",
      "[{\"role\":\"user\",\"content\":\"x\",\"name\":\"y\"}]"};
  for (size_t i = 0; i < sizeof unreadable / sizeof *unreadable; ++i) {
    check_cause(&w, unreadable[i], "run.input");
  }
  check_cause(&w, "[{\"role\":\"judge\",\"content\":\"x\"}]", "chat.role");
  free(yields(w.runtime, w.run, "\"still\""));
  release(&w, 4);
}

static void test_room_that_runs_out(void) {
  World w = build(NULL, GRAPH(PROGRAM("talk", MANY), ""));
  static const int32_t many[600] = {0};
  soma_session* small = make_session(w.model, 160, 1, "fast");
  soma_sequence* other = NULL;
  char long_text[900];
  memset(long_text, 'x', sizeof long_text);
  long_text[0] = long_text[sizeof long_text - 2] = '"';
  long_text[sizeof long_text - 1] = '\0';
  check_cause(&w, long_text, "session.context.full");
  /* Half an answer is none. */
  World cut = build(NULL, GRAPH(PROGRAM("talk", TOO_MANY), ""));
  check_cause(&cut, "\"hello\"", "session.context.full");
  release(&cut, 0);
  free(yields(w.runtime, w.run, "\"hello\""));
  w.run = (soma_run_release(w.run), NULL);
  w.ops = (soma_ops_release(w.ops), NULL);
  w.ops = ops_with(w.runtime, small);
  w.run = run_with(w.plan, w.ops, "adaptive");
  GOOD(soma_sequence_create(small, &other, &error));
  GOOD(soma_sequence_prefill(other, many, 120, SOMA_LOGITS_LAST, NULL, &error));
  check_cause(&w, "\"hello\"", "session.kv.full");
  soma_sequence_release(other);
  free(yields(w.runtime, w.run, "\"hello\"")); /* nothing was kept of the failed ones */
  free(yields(w.runtime, w.run, "\"hello\""));
  soma_session_release(small);
  release(&w, 6);
}

/* Branches on one session: at the same time, and one after the other. */
static void test_branches_at_once(void) {
  Account account = {0};
  World w = build(&account, GRAPH(PROGRAM("a", FEW) "," PROGRAM("b", ALL) ","
                                  PROGRAM("c", ",\"waits\":true" FEW) ","
                                  PROGRAM("d", ",\"waits\":true" MANY), ""));
  soma_run* at_once = run_with(w.plan, w.ops, "always");
  soma_options* alone = NULL;
  soma_run* in_turn = NULL;
  GOOD(soma_options_create("run", SOMA_NUL, &alone, &error));
  GOOD(soma_options_set_int(alone, "threads", SOMA_NUL, 1, &error));
  GOOD(soma_run_create(w.plan, w.ops, alone, &in_turn, &error));
  char* const expected = yields(w.runtime, in_turn, "\"hello there\"");
  for (int i = 0; i < 20; ++i) {
    CHECK(is_same(strdup(expected), yields(w.runtime, at_once, "\"hello there\"")));
  }
  CHECK(is_same(expected, yields(w.runtime, w.run, "\"hello there\"")));
  soma_options_release(alone);
  soma_run_release(in_turn);
  soma_run_release(at_once);
  release(&w, 8);
  CHECK(account.live == 0 && account.destroyed == 1);
}

static atomic_int hits;
static int unwatched;

static void count_hits(void* user, const char* event, size_t length) {
  (void)user, (void)length;
  hits += strstr(event, "\"cache_hit\"") != NULL;
}

/* With another session for the same name, or the same one again. */
static char* cached(const World* w, soma_cache* cache, const soma_session* session, int expected) {
  soma_ops* ops = ops_with(w->runtime, session);
  soma_run* run = run_with(w->plan, ops, "adaptive");
  GOOD(soma_run_set_cache(run, cache, &error));
  GOOD(soma_run_set_observer(run, count_hits, &unwatched, count_destroy, &error));
  hits = 0;
  char* const text = yields(w->runtime, run, "\"hello\"");
  CHECK(hits == expected);
  soma_run_release(run);
  soma_ops_release(ops);
  return text;
}

static void test_caches_tell_models_apart(void) {
  World w = build(NULL, GRAPH(PROGRAM("talk", ",\"cacheable\":true" FEW), ""));
  soma_model *again = NULL, *other = NULL;
  soma_cache* cache = NULL;
  GOOD(soma_model_open(w.runtime, model_path, SOMA_NUL, NULL, NULL, &again, &error));
  GOOD(soma_model_open(w.runtime, other_path, SOMA_NUL, NULL, NULL, &other, &error));
  GOOD(soma_cache_create(w.runtime, NULL, &cache, &error));
  soma_session* same = make_session(again, 160, 1, "fast");
  soma_session* foreign = make_session(other, 160, 4, "fast");
  soma_session* exact = make_session(w.model, 160, 4, "reference");
  soma_session* shorter = make_session(w.model, 144, 4, "fast");
  char* const first = cached(&w, cache, w.session, 0);
  char* const second = cached(&w, cache, foreign, 0);
  CHECK(strcmp(first, second) != 0);
  free(cached(&w, cache, exact, 0));
  CHECK(is_same(strdup(first), cached(&w, cache, shorter, 0)));
  CHECK(is_same(strdup(first), cached(&w, cache, same, 1)));
  CHECK(is_same(second, cached(&w, cache, foreign, 1)));
  CHECK(is_same(first, yields(w.runtime, w.run, "\"hello\"")));
  soma_session_release(same);
  soma_session_release(foreign);
  soma_session_release(exact);
  soma_session_release(shorter);
  soma_model_release(again);
  soma_model_release(other);
  soma_cache_release(cache);
  CHECK(unwatched == 6);
  release(&w, 10);
}

/* A run that breaks off behind its first node, and goes on with another model: what the first one
 * said was recorded, and is what the second node reads. */
static void test_what_was_recorded_is_not_generated_again(void) {
  World w = build(NULL, GRAPH(PROGRAM("a", ",\"deterministic\":false" FEW) ","
                              "{\"id\":\"b\",\"op\":\"std.identity\"}",
                              "{\"from\":\"a\",\"to\":\"b\"}"));
  soma_model* other = NULL;
  soma_journal* journal = NULL;
  soma_value *input = NULL, *value = NULL;
  GOOD(soma_model_open(w.runtime, other_path, SOMA_NUL, NULL, NULL, &other, &error));
  soma_session* foreign = make_session(other, 160, 4, "fast");
  soma_ops* ops = ops_with(w.runtime, foreign);
  soma_run* changed = run_with(w.plan, ops, "adaptive");
  GOOD(soma_value_parse(w.runtime, "\"hello\"", SOMA_NUL, &input, &error));
  GOOD(soma_journal_create(w.runtime, &journal, &error));
  GOOD(soma_run_set_journal(w.run, journal, "r", SOMA_NUL, &error));
  GOOD(soma_run_start(w.run, input, NULL, &error));
  GOOD(soma_run_step(w.run, 0, &value, &error));
  CHECK(value == NULL);
  GOOD(soma_run_abandon(w.run, &error));
  char* const unjournaled = yields(w.runtime, changed, "\"hello\"");
  GOOD(soma_run_set_journal(changed, journal, "r", SOMA_NUL, &error));
  char* const resumed = yields(w.runtime, changed, "\"hello\"");
  CHECK(strcmp(unjournaled, resumed) != 0);
  free(unjournaled);
  soma_run* fresh = run_with(w.plan, w.ops, "adaptive");
  CHECK(is_same(resumed, yields(w.runtime, fresh, "\"hello\"")));
  soma_run_release(fresh);
  soma_run_release(changed);
  soma_ops_release(ops);
  soma_session_release(foreign);
  soma_model_release(other);
  soma_journal_release(journal);
  soma_value_release(input);
  release(&w, 5);
}

static void test_a_plan_says_which_models_it_names(void) {
  World w = build(NULL, GRAPH(PROGRAM("a", FEW), ""));
  soma_plan* plan = plan_of(
      w.runtime, GRAPH(PROGRAM("a", FEW) ",{\"id\":\"b\",\"kind\":\"program\",\"model\":\"/x/n\"},"
                       PROGRAM("c", ""), ""));
  soma_blob* facts = NULL;
  GOOD(soma_plan_facts(plan, &facts, &error));
  CHECK(strstr(soma_blob_data(facts), "\"models\":[\"m.gguf\",\"/x/n\"]}") != NULL);
  soma_blob_release(facts);
  soma_plan_release(plan);
  release(&w, 7);
}

int main(int count, char** arguments) {
  report = stdout;
  if (count < 3) return 2;
  model_path = arguments[1];
  other_path = arguments[2];
  test_it_yields_what_its_session_generates();
  test_release_in_any_order();
  test_ops_keep_their_sessions();
  test_what_ops_refuse();
  test_what_sessions_refuse();
  test_what_a_node_can_not_read();
  test_room_that_runs_out();
  test_branches_at_once();
  test_caches_tell_models_apart();
  test_what_was_recorded_is_not_generated_again();
  test_a_plan_says_which_models_it_names();
  return summary();
}
