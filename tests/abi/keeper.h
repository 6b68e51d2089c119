/* A host that keeps journals in memory of its own, and can fail, lose and spoil what it has. */
#ifndef SOMA_TESTS_KEEPER_H
#define SOMA_TESTS_KEEPER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "soma/soma.h"

enum { KEEPER_RUNS = 16, KEEPER_ENTRIES = 64 };

typedef struct {
  char id[32];
  int count, is_locked;
  void* entries[KEEPER_ENTRIES];
  size_t sizes[KEEPER_ENTRIES];
} KeptRun;

/* What becomes of the next append. */
enum { KEEPS, REFUSES, FAILS_SILENTLY, KEEPS_AND_FAILS };

typedef struct {
  pthread_mutex_t mutex;   /* guards: */
  KeptRun runs[KEEPER_RUNS];
  int mode;
  int fails_at;            /* the number of the entry with which the mode begins */
  soma_code code;          /* that it fails with */
  int held, refused;       /* runs that are locked; how often it was refused */
  atomic_int loads, appends, destroyed;
} Keeper;

static void keeper_destroy(void* user) { ((Keeper*)user)->destroyed += 1; }

/* Of that id; new, if there is none and it is to be made. */
static KeptRun* keeper_run(Keeper* keeper, const char* run, size_t length, int make) {
  KeptRun* empty = NULL;
  for (int i = 0; i < KEEPER_RUNS; ++i) {
    KeptRun* one = &keeper->runs[i];
    if (strlen(one->id) == length && memcmp(one->id, run, length) == 0) return one;
    if (!empty && one->id[0] == '\0') empty = one;
  }
  if (!make || !empty || length >= sizeof empty->id) return NULL;
  memcpy(empty->id, run, length);
  return empty;
}

static int32_t keeper_load(void* user, const char* run, size_t length, soma_journal_reply* reply) {
  Keeper* keeper = user;
  keeper->loads += 1;
  pthread_mutex_lock(&keeper->mutex);
  const KeptRun* kept = keeper_run(keeper, run, length, 0);
  for (int i = 0; kept && i < kept->count; ++i) {
    if (!soma_journal_reply_add(reply, kept->entries[i], kept->sizes[i])) break;
  }
  pthread_mutex_unlock(&keeper->mutex);
  return SOMA_CONTINUE;
}

static int32_t keeper_refuse(soma_journal_reply* reply, soma_code code, const char* why) {
  return soma_journal_reply_fail(reply, code, why, SOMA_NUL, NULL) == SOMA_OK ? SOMA_CONTINUE
                                                                             : SOMA_STOP;
}

static int32_t keeper_append_locked(Keeper* keeper, KeptRun* kept, uint64_t number,
                                    const void* entry, size_t size, soma_journal_reply* reply) {
  const int mode = (int)number >= keeper->fails_at ? keeper->mode : KEEPS;
  if (!kept || number >= KEEPER_ENTRIES) {
    return keeper_refuse(reply, SOMA_RESOURCE_EXHAUSTED, "full");
  }
  if ((int)number != kept->count) return keeper_refuse(reply, SOMA_ALREADY_EXISTS, "not the next");
  if (mode == REFUSES) return keeper_refuse(reply, keeper->code, "the disk is on fire");
  if (mode == FAILS_SILENTLY) return 0;
  kept->entries[kept->count] = memcpy(malloc(size), entry, size);
  kept->sizes[kept->count++] = size;
  if (mode == KEEPS_AND_FAILS) return keeper_refuse(reply, keeper->code, "the line is dead");
  return SOMA_CONTINUE;
}

static int32_t keeper_append(void* user, const char* run, size_t length, uint64_t number,
                             const void* entry, size_t size, soma_journal_reply* reply) {
  Keeper* keeper = user;
  keeper->appends += 1;
  pthread_mutex_lock(&keeper->mutex);
  const int32_t answer = keeper_append_locked(keeper, keeper_run(keeper, run, length, 1), number,
                                              entry, size, reply);
  pthread_mutex_unlock(&keeper->mutex);
  return answer;
}

static int32_t keeper_list(void* user, soma_journal_reply* reply) {
  Keeper* keeper = user;
  for (int i = 0; i < KEEPER_RUNS; ++i) {
    const char* id = keeper->runs[i].id;
    if (id[0] && !soma_journal_reply_add(reply, id, strlen(id))) break;
  }
  return SOMA_CONTINUE;
}

static void keeper_drop(KeptRun* kept, int from) {
  while (kept->count > from) free(kept->entries[--kept->count]);
}

static int32_t keeper_remove(void* user, const char* run, size_t length,
                             soma_journal_reply* reply) {
  KeptRun* kept = keeper_run(user, run, length, 0);
  if (!kept) return keeper_refuse(reply, SOMA_NOT_FOUND, "there is none");
  keeper_drop(kept, 0);
  kept->id[0] = '\0';
  return SOMA_CONTINUE;
}

/* For programs whose journals share a host. */
static inline int32_t keeper_lock(void* user, const char* run, size_t length,
                                  soma_journal_reply* reply) {
  Keeper* keeper = user;
  pthread_mutex_lock(&keeper->mutex);
  KeptRun* kept = keeper_run(keeper, run, length, 1);
  const int is_free = kept && !kept->is_locked;
  if (is_free) kept->is_locked = 1, ++keeper->held;
  else ++keeper->refused;
  pthread_mutex_unlock(&keeper->mutex);
  return is_free ? SOMA_CONTINUE : keeper_refuse(reply, SOMA_ALREADY_EXISTS, "it is taken");
}

static inline void keeper_unlock(void* user, const char* run, size_t length) {
  Keeper* keeper = user;
  pthread_mutex_lock(&keeper->mutex);
  KeptRun* kept = keeper_run(keeper, run, length, 0);
  if (kept && kept->is_locked) kept->is_locked = 0, --keeper->held;
  pthread_mutex_unlock(&keeper->mutex);
}

static void keeper_begin(Keeper* keeper) {
  memset(keeper, 0, sizeof *keeper);
  pthread_mutex_init(&keeper->mutex, NULL);
}

static void keeper_end(Keeper* keeper) {
  for (int i = 0; i < KEEPER_RUNS; ++i) keeper_drop(&keeper->runs[i], 0);
  pthread_mutex_destroy(&keeper->mutex);
}

static const soma_journal_store keeper_store = {
    sizeof(soma_journal_store), 0, keeper_load, keeper_append, keeper_list, keeper_remove,
    NULL, NULL};

#endif
