/* Proves the life of journals that a host keeps: its table, its failures and lies, what a run makes
 * of them, several runs at once, and release in any order.
 *
 * usage: lifetime_journals
 */
#define _GNU_SOURCE
#include "keeper.h"
#include "runtime.h"

static atomic_int performed, retried;
static Keeper beside; /* of two journals */

/* An effect, a question, an effect. */
static int32_t take_turn(void* user, soma_step* step) {
  soma_value* question = NULL;
  switch (soma_step_turn(step)) {
    case 1:
      GOOD(soma_value_of_text(user, "well?", SOMA_NUL, &question, &error));
      GOOD(soma_step_suspend(step, question, &error));
      break;
    case 3: GOOD(soma_step_done(step, soma_step_input(step), &error)); break;
    default: GOOD(soma_step_await(step, "echo", SOMA_NUL, soma_step_input(step), 0, &error));
  }
  soma_value_release(question);
  return SOMA_CONTINUE;
}

static void echo(void* user, soma_effect* effect) {
  (void)user;
  performed += 1;
  retried += soma_effect_is_retry(effect);
  GOOD(soma_effect_complete(effect, soma_effect_payload(effect), &error));
}

static const char one_step[] =
    "{\"soma\":\"graph\",\"version\":1,\"nodes\":["
    "{\"id\":\"s\",\"kind\":\"step\",\"op\":\"turn\"}],\"edges\":[]}";

static soma_run* make_run(soma_runtime* runtime, soma_effect_fn perform) {
  soma_graph* graph = NULL;
  soma_plan* plan = NULL;
  soma_ops* ops = NULL;
  soma_run* run = NULL;
  GOOD(soma_graph_parse(runtime, one_step, SOMA_NUL, &graph, &error));
  GOOD(soma_plan_compile(graph, NULL, &plan, &error));
  GOOD(soma_ops_create(runtime, &ops, &error));
  GOOD(soma_ops_add_step(ops, "turn", SOMA_NUL, 0, take_turn, runtime, NULL, &error));
  GOOD(soma_ops_add_handler(ops, "echo", SOMA_NUL, SOMA_IN_DOUBT_RETRY, perform, runtime, NULL,
                            &error));
  GOOD(soma_run_create(plan, ops, NULL, &run, &error));
  soma_graph_release(graph);
  soma_plan_release(plan);
  soma_ops_release(ops);
  return run;
}

static soma_journal* make_journal(soma_runtime* runtime, Keeper* keeper) {
  soma_journal* journal = NULL;
  GOOD(soma_journal_create_hosted(runtime, &keeper_store, keeper, keeper_destroy, &journal,
                                  &error));
  return journal;
}

static soma_run* make_journaled(soma_runtime* runtime, const soma_journal* journal,
                                const char* id) {
  soma_run* run = make_run(runtime, echo);
  GOOD(soma_run_set_journal(run, journal, id, SOMA_NUL, &error));
  return run;
}

static void fails(soma_run* run, soma_code meant, const char* reason) {
  soma_value* value = NULL;
  BAD(soma_run_execute(run, NULL, NULL, &value, &error), meant, reason);
  CHECK(value == NULL);
}

/* The message of a failing execution has this in it. */
static int says(soma_run* run, const char* words) {
  soma_value* value = NULL;
  soma_error* error = NULL;
  CHECK(soma_run_execute(run, NULL, NULL, &value, &error) != SOMA_OK);
  const int found = strstr(soma_error_message(error, NULL), words) != NULL;
  if (!found) fprintf(report, "  %s\n", soma_error_message(error, NULL));
  soma_error_release(error);
  return found;
}

static void waits(soma_run* run) { fails(run, SOMA_FAILED_PRECONDITION, "run.suspended"); }

static void ends(soma_run* run) {
  soma_value* value = NULL;
  GOOD(soma_run_execute(run, NULL, NULL, &value, &error));
  soma_value_release(value);
}

static int lists(const soma_journal* journal, const char* words) {
  soma_blob* runs = NULL;
  GOOD(soma_journal_list(journal, &runs, &error));
  const int found = strstr(soma_blob_data(runs), words) != NULL;
  if (!found) fprintf(report, "no %s in %s\n", words, (const char*)soma_blob_data(runs));
  soma_blob_release(runs);
  return found;
}

static void test_a_run_goes_on_in_any_order_of_releases(void) {
  for (int order = 0; order < 6; ++order) {
    Account account = {0};
    Keeper keeper;
    keeper_begin(&keeper);
    soma_runtime* runtime = make_runtime(&account, 0);
    soma_journal* journal = make_journal(runtime, &keeper);
    soma_run* run = make_journaled(runtime, journal, "r");
    performed = 0;
    waits(run);
    CHECK(lists(journal, "\"run\":\"r\",\"state\":\"waiting\""));
    GOOD(soma_run_answer(run, NULL, 0, NULL, &error));
    ends(run);
    ends(run); /* it has ended: nothing is called */
    CHECK(performed == 2 && lists(journal, "\"state\":\"ended\""));
    for (int i = 0; i < 3; ++i) {
      switch ((order + i) % 3) {
        case 0: soma_journal_release(journal); break;
        case 1: soma_runtime_release(runtime); break;
        case 2: soma_run_release(run); break;
      }
    }
    CHECK(keeper.destroyed == 1 && account.live == 0 && account.destroyed == 1);
    keeper_end(&keeper);
  }
}

/* What the host has outlives the process that wrote it: here, the objects. */
static void test_another_process_takes_over(void) {
  Account account = {0};
  Keeper keeper;
  keeper_begin(&keeper);
  performed = 0;
  for (int life = 0; life < 3; ++life) {
    soma_runtime* runtime = make_runtime(&account, 0);
    soma_journal* journal = make_journal(runtime, &keeper);
    soma_run* run = make_journaled(runtime, journal, "r");
    if (life == 0) waits(run);
    if (life == 1) GOOD(soma_journal_answer(journal, "r", SOMA_NUL, "s", SOMA_NUL, NULL, &error));
    if (life > 0) ends(run);
    soma_run_release(run);
    soma_journal_release(journal);
    soma_runtime_release(runtime);
  }
  CHECK(performed == 2 && account.live == 0 && keeper.destroyed == 3);
  keeper_end(&keeper);
}

/* Two journals on one store: whoever has the lock is alone, from before the first load. */
static soma_journal* other_journal;

static void echo_beside(void* user, soma_effect* effect) {
  soma_run* other = make_journaled(user, other_journal, "r");
  Keeper* keeper = &beside;
  const int loads = keeper->loads;
  CHECK(keeper->held == 1);
  fails(other, SOMA_FAILED_PRECONDITION, "journal.locked");
  CHECK(says(other, "it is taken"));
  BAD(soma_journal_answer(other_journal, "r", SOMA_NUL, NULL, 0, NULL, &error),
      SOMA_FAILED_PRECONDITION, "journal.locked");
  BAD(soma_journal_remove(other_journal, "r", SOMA_NUL, &error), SOMA_FAILED_PRECONDITION,
      "journal.locked");
  CHECK(lists(other_journal, "\"state\":\"in_use\""));
  CHECK(keeper->loads == loads && keeper->held == 1);
  soma_run_release(other);
  echo(user, effect);
}

static void test_a_lock(void) {
  Account account = {0};
  keeper_begin(&beside);
  soma_journal_store store = keeper_store;
  store.lock = keeper_lock, store.unlock = keeper_unlock;
  soma_runtime* runtime = make_runtime(&account, 0);
  soma_journal* journal = NULL;
  GOOD(soma_journal_create_hosted(runtime, &store, &beside, keeper_destroy, &journal, &error));
  GOOD(soma_journal_create_hosted(runtime, &store, &beside, keeper_destroy, &other_journal,
                                  &error));
  performed = 0;
  soma_run* run = make_run(runtime, echo_beside);
  GOOD(soma_run_set_journal(run, journal, "r", SOMA_NUL, &error));
  waits(run);
  CHECK(performed == 1 && beside.held == 0 && beside.refused == 5);
  GOOD(soma_journal_answer(other_journal, "r", SOMA_NUL, NULL, 0, NULL, &error));
  CHECK(beside.held == 0);
  soma_run_release(run);
  run = make_journaled(runtime, other_journal, "r");
  ends(run);
  CHECK(performed == 2 && beside.held == 0);
  store.unlock = NULL;
  soma_journal* none = NULL;
  BAD(soma_journal_create_hosted(runtime, &store, NULL, NULL, &none, &error),
      SOMA_INVALID_ARGUMENT, "argument.null");
  store.lock = NULL, store.unlock = keeper_unlock;
  BAD(soma_journal_create_hosted(runtime, &store, NULL, NULL, &none, &error),
      SOMA_INVALID_ARGUMENT, "argument.null");
  soma_run_release(run);
  soma_journal_release(journal);
  soma_journal_release(other_journal);
  soma_runtime_release(runtime);
  CHECK(account.live == 0 && beside.destroyed == 2);
  keeper_end(&beside);
}

static void test_what_the_host_loses_or_spoils(void) {
  Account account = {0};
  Keeper keeper;
  keeper_begin(&keeper);
  soma_runtime* runtime = make_runtime(&account, 0);
  soma_journal* journal = make_journal(runtime, &keeper);
  soma_run* run = make_journaled(runtime, journal, "r");
  performed = retried = 0;
  waits(run);
  KeptRun* kept = keeper_run(&keeper, "r", 1, 0);
  /* The identity, the intent, its result, the suspension. */
  CHECK(kept && kept->count == 4);
  /* The end is gone: the question is asked again, the effect is not performed again. */
  keeper_drop(kept, 3);
  waits(run);
  CHECK(performed == 1 && kept->count == 4);
  /* The result too: it is in doubt, and may be tried again. */
  keeper_drop(kept, 2);
  waits(run);
  CHECK(performed == 2 && retried == 1);
  /* In the middle, or changed: nothing is believed any more. */
  void* const first = kept->entries[1];
  const size_t size = kept->sizes[1];
  kept->entries[1] = kept->entries[2], kept->sizes[1] = kept->sizes[2];
  fails(run, SOMA_DATA_LOSS, "journal.corrupt");
  CHECK(says(run, "entry 1 of run 'r'"));
  kept->entries[1] = first, kept->sizes[1] = size;
  for (size_t at = 0; at < size; at += 7) {
    ((unsigned char*)first)[at] ^= 0x20;
    soma_value* value = NULL;
    const soma_code refused = soma_run_execute(run, NULL, NULL, &value, NULL);
    CHECK(refused == SOMA_DATA_LOSS || refused == SOMA_INCOMPATIBLE); /* the version is in it */
    ((unsigned char*)first)[at] ^= 0x20;
  }
  waits(run);
  /* Somebody else's. */
  memcpy(kept->id, "q", 2);
  soma_run* other = make_journaled(runtime, journal, "q");
  fails(other, SOMA_DATA_LOSS, "journal.corrupt");
  CHECK(lists(journal, "\"run\":\"q\",\"state\":\"unreadable\""));
  GOOD(soma_journal_remove(journal, "q", SOMA_NUL, &error));
  BAD(soma_journal_remove(journal, "q", SOMA_NUL, &error), SOMA_NOT_FOUND, "journal.not_found");
  CHECK(performed == 2);
  soma_run_release(other);
  soma_run_release(run);
  soma_journal_release(journal);
  soma_runtime_release(runtime);
  CHECK(account.live == 0);
  keeper_end(&keeper);
}

/* Within a node it is the node's failure, and the reason its cause. */
static void fails_for(soma_run* run, int in_node, soma_code wanted, const char* reason,
                      const char* words) {
  soma_value* value = NULL;
  soma_error* error = NULL;
  CHECK(soma_run_execute(run, NULL, NULL, &value, &error) == (in_node ? SOMA_ABORTED : wanted));
  const char* found = in_node ? NULL : soma_error_reason(error, NULL);
  for (size_t i = 0; !found && i < soma_error_detail_count(error); ++i) {
    const int is_cause = strcmp(soma_error_detail_key(error, i, NULL), "cause") == 0;
    if (is_cause) found = soma_error_detail_value(error, i, NULL);
  }
  CHECK(found && strcmp(found, reason) == 0);
  CHECK(strstr(soma_error_message(error, NULL), words) != NULL);
  soma_error_release(error);
}

static void test_appends_that_fail(void) {
  static const struct {
    int mode;
    soma_code code, wanted;
    const char *reason, *words;
  } cases[] = {
      {REFUSES, SOMA_UNAVAILABLE, SOMA_UNAVAILABLE, "journal.store", "the disk is on fire"},
      {REFUSES, SOMA_RESOURCE_EXHAUSTED, SOMA_RESOURCE_EXHAUSTED, "journal.full", "on fire"},
      {REFUSES, SOMA_ALREADY_EXISTS, SOMA_FAILED_PRECONDITION, "journal.locked", "on fire"},
      {REFUSES, -7, SOMA_UNAVAILABLE, "journal.store", "on fire"},
      {FAILS_SILENTLY, 0, SOMA_UNAVAILABLE, "journal.store", "returned 0"},
      {KEEPS_AND_FAILS, SOMA_UNAVAILABLE, SOMA_UNAVAILABLE, "journal.store", "the line is dead"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    for (int at = 0; at < 4; ++at) {
      Account account = {0};
      Keeper keeper;
      keeper_begin(&keeper);
      soma_runtime* runtime = make_runtime(&account, 0);
      soma_journal* journal = make_journal(runtime, &keeper);
      soma_run* run = make_journaled(runtime, journal, "r");
      performed = retried = 0;
      keeper.mode = cases[i].mode, keeper.fails_at = at, keeper.code = cases[i].code;
      fails_for(run, at > 0, cases[i].wanted, cases[i].reason, cases[i].words);
      CHECK(keeper.appends == at + 1); /* nothing follows it */
      CHECK(performed == (at > 1));    /* no effect before its intent is kept */
      keeper.mode = KEEPS;
      waits(run);
      const int is_in_doubt = at == 2 && cases[i].mode != KEEPS_AND_FAILS;
      CHECK(performed == 1 + is_in_doubt);
      soma_run_release(run);
      soma_journal_release(journal);
      soma_runtime_release(runtime);
      CHECK(account.live == 0);
      keeper_end(&keeper);
    }
  }
}

static int32_t add_in_append(void* user, const char* run, size_t length, uint64_t number,
                             const void* entry, size_t size, soma_journal_reply* reply) {
  CHECK(soma_journal_reply_add(reply, entry, size) == 0);
  return keeper_append(user, run, length, number, entry, size, reply);
}

static int32_t fail_in_load(void* user, const char* run, size_t length,
                            soma_journal_reply* reply) {
  static const char bad[] = "\xff";
  CHECK(soma_journal_reply_add(reply, NULL, 5) == 0);
  BAD(soma_journal_reply_fail(reply, SOMA_UNKNOWN, bad, SOMA_NUL, &error), SOMA_INVALID_ARGUMENT,
      "argument.utf8");
  return keeper_load(user, run, length, reply);
}

static void test_tables(void) {
  struct {
    soma_journal_store store;
    uint64_t tail[2];
  } table = {keeper_store, {0, 0}};
  Account account = {0};
  Keeper keeper;
  keeper_begin(&keeper);
  soma_runtime* runtime = make_runtime(&account, 0);
  soma_journal* journal = NULL;
  int destroyed = 0, gone = 0;
  const uint32_t sizes[] = {0, 4, sizeof(soma_journal_store) - 1, 4096, UINT32_MAX};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    table.store.struct_size = sizes[i];
    BAD(soma_journal_create_hosted(runtime, &table.store, &keeper, keeper_destroy, &journal,
                                   &error), SOMA_INVALID_ARGUMENT, "argument.struct_size");
    CHECK(journal == NULL && keeper.destroyed == ++destroyed);
  }
  table.store.struct_size = sizeof table;
  BAD(soma_journal_create_hosted(runtime, NULL, &gone, count_destroy, &journal, &error),
      SOMA_INVALID_ARGUMENT, "argument.null");
  CHECK(gone == 1);
  table.tail[1] = 1;
  BAD(soma_journal_create_hosted(runtime, &table.store, NULL, NULL, &journal, &error),
      SOMA_INVALID_ARGUMENT, "argument.struct_size");
  table.tail[1] = 0;
  table.store.load = NULL;
  BAD(soma_journal_create_hosted(runtime, &table.store, NULL, NULL, &journal, &error),
      SOMA_INVALID_ARGUMENT, "argument.null");
  table.store.load = fail_in_load;
  table.store.append = NULL;
  BAD(soma_journal_create_hosted(runtime, &table.store, NULL, NULL, &journal, &error),
      SOMA_INVALID_ARGUMENT, "argument.null");
  table.store.append = add_in_append;
  table.store.reserved = 1;
  BAD(soma_journal_create_hosted(runtime, &table.store, NULL, NULL, &journal, &error),
      SOMA_INVALID_ARGUMENT, "argument.struct_size");
  table.store.reserved = 0;
  table.store.list = NULL;
  table.store.remove = NULL;
  /* Longer than this library's, and nothing in what is more. */
  GOOD(soma_journal_create_hosted(runtime, &table.store, &keeper, keeper_destroy, &journal,
                                  &error));
  memset(&table, 0xff, sizeof table); /* it was copied */
  soma_run* run = make_journaled(runtime, journal, "r");
  fails(run, SOMA_UNAVAILABLE, "journal.store");
  CHECK(says(run, "the argument bytes is NULL"));
  soma_blob* runs = NULL;
  BAD(soma_journal_list(journal, &runs, &error), SOMA_UNAVAILABLE, "journal.store");
  soma_run_release(run);
  soma_journal_release(journal);
  soma_runtime_release(runtime);
  CHECK(account.live == 0 && keeper.destroyed == destroyed + 1);
  keeper_end(&keeper);
}

typedef struct {
  soma_runtime* runtime;
  soma_journal* journal;
  char id[8];
} Crew;

static void* run_one(void* argument) {
  Crew* crew = argument;
  soma_run* run = make_journaled(crew->runtime, crew->journal, crew->id);
  waits(run);
  GOOD(soma_run_answer(run, NULL, 0, NULL, &error));
  ends(run);
  soma_run_release(run);
  return NULL;
}

static void test_many_runs_at_once(void) {
  enum { THREADS = 8 };
  Account account = {0};
  Keeper keeper;
  keeper_begin(&keeper);
  Crew crew[THREADS];
  pthread_t threads[THREADS];
  soma_runtime* runtime = make_runtime(&account, 0);
  soma_journal* journal = make_journal(runtime, &keeper);
  performed = 0;
  for (int i = 0; i < THREADS; ++i) {
    crew[i] = (Crew){runtime, journal, ""};
    snprintf(crew[i].id, sizeof crew[i].id, "run-%d", i);
    pthread_create(&threads[i], NULL, run_one, &crew[i]);
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  CHECK(performed == 2 * THREADS && lists(journal, "\"run\":\"run-7\",\"state\":\"ended\""));
  soma_journal_release(journal);
  soma_runtime_release(runtime);
  CHECK(account.live == 0);
  keeper_end(&keeper);
}

int main(void) {
  report = stdout;
  test_a_run_goes_on_in_any_order_of_releases();
  test_another_process_takes_over();
  test_a_lock();
  test_what_the_host_loses_or_spoils();
  test_appends_that_fail();
  test_tables();
  test_many_runs_at_once();
  return summary();
}
