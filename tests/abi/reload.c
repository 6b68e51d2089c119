/* Proves that the library can be loaded and closed again and again, each time in a fresh thread,
 * with work done in between.
 *
 * usage: reload LIBRARY
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

#include "check.h"

static const char* library;

static void* use(void* user) {
  soma_code (*create)(uint32_t, const soma_options*, soma_runtime**, soma_error**);
  void (*release)(const soma_runtime*);
  soma_runtime* runtime = NULL;
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  (void)user;
  CHECK(handle != NULL);
  if (handle == NULL) return NULL;
  *(void**)&create = dlsym(handle, "soma_runtime_create");
  *(void**)&release = dlsym(handle, "soma_runtime_release");
  CHECK(create(SOMA_HEADER_ABI, NULL, &runtime, NULL) == SOMA_OK);
  release(runtime);
  CHECK(dlclose(handle) == 0);
  return NULL;
}

int main(int count, char** arguments) {
  report = stdout;
  if (count < 2) return 2;
  library = arguments[1];
  for (int i = 0; i < 100; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, use, NULL);
    pthread_join(thread, NULL);
  }
  return summary();
}
