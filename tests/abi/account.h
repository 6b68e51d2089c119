/* What is out of a host's allocator, and how often things were destroyed. */
#ifndef SOMA_TESTS_ACCOUNT_H
#define SOMA_TESTS_ACCOUNT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* A host's allocator that knows what is out. */
typedef struct {
  atomic_long live, total, destroyed;
} Account;

static void* account_alloc(void* user, size_t size, size_t alignment) {
  Account* account = user;
  void* memory = NULL;
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  if (posix_memalign(&memory, alignment, size) != 0) return NULL;
  account->live += (long)size;
  account->total += 1;
  return memory;
}

static void account_free(void* user, void* memory, size_t size, size_t alignment) {
  Account* account = user;
  (void)alignment;
  account->live -= (long)size;
  free(memory);
}

static void account_destroy(void* user) { ((Account*)user)->destroyed += 1; }

static inline void count_destroy(void* user) { ++*(int*)user; }

#endif
