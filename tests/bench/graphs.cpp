// The bench of graph runs, for libsoma through its C interface; with commands of its own:
//   hot      what runs allocate once they are warm; getppid marks their begin and end for strace
//   cancel   how long after a request a run returns
//   events   what a probe costs that keeps what it is told, what an observer, and one that has gone
#include <soma/soma.h>

#include <charconv>

#include "bench/graph_bench.hpp"

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {

using bench::i64, bench::u32, bench::u64, bench::work;

std::atomic<u64> allocations{0};

u64 count_one() { return allocations.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

// All that the process and the library allocate comes by here.
extern "C" {
void* malloc(size_t size) { return count_one(), __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return count_one(), __libc_calloc(count, size); }
void* realloc(void* memory, size_t size) { return count_one(), __libc_realloc(memory, size); }
void* memalign(size_t alignment, size_t size) {
  return count_one(), __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** out, size_t alignment, size_t size) {
  *out = memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}
}

namespace {

class Runner {
 public:
  static constexpr const char* name = "soma";
  Runner(int threads, bool dataflow) {
    soma_options* options = nullptr;
    check(soma_options_create("runtime", SOMA_NUL, &options, &error_));
    check(soma_options_set_int(options, "threads", SOMA_NUL, threads, &error_));
    check(soma_runtime_create(SOMA_HEADER_ABI, options, &runtime_, &error_));
    soma_options_release(options);
    check(soma_options_create("compile", SOMA_NUL, &compile_, &error_));
    check(soma_options_set_int(compile_, "parallelize_dag", SOMA_NUL, dataflow, &error_));
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  ~Runner() {
    soma_run_release(run_);
    soma_ops_release(ops_);
    soma_options_release(compile_);
    soma_runtime_release(runtime_);
  }

  // All nodes have one op, whose bodies can't tell them apart; if order is checked, each its own.
  void build(const bench::Shape& shape, bench::Laps& laps, soma_node_fn function = call_body) {
    soma_graph* graph = nullptr;
    check(soma_graph_create(runtime_, &graph, &error_));
    for (u32 node = 0; node < shape.nodes; ++node) {
      char id[16];
      const char* const end = std::to_chars(id, id + sizeof id, node).ptr;
      const auto length = static_cast<size_t>(end - id);
      const char* const op = work.checked ? id : "body";
      const size_t op_length = work.checked ? length : 4;
      u32 number = 0;
      check(soma_graph_add_function(graph, id, length, op, op_length, &number, &error_));
    }
    for (const bench::Edge& edge : shape.edges) {
      check(soma_graph_add_edge(graph, edge.from, edge.to, SOMA_EDGE_DATA, nullptr, 0, &error_));
    }
    laps.mark("graph");
    soma_plan* plan = nullptr;
    check(soma_plan_compile(graph, compile_, &plan, &error_));
    laps.mark("compile");
    soma_graph_release(graph);
    laps.mark("release");
    add_ops(shape, function);
    check(soma_run_create(plan, ops_, nullptr, &run_, &error_));
    soma_plan_release(plan);
    laps.mark("create");
  }

  void run() {
    soma_value* value = nullptr;
    check(soma_run_execute(run_, nullptr, nullptr, &value, &error_));
    soma_value_release(value);
  }
  // Whether it was stopped.
  bool run_until(soma_cancel* cancel) {
    soma_value* value = nullptr;
    const soma_code code = soma_run_execute(run_, nullptr, cancel, &value, nullptr);
    soma_value_release(value);
    return code == SOMA_CANCELLED;
  }
  void observe(soma_event_fn observer) {
    check(soma_run_set_observer(run_, observer, nullptr, nullptr, &error_));
  }
  void probe(soma_probe_fn function, void* user) {
    check(soma_run_set_probe(run_, function, user, nullptr, &error_));
  }
  soma_cancel* make_cancel() {
    soma_cancel* cancel = nullptr;
    check(soma_cancel_create(runtime_, &cancel, &error_));
    return cancel;
  }

 private:
  static int32_t call_body(void* user, soma_call*) {
    bench::body(*static_cast<const u32*>(user));
    return SOMA_CONTINUE;
  }

  void add_ops(const bench::Shape& shape, soma_node_fn function) {
    check(soma_ops_create(runtime_, &ops_, &error_));
    numbers_.resize(work.checked ? shape.nodes : 1);
    for (u32 node = 0; node < numbers_.size(); ++node) {
      numbers_[node] = node;
      const std::string op = work.checked ? std::to_string(node) : "body";
      check(soma_ops_add(ops_, op.data(), op.size(), 0, SOMA_THREAD_ANY, 0, function,
                         &numbers_[node], nullptr, &error_));
    }
  }
  void check(soma_code code) const {
    if (code == SOMA_OK) return;
    throw std::runtime_error(soma_error_message(error_, nullptr));
  }

  soma_error* error_ = nullptr;
  soma_runtime* runtime_ = nullptr;
  soma_options* compile_ = nullptr;
  soma_ops* ops_ = nullptr;
  soma_run* run_ = nullptr;
  std::vector<u32> numbers_;
};

void warm(Runner& runner) {
  for (int run = 0; run < 300; ++run) runner.run();
}

int hot_command(const bench::Options& options, const bench::Shape& shape) {
  constexpr int runs = 200;          // fewer than lie between two that learn
  Runner runner(options.threads, options.dataflow);
  bench::Laps laps;
  work.steps = options.steps;
  runner.build(shape, laps);
  warm(runner);
  const u64 before = allocations;
  getppid();
  for (int run = 0; run < runs; ++run) runner.run();
  getppid();
  const u64 made = allocations - before;
  bench::print_head("hot", Runner::name, options, shape);
  std::printf(",\"runs\":%d,\"allocations\":%llu}\n", runs, static_cast<unsigned long long>(made));
  return 0;
}

// ---- Cancelling: by the body that is the n-th to run, so that nobody has to be woken for it

struct Stopper {
  std::atomic<i64> bodies_left{0};
  std::atomic<i64> asked_ns{0};
  soma_cancel* cancel = nullptr;
};
Stopper stopper;

int32_t stopping_body(void*, soma_call*) {
  bench::body(0);
  if (stopper.bodies_left.fetch_sub(1, std::memory_order_relaxed) == 1) {
    stopper.asked_ns = bench::now_ns();
    soma_cancel_request(stopper.cancel);
  }
  return SOMA_CONTINUE;
}

int cancel_command(const bench::Options& options, const bench::Shape& shape) {
  constexpr int runs = 60;
  Runner runner(options.threads, options.dataflow);
  bench::Laps laps;
  work.steps = options.steps;
  runner.build(shape, laps, stopping_body);
  stopper.cancel = runner.make_cancel();
  for (int run = 0; run < 3; ++run) runner.run();
  const bench::Usage before = bench::Usage::now();
  bench::Random random;
  std::vector<double> took_ns;
  for (int run = 0; run < runs; ++run) {
    stopper.bodies_left = 1 + random.below(shape.nodes - 1);
    if (!runner.run_until(stopper.cancel)) throw std::runtime_error("a run was not stopped");
    took_ns.push_back(static_cast<double>(bench::now_ns() - stopper.asked_ns));
    if (soma_cancel_reset(stopper.cancel, nullptr) != SOMA_OK) throw std::runtime_error("no reset");
  }
  std::sort(took_ns.begin(), took_ns.end());
  bench::print_head("cancel", Runner::name, options, shape);
  std::printf(",\"median_ns\":%.0f,\"p90_ns\":%.0f,\"foreign\":%.4f}\n", bench::median(took_ns),
              took_ns[runs * 9 / 10], bench::Usage::now().foreign(before));
  soma_cancel_release(stopper.cancel);
  return 0;
}

// ---- Probes and observers

void ignore(void*, const char*, size_t) {}

// As a profiler keeps events: the latest of them.
struct Recorder {
  struct Record {
    i64 at_ns;
    u32 node;
    std::int32_t kind;
  };
  std::vector<Record> records = std::vector<Record>(1 << 12);
  std::size_t next = 0;

  static void note(void* user, const soma_event* event) {
    auto& self = *static_cast<Recorder*>(user);
    self.records[self.next++ % self.records.size()] = {event->at_ns, event->node, event->kind};
  }
};

// In turn: a run that nobody ever watched, with a probe, as text, and with neither any more.
int events_command(const bench::Options& options, const bench::Shape& shape) {
  constexpr int rounds = 7;
  Runner never(options.threads, options.dataflow), watched(options.threads, options.dataflow);
  bench::Laps laps;
  work.steps = options.steps;
  never.build(shape, laps);
  watched.build(shape, laps);
  warm(never);
  warm(watched);
  const bench::Usage before = bench::Usage::now();
  const i64 each_ns = options.budget_ns / (4 * rounds);
  const auto timed = [&](Runner& runner) {
    return bench::block(runner, 0, each_ns, options.runs_min).run_ns;
  };
  Recorder recorder;
  std::vector<double> off, probed_ns, told_ns;
  for (int round = 0; round < rounds; ++round) {
    const double never_ns = timed(never);
    watched.probe(Recorder::note, &recorder);
    probed_ns.push_back((timed(watched) - never_ns) / shape.nodes);
    watched.probe(nullptr, nullptr);
    watched.observe(ignore);
    told_ns.push_back((timed(watched) - never_ns) / shape.nodes);
    watched.observe(nullptr);
    off.push_back(timed(watched) / never_ns);
  }
  if (recorder.next < 2 * shape.nodes) throw std::runtime_error("the probe was not called");
  bench::print_head("events", Runner::name, options, shape);
  std::printf(",\"off_ratio\":%.4f,\"probed_ns\":%.1f,\"told_ns\":%.1f,\"foreign\":%.4f}\n",
              bench::median(off), bench::median(probed_ns), bench::median(told_ns),
              bench::Usage::now().foreign(before));
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string command = argc > 1 ? argv[1] : "";
  const auto function = command == "hot"      ? hot_command
                        : command == "cancel" ? cancel_command
                        : command == "events" ? events_command
                                              : nullptr;
  bench::Options options;
  if (!function || !bench::parse(argc, argv, options)) return bench::main_of<Runner>(argc, argv);
  return function(options, bench::shape_of(options.shape));
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}
