/* What the integer units can do at most: int8 multiply-adds on registers alone, no memory.
 *
 *     gcc -O2 -pthread int8_peak.c -o int8_peak && int8_peak avx2|avx512_vnni|amx_int8 THREADS
 *
 * Prints billions of operations a second, all threads together; a multiply-add counts as two. Each
 * loop keeps enough independent sums in flight to hide an instruction's latency. Exit code 2: wrong
 * usage, or the processor lacks the instructions.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 20000, THREADS_MAX = 256 };
static const double SECONDS = 0.3;

typedef struct {
  const char* name;
  const char* feature;
  double operations; /* of one call */
  void (*run)(void);
} Loop;

/* In assembly, since a compiler would take out of the loop what is the same in every round. */
#define EIGHT(step) step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7)

/* 8 sums; vpmaddubsw has 32 multiply-adds, and its pairs are added to 16-bit sums. */
#define AVX2(n) "vpmaddubsw %%ymm15, %%ymm14, %%ymm13\n vpaddw %%ymm13, %%ymm" #n ", %%ymm" #n "\n"
__attribute__((target("avx2"))) static void run_avx2(void) {
  for (int round = 0; round < ROUNDS; ++round) {
    __asm__ volatile(EIGHT(AVX2)::: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
                     "xmm7", "xmm13");
  }
}

/* 8 sums; vpdpbusd has 64 multiply-adds. */
#define VNNI(n) "vpdpbusd %%zmm15, %%zmm14, %%zmm" #n "\n"
__attribute__((target("avx512f,avx512vnni"))) static void run_vnni(void) {
  for (int round = 0; round < ROUNDS; ++round) {
    __asm__ volatile(EIGHT(VNNI)::: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
                     "xmm7");
  }
}

/* 4 sums; tdpbusd has 16 × 16 × 64 multiply-adds. */
static void run_amx(void) {
  unsigned char config[64] = {1};
  for (int tile = 0; tile < 6; ++tile) {
    config[16 + 2 * tile] = 64; /* bytes of a row */
    config[48 + tile] = 16;     /* rows */
  }
  __asm__ volatile("ldtilecfg %0" ::"m"(config));
  __asm__ volatile("tilezero %tmm0\n tilezero %tmm1\n tilezero %tmm2\n tilezero %tmm3\n"
                   "tilezero %tmm4\n tilezero %tmm5");
  for (int round = 0; round < ROUNDS; ++round) {
    __asm__ volatile("tdpbusd %tmm5, %tmm4, %tmm0\n tdpbusd %tmm5, %tmm4, %tmm1\n"
                     "tdpbusd %tmm5, %tmm4, %tmm2\n tdpbusd %tmm5, %tmm4, %tmm3");
  }
  __asm__ volatile("tilerelease");
}

static const Loop loops[] = {
    {"avx2", "avx2", 2.0 * 32 * 8 * ROUNDS, run_avx2},
    {"avx512_vnni", "avx512_vnni", 2.0 * 64 * 8 * ROUNDS, run_vnni},
    {"amx_int8", "amx_int8", 2.0 * 16 * 16 * 64 * 4 * ROUNDS, run_amx},
};

/* From /proc/cpuinfo, which leaves out what the system does not grant. */
static int has(const char* feature) {
  char line[16384], word[64];
  int found = 0;
  FILE* file = fopen("/proc/cpuinfo", "r");
  snprintf(word, sizeof word, " %s", feature);
  while (file && !found && fgets(line, sizeof line, file)) {
    const char* at = strncmp(line, "flags", 5) == 0 ? strstr(line, word) : NULL;
    found = at && strchr(" \n", at[strlen(word)]) != NULL;
  }
  if (file) fclose(file);
  return found;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void* work(void* user) {
  const Loop* loop = user;
  double* rate = malloc(sizeof *rate);
  long calls = 0;
  double begin;
  if (!rate) return NULL;
  loop->run();
  begin = now();
  do {
    loop->run();
    ++calls;
  } while (now() - begin < SECONDS);
  *rate = (double)calls * loop->operations / (now() - begin);
  return rate;
}

int main(int count, char** arguments) {
  enum { GRANT_TILES = 0x1023, TILE_DATA = 18 };
  const int threads = count == 3 ? atoi(arguments[2]) : 0;
  const Loop* loop = NULL;
  pthread_t thread[THREADS_MAX];
  double sum = 0;
  for (size_t i = 0; threads > 0 && i < sizeof loops / sizeof *loops; ++i) {
    if (strcmp(loops[i].name, arguments[1]) == 0 && has(loops[i].feature)) loop = &loops[i];
  }
  if (!loop || threads > THREADS_MAX) return 2;
  if (loop->run == run_amx && syscall(SYS_arch_prctl, GRANT_TILES, TILE_DATA) != 0) return 2;
  for (int i = 0; i < threads; ++i) {
    if (pthread_create(&thread[i], NULL, work, (void*)(size_t)loop) != 0) return 1;
  }
  for (int i = 0; i < threads; ++i) {
    void* rate = NULL;
    if (pthread_join(thread[i], &rate) != 0 || !rate) return 1;
    sum += *(double*)rate;
    free(rate);
  }
  printf("%.1f\n", sum / 1e9);
  return 0;
}
