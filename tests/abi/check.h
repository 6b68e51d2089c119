/* Counting checks, for the C programs of this folder. */
#ifndef SOMA_TESTS_CHECK_H
#define SOMA_TESTS_CHECK_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "soma/soma.h"

static atomic_int passed, failed; /* nodes count on several threads */
static FILE* report; /* not stdout: a test closes that */

#define CHECK(condition)                                                         \
  do {                                                                           \
    if (condition) {                                                             \
      ++passed;                                                                  \
    } else {                                                                     \
      ++failed;                                                                  \
      fprintf(report, "FAIL %s:%d: %s\n", __FILE__, __LINE__, #condition);       \
    }                                                                            \
  } while (0)

/* A call that must succeed; shows the error if it does not. */
#define GOOD(call)                                                               \
  do {                                                                           \
    soma_error* error = NULL;                                                    \
    const soma_code code = (call);                                               \
    if (code != SOMA_OK) {                                                       \
      fprintf(report, "%s\n", soma_error_message(error, NULL));                  \
    }                                                                            \
    CHECK(code == SOMA_OK);                                                      \
    CHECK(error == NULL);                                                        \
    soma_error_release(error);                                                   \
  } while (0)

/* A call that must fail with a code and a reason. */
#define BAD(call, wanted, id)                                                    \
  do {                                                                           \
    soma_error* error = NULL;                                                    \
    const soma_code code = (call);                                               \
    CHECK(code == (wanted));                                                     \
    CHECK(code != SOMA_OK && strcmp(soma_error_reason(error, NULL), id) == 0);   \
    if (strcmp(soma_error_reason(error, NULL), id) != 0) {                       \
      fprintf(report, "  %s: %s\n", soma_error_reason(error, NULL),              \
              soma_error_message(error, NULL));                                  \
    }                                                                            \
    soma_error_release(error);                                                   \
  } while (0)

static int summary(void) {
  fprintf(report, "%d passed, %d failed\n", passed, failed);
  return failed != 0;
}

#endif
