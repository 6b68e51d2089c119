// What a chunk costs a stream of four nodes, whose bodies take no time, or some: beside the same
// pipeline in oneTBB, in order and with as many chunks under way, and beside a plain loop. Medians
// of rounds that alternate.
//
//   make bench-streams        build/release/bench/streams
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <soma/soma.hpp>
#include <string>
#include <vector>

namespace {

namespace tbb = oneapi::tbb;

constexpr int stages = 4, chunks = 2000, rounds = 7;
constexpr int under_way = stages * 3;    // as many as libsoma lets wait, and those at work

double now_us() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(since).count();
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

double body_us = 0;

void work() {
  if (body_us == 0) return;
  for (const double begun = now_us(); now_us() - begun < body_us;) {
  }
}

std::string chain() {
  std::string nodes, edges;
  for (int i = 0; i < stages; ++i) {
    const std::string id = std::to_string(i);
    nodes += (i > 0 ? "," : "") + ("{\"id\":\"" + id) +
             R"(","op":"work","stream_mode":"stateful"})";
    if (i == 0) continue;
    edges += (i > 1 ? "," : "") + ("{\"from\":\"" + std::to_string(i - 1)) + "\",\"to\":\"" + id +
             "\"}";
  }
  return R"({"soma":"graph","version":1,"nodes":[)" + nodes + R"(],"edges":[)" + edges + "]}";
}

class Ours {
 public:
  explicit Ours(int threads) : runtime_(soma::options("runtime").set("threads", threads)) {
    ops_.add("work", [](soma::call& call) {
      work();
      return call.input();
    });
    const soma::options compile = soma::options("compile").set("chunk", 1);
    run_.emplace(soma::plan(soma::graph::parse(runtime_, chain()), compile), ops_);
    std::vector<soma::value> rows;
    for (int i = 0; i < chunks; ++i) rows.push_back(soma::value::of(runtime_, std::int64_t{i}));
    input_ = soma::value::list(runtime_, rows);
  }
  void operator()() { (void)run_->execute(input_); }

 private:
  soma::runtime runtime_;
  soma::ops ops_;
  std::optional<soma::run> run_;
  soma::value input_;
};

class Theirs {
 public:
  explicit Theirs(int threads)
      : limit_(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(threads)) {}
  void operator()() {
    constexpr auto mode = tbb::filter_mode::serial_in_order;
    int next = 0;
    const auto first = [&next](tbb::flow_control& control) {
      if (next == chunks) {
        control.stop();
        return 0;
      }
      work();
      return next++;
    };
    const auto pass = [](int chunk) {
      work();
      return chunk;
    };
    tbb::parallel_pipeline(under_way, tbb::make_filter<void, int>(mode, first) &
                                          tbb::make_filter<int, int>(mode, pass) &
                                          tbb::make_filter<int, int>(mode, pass) &
                                          tbb::make_filter<int, void>(mode, pass));
  }

 private:
  tbb::global_control limit_;
};

template <typename Run>
double cost_us(Run& run) {
  const double begun = now_us();
  run();
  return (now_us() - begun) / chunks;
}

}  // namespace

int main() {
  std::printf("microseconds a chunk, through %d nodes\n", stages);
  std::printf("%-9s %-8s %9s %9s %9s %14s\n", "body", "threads", "libsoma", "oneTBB", "loop",
              "of oneTBB");
  for (const double body : {0.0, 1.0, 10.0, 50.0}) {
    for (const int threads : {1, 2}) {
      body_us = body;
      Ours ours(threads);
      std::vector<double> our_times, their_times, loop_times, ratios;
      for (int round = 0; round < rounds; ++round) {
        our_times.push_back(cost_us(ours));
        {
          Theirs theirs(threads);
          their_times.push_back(cost_us(theirs));
        }
        auto loop = [] {
          for (int i = 0; i < chunks * stages; ++i) work();
        };
        loop_times.push_back(cost_us(loop));
        ratios.push_back(our_times.back() / their_times.back());
      }
      std::printf("%6.0f us %8d %9.2f %9.2f %9.2f %14.2f\n", body, threads, median(our_times),
                  median(their_times), median(loop_times), median(ratios));
    }
  }
}
