/* A runtime whose memory a test counts. */
#ifndef SOMA_TESTS_RUNTIME_H
#define SOMA_TESTS_RUNTIME_H

#include "soma/soma.h"

#include "account.h"
#include "check.h"

/* Without an account, of the library's own memory; of as many threads as there are processors, if
 * `threads` is 0. */
static inline soma_runtime* make_runtime(Account* account, int64_t threads) {
  soma_runtime* runtime = NULL;
  soma_options* settings = NULL;
  GOOD(soma_options_create("runtime", SOMA_NUL, &settings, &error));
  if (threads != 0) GOOD(soma_options_set_int(settings, "threads", SOMA_NUL, threads, &error));
  if (account) {
    GOOD(soma_options_set_allocator(settings, account_alloc, account_free, account,
                                    account_destroy, &error));
  }
  GOOD(soma_runtime_create(SOMA_HEADER_ABI, settings, &runtime, &error));
  soma_options_release(settings);
  return runtime;
}

#endif
