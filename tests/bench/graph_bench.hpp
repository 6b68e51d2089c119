// Measures one way to run graphs: builds a shape, runs it in turn with a serial loop, prints JSON.
//
// A runner is a class:
//   static constexpr const char* name;
//   Runner(int threads, bool dataflow);
//   void build(const Shape& shape, Laps& laps);   every node calls body(its number)
//   void run();                                   once through all of it
//
// The serial loop S is what every ratio is taken against: the same bodies, called one after the
// other through a pointer to a function and one to its data. Cores change their speed by the
// minute, so S and the runner are measured in turn, a block each, and each pair of blocks gives one
// ratio. Before a block of runs that follow each other at once, some are not timed, so that threads
// are awake that such runs keep awake. Nothing is timed for less than twenty microseconds at once.
#pragma once

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>

#include "bench/graph_shapes.hpp"

namespace bench {

inline i64 now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return i64{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline void sleep_us(i64 gap_us) {
  const timespec gap = {gap_us / 1'000'000, gap_us % 1'000'000 * 1000};
  nanosleep(&gap, nullptr);
}

inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// ---- Bodies

// One for the process, as a body has to find it at no cost.
struct Work {
  u32 steps = 0;                     // 0: the body is empty
  const Shape* checked = nullptr;    // instead, bodies check that all before them ran in this run
  std::vector<std::atomic<u32>> ran_in;
  std::atomic<u32> run{0}, calls{0}, wrong{0};
};
inline Work work;

inline void spin(u32 steps) {
  u64 x = steps;
  for (u32 step = 0; step < steps; ++step) {
    x = x * 6364136223846793005 + 1442695040888963407;
    asm volatile("" : "+r"(x));
  }
}

[[gnu::noinline, gnu::cold]] inline void check_order(u32 node) {
  const u32 run = work.run.load();
  for (u32 at = work.checked->begin[node]; at < work.checked->begin[node + 1]; ++at) {
    if (work.ran_in[work.checked->edges[at].from].load() != run) work.wrong.fetch_add(1);
  }
  if (work.ran_in[node].exchange(run) == run) work.wrong.fetch_add(1);
  work.calls.fetch_add(1);
}

inline void body(u32 node) {
  if (work.checked) [[unlikely]] return check_order(node);
  if (work.steps != 0) spin(work.steps);
  asm volatile("" ::: "memory");
}

class SerialLoop {
 public:
  explicit SerialLoop(const Shape& shape) {
    for (u32 node = 0; node < shape.nodes; ++node) numbers_.push_back(node);
    for (u32& number : numbers_) {
      calls_.push_back({[](void* user) { body(*static_cast<u32*>(user)); }, &number});
    }
  }
  void run() {
    for (const Call& call : calls_) call.function(call.user);
  }

 private:
  struct Call {
    void (*function)(void* user);
    void* user;
  };
  std::vector<u32> numbers_;
  std::vector<Call> calls_;
};

// ---- What the machine does meanwhile

struct Usage {
  double own_s = 0, all_s = 0;       // processor seconds: of this process, of all
  i64 at_ns = 0;
  static Usage now() {
    Usage out;
    rusage own;
    getrusage(RUSAGE_SELF, &own);
    out.own_s = static_cast<double>(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
                1e-6 * static_cast<double>(own.ru_utime.tv_usec + own.ru_stime.tv_usec);
    unsigned long long user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0;
    if (std::FILE* file = std::fopen("/proc/stat", "r")) {
      if (std::fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
                      &wait, &irq, &soft) == 7) {
        const auto ticks = static_cast<double>(user + nice + system + irq + soft);
        out.all_s = ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
      }
      std::fclose(file);
    }
    out.at_ns = now_ns();
    return out;
  }
  double wall_s(const Usage& since) const {
    return 1e-9 * static_cast<double>(at_ns - since.at_ns);
  }
  double cores(const Usage& since) const { return (own_s - since.own_s) / wall_s(since); }
  // The share of all processors that others had.
  double foreign(const Usage& since) const {
    const double others = (all_s - since.all_s) - (own_s - since.own_s);
    const auto processors = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
    return std::max(others, 0.0) / wall_s(since) / processors;
  }
};

// How long the parts of a build took, and what was allocated after each.
class Laps {
 public:
  Laps() : begun_ns_(now_ns()), begun_bytes_(heap_bytes()) {}
  void mark(const char* name) {
    const i64 took_ns = now_ns() - begun_ns_;
    laps_.push_back({name, took_ns, heap_bytes() - begun_bytes_});
    begun_ns_ = now_ns();
  }
  void print() const {
    for (const Lap& lap : laps_) {
      std::printf(",\"%s_ns\":%lld,\"%s_bytes\":%lld", lap.name,
                  static_cast<long long>(lap.took_ns), lap.name,
                  static_cast<long long>(lap.bytes));
    }
  }

 private:
  struct Lap {
    const char* name;
    i64 took_ns, bytes;
  };
  static i64 heap_bytes() {
    const struct mallinfo2 info = mallinfo2();
    return static_cast<i64>(info.uordblks + info.hblkhd);
  }
  i64 begun_ns_, begun_bytes_;
  std::vector<Lap> laps_;
};

// ---- Measuring

struct Options {
  std::string shape = "chain:1000";
  u32 steps = 0;
  int threads = 2;
  bool dataflow = false;             // for runners that can choose
  bool shuffled = false;             // for who compiles: nodes and edges numbered at random
  std::vector<i64> gaps_us = {0};
  i64 budget_ns = 200'000'000;       // for each gap
  i64 runs_min = 3;                  // in a block
  int pairs = 6;                     // of blocks
};

inline bool parse(int argc, char** argv, Options& out) {
  for (int at = 2; at + 1 < argc; at += 2) {
    const std::string name = argv[at], value = argv[at + 1];
    if (name == "--shape") out.shape = value;
    else if (name == "--steps") out.steps = static_cast<u32>(std::stoul(value));
    else if (name == "--threads") out.threads = std::stoi(value);
    else if (name == "--dataflow") out.dataflow = value == "1";
    else if (name == "--shuffled") out.shuffled = value == "1";
    else if (name == "--ms") out.budget_ns = i64{std::stol(value)} * 1'000'000;
    else if (name == "--runs-min") out.runs_min = std::stol(value);
    else if (name == "--pairs") out.pairs = std::max(std::stoi(value), 1);
    else if (name == "--gaps-us") {
      out.gaps_us.clear();
      for (std::size_t begin = 0; begin < value.size(); ) {
        const std::size_t end = std::min(value.find(',', begin), value.size());
        out.gaps_us.push_back(std::stol(value.substr(begin, end - begin)));
        begin = end + 1;
      }
    } else return false;
  }
  return argc % 2 == 0;
}

struct Block {
  double run_ns = 0;                 // median
  double cores = 0;                  // that the process kept busy
};

template <typename Runner>
double once_ns(Runner& runner) {
  const i64 begun_ns = now_ns();
  runner.run();
  return static_cast<double>(now_ns() - begun_ns);
}

template <typename Runner>
Block block(Runner& runner, i64 gap_us, i64 budget_ns, i64 runs_min) {
  constexpr i64 warm_ns = 2'000'000, timed_at_once_ns = 20'000;
  double shortest_ns = once_ns(runner);
  for (const i64 begun_ns = now_ns(); gap_us == 0 && now_ns() - begun_ns < warm_ns;) {
    shortest_ns = std::min(shortest_ns, once_ns(runner));
  }
  const i64 batch = gap_us > 0 ? 1 : 1 + static_cast<i64>(timed_at_once_ns / (shortest_ns + 1));
  std::vector<double> times;
  const Usage before = Usage::now();
  while (static_cast<i64>(times.size()) < runs_min || now_ns() - before.at_ns < budget_ns) {
    if (gap_us > 0) sleep_us(gap_us);
    const i64 begun_ns = now_ns();
    for (i64 run = 0; run < batch; ++run) runner.run();
    times.push_back(static_cast<double>(now_ns() - begun_ns) / static_cast<double>(batch));
  }
  return {median(std::move(times)), Usage::now().cores(before)};
}

inline void print_head(const char* command, const char* runner, const Options& options,
                       const Shape& shape) {
  std::printf("{\"command\":\"%s\",\"runner\":\"%s\",\"shape\":\"%s\",\"nodes\":%u,\"edges\":%zu",
              command, runner, options.shape.c_str(), shape.nodes, shape.edges.size());
}

template <typename Runner>
void measure(Runner& runner, SerialLoop& serial, const Options& options, const Shape& shape,
             i64 gap_us) {
  std::vector<double> run_ns, serial_ns, ratios, harms, cores, serial_cores;
  const i64 each_ns = options.budget_ns / (2 * options.pairs);
  const Usage before = Usage::now();
  for (int pair = 0; pair < options.pairs; ++pair) {
    Block ours, loop;
    for (const bool is_loop : {pair % 2 == 0, pair % 2 != 0}) {
      (is_loop ? loop : ours) = is_loop ? block(serial, gap_us, each_ns, options.runs_min)
                                        : block(runner, gap_us, each_ns, options.runs_min);
    }
    run_ns.push_back(ours.run_ns);
    serial_ns.push_back(loop.run_ns);
    ratios.push_back(ours.run_ns / loop.run_ns);
    harms.push_back(ours.run_ns / (1.25 * loop.run_ns + 200));
    cores.push_back(ours.cores);
    serial_cores.push_back(loop.cores);
  }
  print_head("run", Runner::name, options, shape);
  std::printf(",\"gap_us\":%lld,\"run_ns\":%.1f,\"serial_ns\":%.1f,\"ratio\":%.4f,\"harm\":%.4f,"
              "\"cores\":%.4f,\"serial_cores\":%.4f,\"foreign\":%.4f}\n",
              static_cast<long long>(gap_us), median(run_ns), median(serial_ns), median(ratios),
              median(harms), median(cores), median(serial_cores), Usage::now().foreign(before));
}

// ---- Commands: run, build, check

template <typename Runner>
int run_command(const Options& options, const Shape& shape) {
  Runner runner(options.threads, options.dataflow);
  SerialLoop serial(shape);
  Laps laps;
  runner.build(shape, laps);
  work.steps = options.steps;
  // Time to learn for who learns from runs; long ones are few.
  const i64 begun_ns = now_ns();
  for (int run = 0; run < 70 && (run < 3 || now_ns() - begun_ns < 50'000'000); ++run) runner.run();
  for (const i64 gap_us : options.gaps_us) measure(runner, serial, options, shape, gap_us);
  return 0;
}

// From nothing to ready, in a process that has built nothing yet.
template <typename Runner>
int build_command(const Options& options, const Shape& shape) {
  Runner runner(options.threads, options.dataflow);
  const Usage before = Usage::now();
  Laps laps;
  const i64 begun_ns = now_ns();
  runner.build(shape, laps);
  const i64 built_ns = now_ns();
  laps.mark("built");
  const double first_ns = once_ns(runner);
  print_head("build", Runner::name, options, shape);
  std::printf(",\"build_ns\":%lld,\"first_run_ns\":%.0f,\"foreign\":%.4f",
              static_cast<long long>(built_ns - begun_ns), first_ns, Usage::now().foreign(before));
  laps.print();
  std::printf("}\n");
  return 0;
}

// Whether every node runs once in each run, and after all that are before it.
template <typename Runner>
int check_command(const Options& options, const Shape& shape) {
  constexpr u32 runs = 5;
  work.ran_in = std::vector<std::atomic<u32>>(shape.nodes);
  work.checked = &shape;
  Runner runner(options.threads, options.dataflow);
  Laps laps;
  runner.build(shape, laps);
  for (u32 run = 1; run <= runs; ++run) {
    work.run = run;
    runner.run();
  }
  const u64 missing = u64{runs} * shape.nodes - work.calls;
  print_head("check", Runner::name, options, shape);
  std::printf(",\"missing\":%llu,\"wrong\":%u}\n", static_cast<unsigned long long>(missing),
              work.wrong.load());
  return missing == 0 && work.wrong == 0 ? 0 : 1;
}

template <typename Runner>
int main_of(int argc, char** argv) try {
  Options options;
  const std::string command = argc > 1 ? argv[1] : "";
  const auto function = command == "run"     ? run_command<Runner>
                        : command == "build" ? build_command<Runner>
                        : command == "check" ? check_command<Runner>
                                             : nullptr;
  if (!function || !parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: %s run|build|check [--shape S] [--steps N] [--threads N] "
                 "[--dataflow 0|1] [--gaps-us N,…] [--ms N] [--pairs N] [--runs-min N]\n", argv[0]);
    return 2;
  }
  return function(options, shape_of(options.shape));
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}

}  // namespace bench
