/* Proves that exhausted memory is an error like others: in each phase, from making a runtime to
 * generating, and from a graph document to what its run yields, the n-th allocation fails, for
 * every n until the phase succeeds. A failing call says SOMA_RESOURCE_EXHAUSTED, and the objects it
 * was about hold what they held before: a run can be executed again.
 *
 * usage: fault MODEL FOLDER
 */
#define _GNU_SOURCE
#include <stdatomic.h>

#include "check.h"
#include "keeper.h"

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

static const char *model_path, *cache_path;
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

/* ---- Graphs: a diamond, a loop and a branch, with nodes of the host's. */
static const char document[] =
    "{\"soma\":\"graph\",\"version\":1,\"nodes\":["
    "{\"id\":\"begin\",\"kind\":\"function\",\"op\":\"visit\"},"
    "{\"id\":\"twice\",\"kind\":\"loop\",\"max_iterations\":2,\"until\":\"exhaust\"},"
    "{\"id\":\"more\",\"kind\":\"function\",\"op\":\"visit\"},"
    "{\"id\":\"l\",\"kind\":\"function\",\"op\":\"std.format\","
    "\"config\":{\"template\":\"<{it}>\"}},"
    "{\"id\":\"r\",\"kind\":\"function\",\"op\":\"std.format\","
    "\"config\":{\"template\":\"{it}!\"}},"
    "{\"id\":\"join\",\"kind\":\"function\",\"op\":\"std.concat\"},"
    "{\"id\":\"gate\",\"kind\":\"branch\",\"op\":\"std.identity\"},"
    "{\"id\":\"short\",\"kind\":\"function\",\"op\":\"std.const\",\"config\":{\"value\":0}},"
    "{\"id\":\"long\",\"kind\":\"function\",\"op\":\"std.identity\"}],\"edges\":["
    "{\"from\":\"begin\",\"to\":\"twice\"},"
    "{\"from\":\"twice\",\"to\":\"more\",\"kind\":\"control\"},"
    "{\"from\":\"twice\",\"to\":\"l\"},{\"from\":\"twice\",\"to\":\"r\"},"
    "{\"from\":\"l\",\"to\":\"join\"},{\"from\":\"r\",\"to\":\"join\"},"
    "{\"from\":\"join\",\"to\":\"gate\"},"
    "{\"from\":\"gate\",\"to\":\"short\",\"kind\":\"control\",\"arm\":\"it == \\\"\\\"\"},"
    "{\"from\":\"gate\",\"to\":\"long\",\"kind\":\"control\",\"arm\":\"else\"}]}";

static soma_plan* plan;
static soma_run* run;
static long added, destroyed, events; /* what the host gave, what it got back, what it saw */
static soma_code of_node;             /* why a node failed */
static soma_cancel* wish;             /* of the run at hand, for its node; or NULL */

static void count_destroy(void* user) {
  (void)user;
  ++destroyed;
}

static void observe(void* user, const char* event, size_t length) {
  (void)user, (void)event;
  events += length > 0;
}

static void probe(void* user, const soma_event* event) {
  (void)user;
  events += event->path_length;
}

/* Yields [input, something of the host's]. */
static int32_t visit(void* user, soma_call* call) {
  const soma_value* parts[2] = {soma_call_input(call), NULL};
  soma_value *mine = NULL, *both = NULL;
  soma_blob* facts = NULL;
  soma_error* error = NULL;
  of_node = parts[0] ? SOMA_OK : SOMA_RESOURCE_EXHAUSTED;
  soma_cancel_request(wish);
  if (of_node == SOMA_OK) of_node = soma_call_facts(call, &facts, &error);
  if (of_node == SOMA_OK) {
    ++added;
    of_node = soma_value_of_opaque(runtime, user, count_destroy, &mine, &error);
  }
  parts[1] = mine;
  if (of_node == SOMA_OK) of_node = soma_value_of_list(runtime, parts, 2, &both, &error);
  soma_value_release(both);
  if (of_node == SOMA_OK) of_node = soma_call_set_output(call, parts[0], &error);
  soma_value_release(mine);
  soma_blob_release(facts);
  soma_error_release(error);
  return of_node == SOMA_OK ? SOMA_CONTINUE : SOMA_STOP;
}

/* What the run says, and for a node that failed for lack of memory what the node saw. */
static soma_code execute(soma_run* of, const soma_value* input, soma_error** error) {
  soma_value* value = NULL;
  soma_blob* json = NULL;
  of_node = SOMA_OK;
  soma_code code = soma_run_execute(of, input, NULL, &value, error);
  if (code == SOMA_ABORTED && of_node != SOMA_OK) code = of_node;
  if (code == SOMA_OK) code = soma_value_json(value, &json, error);
  if (code == SOMA_OK) CHECK(strcmp(soma_blob_data(json), "{\"long\":\"<7>7!\"}") == 0);
  soma_blob_release(json);
  soma_value_release(value);
  return code;
}

static soma_code make_values(soma_error** error) {
  soma_value *parsed = NULL, *text = NULL, *bytes = NULL, *mine = NULL, *map = NULL, *at = NULL;
  soma_blob* json = NULL;
  const char* keys[] = {"parsed", "text", "bytes", "mine"};
  ++added;
  soma_code code = soma_value_of_opaque(runtime, NULL, count_destroy, &mine, error);
  if (code == SOMA_OK) {
    code = soma_value_parse(runtime, "{\"a\":[1,2.5,null,\"x\"]}", SOMA_NUL, &parsed, error);
  }
  if (code == SOMA_OK) code = soma_value_of_text(runtime, "text", SOMA_NUL, &text, error);
  if (code == SOMA_OK) code = soma_value_of_bytes(runtime, "\1\2", 2, &bytes, error);
  if (code == SOMA_OK) {
    const soma_value* values[] = {parsed, text, bytes, mine};
    code = soma_value_of_map(runtime, keys, values, 4, &map, error);
  }
  if (code == SOMA_OK) code = soma_value_get(map, "parsed", SOMA_NUL, &at, error);
  if (code == SOMA_OK) code = soma_value_json(at, &json, error);
  soma_value_release(parsed);
  soma_value_release(text);
  soma_value_release(bytes);
  soma_value_release(mine);
  soma_value_release(map);
  soma_value_release(at);
  soma_blob_release(json);
  CHECK(destroyed == added);
  return code;
}

/* Piece by piece, and put together. */
static soma_code build_graph(soma_error** error) {
  soma_graph *first = NULL, *second = NULL, *both = NULL, *again = NULL;
  soma_blob *json = NULL, *id = NULL, *found = NULL;
  uint32_t a = 0, b = 0;
  soma_code code = soma_graph_create(runtime, &first, error);
  if (code == SOMA_OK) {
    code = soma_graph_add_function(first, "a", SOMA_NUL, "visit", SOMA_NUL, &a, error);
  }
  if (code == SOMA_OK) {
    code = soma_graph_add_node(first, "{\"id\":\"b\",\"kind\":\"branch\"}", SOMA_NUL, &b, error);
  }
  if (code == SOMA_OK) {
    code = soma_graph_add_edge(first, a, b, SOMA_EDGE_CONTROL, "{\"arm\":\"else\"}", SOMA_NUL,
                               error);
  }
  if (code == SOMA_OK) code = soma_graph_automatic_id(first, "a", SOMA_NUL, &id, error);
  if (code == SOMA_OK) code = soma_graph_create(runtime, &second, error);
  if (code == SOMA_OK) {
    code = soma_graph_add_subgraph(second, soma_blob_data(id), SOMA_NUL, first, &a, error);
  }
  if (code == SOMA_OK) code = soma_graph_then(first, second, &both, error);
  if (code == SOMA_OK) code = soma_graph_document(both, &json, error);
  if (code == SOMA_OK) {
    code = soma_graph_parse(runtime, soma_blob_data(json), SOMA_NUL, &again, error);
  }
  if (code == SOMA_OK) code = soma_graph_check(again, NULL, &found, error);
  soma_graph_release(first);
  soma_graph_release(second);
  soma_graph_release(both);
  soma_graph_release(again);
  soma_blob_release(json);
  soma_blob_release(id);
  soma_blob_release(found);
  return code;
}

/* All that a plan is shown and kept as; from its binary form comes a plan again. */
static soma_code show_plan(const soma_plan* made, soma_error** error) {
  soma_plan* again = NULL;
  soma_blob *page = NULL, *binary = NULL, *cost = NULL;
  soma_code code = soma_plan_show(made, "html", SOMA_NUL, &page, error);
  if (code == SOMA_OK) code = soma_plan_binary(made, &binary, error);
  if (code == SOMA_OK) {
    code = soma_plan_parse(runtime, soma_blob_data(binary), soma_blob_size(binary), &again, error);
  }
  if (code == SOMA_OK) {
    code = soma_plan_estimate(made, "{\"ops\":{\"visit\":2}}", SOMA_NUL, 1, &cost, error);
  }
  soma_plan_release(again);
  soma_blob_release(page);
  soma_blob_release(binary);
  soma_blob_release(cost);
  return code;
}

/* From a document to a plan, and from that to a document and back. */
static soma_code compile_graph(soma_error** error) {
  soma_graph* graph = NULL;
  soma_plan* made = NULL;
  soma_blob *json = NULL, *tree = NULL, *difference = NULL, *said = NULL;
  soma_code code = soma_graph_parse(runtime, document, SOMA_NUL, &graph, error);
  if (code == SOMA_OK) code = soma_plan_compile(graph, NULL, &made, error);
  if (code == SOMA_OK) code = soma_plan_diagnostics(made, &said, error);
  if (code == SOMA_OK) code = soma_plan_show(made, "tree", SOMA_NUL, &tree, error);
  if (code == SOMA_OK) code = show_plan(made, error);
  if (code == SOMA_OK) code = soma_plan_document(made, &json, error);
  if (code == SOMA_OK) {
    code = soma_plan_parse(runtime, soma_blob_data(json), SOMA_NUL, &plan, error);
  }
  if (code == SOMA_OK) {
    code = soma_plan_diff(made, plan, &difference, error);
    if (code != SOMA_OK) plan = (soma_plan_release(plan), NULL);
  }
  soma_graph_release(graph);
  soma_plan_release(made);
  soma_blob_release(json);
  soma_blob_release(tree);
  soma_blob_release(difference);
  soma_blob_release(said);
  return code;
}

static soma_code compile_cached(soma_error** error) {
  soma_plan_cache* cache = NULL;
  soma_graph* graph = NULL;
  soma_plan *made = NULL, *found = NULL;
  soma_blob* facts = NULL;
  soma_code code = soma_plan_cache_create(runtime, NULL, &cache, error);
  if (code == SOMA_OK) code = soma_graph_parse(runtime, document, SOMA_NUL, &graph, error);
  if (code == SOMA_OK) code = soma_plan_cache_compile(cache, graph, NULL, &made, error);
  if (code == SOMA_OK) code = soma_plan_cache_compile(cache, graph, NULL, &found, error);
  if (code == SOMA_OK) code = soma_plan_cache_facts(cache, &facts, error);
  CHECK(code != SOMA_OK || made == found);
  soma_plan_release(made);
  soma_plan_release(found);
  soma_blob_release(facts);
  soma_graph_release(graph);
  soma_plan_cache_release(cache);
  return code;
}

static soma_code make_run(soma_error** error) {
  soma_ops* ops = NULL;
  soma_code code = soma_ops_create(runtime, &ops, error);
  if (code == SOMA_OK) {
    ++added;
    code = soma_ops_add(ops, "visit", SOMA_NUL, 0, SOMA_THREAD_CALLER, 0, visit, NULL,
                        count_destroy, error);
    CHECK(destroyed == (code == SOMA_OK ? added - 1 : added));
  }
  if (code == SOMA_OK) code = soma_run_create(plan, ops, NULL, &run, error);
  soma_ops_release(ops);
  return code;
}

static soma_code execute_plan(soma_error** error) {
  soma_value* input = NULL;
  soma_code code = soma_value_of_int(runtime, 7, &input, error);
  if (code == SOMA_OK) code = execute(run, input, error);
  soma_value_release(input);
  CHECK(destroyed == added - 1); /* but for the run's function */
  return code;
}

/* Somebody watches, and the host drives. */
static soma_code step_plan(soma_error** error) {
  soma_value *input = NULL, *value = NULL;
  soma_code code = soma_value_of_int(runtime, 7, &input, error);
  if (code == SOMA_OK) code = soma_run_set_observer(run, observe, NULL, NULL, error);
  if (code == SOMA_OK) code = soma_run_set_probe(run, probe, NULL, NULL, error);
  if (code == SOMA_OK) code = soma_run_start(run, input, NULL, error);
  of_node = SOMA_OK;
  while (code == SOMA_OK && value == NULL) code = soma_run_step(run, 1, &value, error);
  if (code == SOMA_ABORTED && of_node != SOMA_OK) code = of_node;
  soma_value_release(input);
  soma_value_release(value);
  const soma_code unwatched = soma_run_set_observer(run, NULL, NULL, NULL, NULL);
  CHECK(unwatched == SOMA_OK); /* the execution is over */
  return code;
}

/* The node asks for its run to stop. */
static soma_code cancel_plan(soma_error** error) {
  soma_value *input = NULL, *value = NULL;
  soma_code code = soma_value_of_int(runtime, 7, &input, error);
  if (code == SOMA_OK) code = soma_cancel_create(runtime, &wish, error);
  of_node = SOMA_OK;
  if (code == SOMA_OK) {
    code = soma_run_execute(run, input, wish, &value, error);
    CHECK(code != SOMA_OK && value == NULL);
  }
  if (code == SOMA_ABORTED && of_node != SOMA_OK) code = of_node;
  if (code == SOMA_CANCELLED) {
    soma_error_release(*error);
    *error = NULL;
    code = SOMA_OK;
  }
  soma_cancel_release(wish);
  wish = NULL;
  soma_value_release(input);
  return code;
}

/* Only a probe, which goes after it. */
static soma_code probe_plan(soma_error** error) {
  soma_code code = soma_run_set_probe(run, probe, NULL, NULL, error);
  if (code == SOMA_OK) code = execute_plan(error);
  const soma_code unwatched = soma_run_set_probe(run, NULL, NULL, NULL, NULL);
  CHECK(unwatched == SOMA_OK);
  return code;
}

/* One effect, then an answer that the journal has, then a child. */
static int32_t take_turn(void* user, soma_step* step) {
  soma_error* error = NULL;
  soma_value* question = NULL;
  (void)user;
  switch (soma_step_turn(step)) {
    case 0:
      of_node = soma_step_await(step, "echo", SOMA_NUL, soma_step_input(step), 0, &error);
      break;
    case 1:
      of_node = soma_value_of_text(runtime, "well?", SOMA_NUL, &question, &error);
      if (of_node == SOMA_OK) of_node = soma_step_suspend(step, question, &error);
      break;
    default:
      of_node = soma_step_history(step) ? SOMA_OK : SOMA_RESOURCE_EXHAUSTED;
      if (of_node == SOMA_OK) of_node = soma_step_done(step, soma_step_history(step), &error);
  }
  soma_value_release(question);
  soma_error_release(error);
  return of_node == SOMA_OK ? SOMA_CONTINUE : SOMA_STOP;
}

static void echo(void* user, soma_effect* effect) {
  (void)user;
  if (soma_effect_complete(effect, soma_effect_payload(effect), NULL) == SOMA_OK) return;
  of_node = SOMA_RESOURCE_EXHAUSTED;
  CHECK(soma_effect_fail(effect, "no memory", SOMA_NUL, NULL) == SOMA_OK);
}

static const char one_step[] =
    "{\"soma\":\"graph\",\"version\":1,\"nodes\":["
    "{\"id\":\"s\",\"kind\":\"step\",\"op\":\"turn\"}],\"edges\":[]}";

static Keeper keeper; /* which has memory of its own */

static soma_code make_journal(int is_hosted, soma_journal** journal, soma_error** error) {
  if (!is_hosted) return soma_journal_create(runtime, journal, error);
  return soma_journal_create_hosted(runtime, &keeper_store, &keeper, keeper_destroy, journal,
                                    error);
}

static soma_code make_journaled(int is_hosted, soma_journal** journal, soma_run** made,
                                soma_error** error) {
  soma_graph* graph = NULL;
  soma_plan* of = NULL;
  soma_ops* ops = NULL;
  soma_code code = soma_graph_parse(runtime, one_step, SOMA_NUL, &graph, error);
  if (code == SOMA_OK) code = soma_plan_compile(graph, NULL, &of, error);
  if (code == SOMA_OK) code = soma_ops_create(runtime, &ops, error);
  if (code == SOMA_OK) {
    code = soma_ops_add_step(ops, "turn", SOMA_NUL, 0, take_turn, NULL, NULL, error);
  }
  if (code == SOMA_OK) {
    code = soma_ops_add_handler(ops, "echo", SOMA_NUL, SOMA_IN_DOUBT_RETRY, echo, NULL, NULL,
                                error);
  }
  if (code == SOMA_OK) code = soma_run_create(of, ops, NULL, made, error);
  if (code == SOMA_OK) code = make_journal(is_hosted, journal, error);
  if (code == SOMA_OK) code = soma_run_set_journal(*made, *journal, "r", SOMA_NUL, error);
  soma_graph_release(graph);
  soma_plan_release(of);
  soma_ops_release(ops);
  return code;
}

/* Until it waits, then with an answer to its end. */
static soma_code run_with_journal(int is_hosted, soma_error** error) {
  soma_journal* journal = NULL;
  soma_run* made = NULL;
  soma_value* value = NULL;
  soma_blob *runs = NULL, *records = NULL;
  of_node = SOMA_OK;
  soma_code code = make_journaled(is_hosted, &journal, &made, error);
  if (code == SOMA_OK) {
    soma_error* waits = NULL;
    code = soma_run_execute(made, NULL, NULL, &value, &waits);
    CHECK(code != SOMA_OK);
    const int is_suspended = strcmp(soma_error_reason(waits, NULL), "run.suspended") == 0;
    if (is_suspended) code = SOMA_OK;
    if (is_suspended) soma_error_release(waits);
    else *error = waits;
  }
  if (code == SOMA_OK) code = soma_run_answer(made, NULL, 0, NULL, error);
  if (code == SOMA_OK) code = soma_run_execute(made, NULL, NULL, &value, error);
  if (code == SOMA_ABORTED && of_node != SOMA_OK) code = of_node;
  if (code == SOMA_OK) code = soma_journal_list(journal, &runs, error);
  if (code == SOMA_OK) code = soma_journal_show(journal, "r", SOMA_NUL, &records, error);
  soma_value_release(value);
  soma_blob_release(runs);
  soma_blob_release(records);
  soma_run_release(made);
  soma_journal_release(journal);
  return code;
}

static soma_code run_journaled(soma_error** error) { return run_with_journal(0, error); }

static soma_code run_hosted(soma_error** error) {
  keeper_begin(&keeper);
  const soma_code code = run_with_journal(1, error);
  keeper_end(&keeper);
  return code;
}

static const char cacheable[] =
    "{\"soma\":\"graph\",\"version\":1,\"nodes\":["
    "{\"id\":\"a\",\"op\":\"std.format\",\"cacheable\":true,\"config\":{\"template\":\"<{it}>\"}},"
    "{\"id\":\"b\",\"op\":\"std.identity\",\"cacheable\":true}],"
    "\"edges\":[{\"from\":\"a\",\"to\":\"b\"}]}";

/* Once to fill it, once to be filled by it; what it has no memory to keep or find, it does without.
 */
static soma_code execute_twice(soma_run* cached, soma_error** error) {
  soma_code code = SOMA_OK;
  for (int i = 0; i < 2 && code == SOMA_OK; ++i) {
    soma_value* value = NULL;
    soma_blob* json = NULL;
    code = soma_run_execute(cached, NULL, NULL, &value, error);
    if (code == SOMA_OK) code = soma_value_json(value, &json, error);
    if (code == SOMA_OK) CHECK(strcmp(soma_blob_data(json), "\"<null>\"") == 0);
    soma_blob_release(json);
    soma_value_release(value);
  }
  return code;
}

static soma_code look_into_cache(const soma_cache* cache, soma_error** error) {
  soma_blob *facts = NULL, *sound = NULL, *times = NULL, *swept = NULL;
  soma_code code = soma_cache_facts(cache, &facts, error);
  if (code == SOMA_OK) code = soma_cache_verify(cache, NULL, &sound, error);
  if (code == SOMA_OK) CHECK(strstr(soma_blob_data(sound), "\"damaged\":0") != NULL);
  if (code == SOMA_OK) code = soma_cache_measured(cache, &times, error);
  if (code == SOMA_OK) code = soma_cache_sweep(cache, 0, &swept, error);
  soma_blob_release(facts);
  soma_blob_release(sound);
  soma_blob_release(times);
  soma_blob_release(swept);
  return code;
}

static soma_code run_with_cache(soma_error** error) {
  soma_graph* graph = NULL;
  soma_plan* made = NULL;
  soma_ops* ops = NULL;
  soma_run* cached = NULL;
  soma_cache* cache = NULL;
  soma_code code = soma_graph_parse(runtime, cacheable, SOMA_NUL, &graph, error);
  if (code == SOMA_OK) code = soma_plan_compile(graph, NULL, &made, error);
  if (code == SOMA_OK) code = soma_ops_create(runtime, &ops, error);
  if (code == SOMA_OK) code = soma_run_create(made, ops, NULL, &cached, error);
  if (code == SOMA_OK) code = soma_cache_open(runtime, cache_path, SOMA_NUL, NULL, &cache, error);
  if (code == SOMA_OK) code = soma_run_set_cache(cached, cache, error);
  if (code == SOMA_OK) code = execute_twice(cached, error);
  if (code == SOMA_OK) code = look_into_cache(cache, error);
  soma_graph_release(graph);
  soma_plan_release(made);
  soma_ops_release(ops);
  soma_run_release(cached);
  soma_cache_release(cache);
  return code;
}

#include "fault_gradient.h"

static const char program[] =
    "{\"soma\":\"graph\",\"version\":1,\"nodes\":["
    "{\"id\":\"talk\",\"kind\":\"program\",\"model\":\"m\",\"task\":\"generate\","
    "\"cacheable\":true,"
    "\"config\":{\"max_tokens\":4,\"system\":\"sing\",\"temperature\":0.5}}],\"edges\":[]}";

/* A graph that runs the session, with a cache that asks which model that is. */
static soma_code run_program(soma_error** error) {
  soma_graph* graph = NULL;
  soma_plan* made = NULL;
  soma_ops* ops = NULL;
  soma_run* of = NULL;
  soma_cache* cache = NULL;
  soma_value *input = NULL, *value = NULL;
  soma_code code = soma_graph_parse(runtime, program, SOMA_NUL, &graph, error);
  if (code == SOMA_OK) code = soma_plan_compile(graph, NULL, &made, error);
  if (code == SOMA_OK) code = soma_ops_create(runtime, &ops, error);
  if (code == SOMA_OK) code = soma_ops_add_session(ops, "m", SOMA_NUL, session, error);
  if (code == SOMA_OK) code = soma_run_create(made, ops, NULL, &of, error);
  if (code == SOMA_OK) code = soma_cache_create(runtime, NULL, &cache, error);
  if (code == SOMA_OK) code = soma_run_set_cache(of, cache, error);
  if (code == SOMA_OK) code = soma_value_of_text(runtime, "hello", SOMA_NUL, &input, error);
  if (code == SOMA_OK) code = soma_run_execute(of, input, NULL, &value, error);
  if (code == SOMA_OK) CHECK(soma_value_kind(value) == SOMA_VALUE_TEXT);
  soma_graph_release(graph);
  soma_plan_release(made);
  soma_ops_release(ops);
  soma_run_release(of);
  soma_cache_release(cache);
  soma_value_release(input);
  soma_value_release(value);
  return code;
}

/* Fails each allocation of a phase in turn. A phase that leaves nothing behind may do without some,
 * and then goes on to the next. */
typedef enum { MAKES_SOMETHING, LEAVES_NOTHING } Kind;
static void each_failure(const char* name, Kind kind, soma_code (*phase)(soma_error**)) {
  long n = 0;
  int right = 1, goes_on = 1;
  soma_code code = SOMA_UNKNOWN;
  while (goes_on && right) {
    soma_error* error = NULL;
    const long before = account.live;
    account.until_failure = n;
    code = phase(&error);
    goes_on = code != SOMA_OK || (kind == LEAVES_NOTHING && account.until_failure < 0);
    account.until_failure = -1;
    if (goes_on) {
      right = account.live == before &&
              (code == SOMA_OK || (code == SOMA_RESOURCE_EXHAUSTED && error != NULL));
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
  if (count < 3) return 2;
  model_path = arguments[1];
  cache_path = arguments[2];
  account.until_failure = -1;
  each_failure("runtime", MAKES_SOMETHING, make_runtime);
  each_failure("open", MAKES_SOMETHING, open_model);
  each_failure("text", LEAVES_NOTHING, text_and_back);
  each_failure("compile", LEAVES_NOTHING, compile);
  each_failure("session", MAKES_SOMETHING, make_session);
  each_failure("run", LEAVES_NOTHING, run_sequence);
  each_failure("values", LEAVES_NOTHING, make_values);
  each_failure("build graph", LEAVES_NOTHING, build_graph);
  each_failure("compile graph", MAKES_SOMETHING, compile_graph);
  each_failure("plan cache", LEAVES_NOTHING, compile_cached);
  each_failure("make run", MAKES_SOMETHING, make_run);
  each_failure("execute", LEAVES_NOTHING, execute_plan);
  each_failure("step", LEAVES_NOTHING, step_plan);
  each_failure("probe", LEAVES_NOTHING, probe_plan);
  each_failure("cancel", LEAVES_NOTHING, cancel_plan);
  each_failure("journal", LEAVES_NOTHING, run_journaled);
  each_failure("hosted journal", LEAVES_NOTHING, run_hosted);
  each_failure("cache", LEAVES_NOTHING, run_with_cache);
  CHECK(trace_gradient(NULL) == SOMA_OK); /* makes a slot for its calls, which the runtime keeps */
  each_failure("gradient", LEAVES_NOTHING, trace_gradient);
  each_failure("program", LEAVES_NOTHING, run_program);
  CHECK(events > 0);
  soma_plan_release(plan);
  soma_run_release(run);
  CHECK(destroyed == added);
  soma_runtime_release(runtime);
  soma_model_release(model);
  soma_session_release(session);
  CHECK(account.live == 0);
  return summary();
}
