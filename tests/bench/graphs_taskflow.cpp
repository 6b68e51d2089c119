// The bench of graph runs, for Taskflow.
#include <taskflow/taskflow.hpp>

#include "bench/graph_bench.hpp"

namespace {

class Runner {
 public:
  static constexpr const char* name = "taskflow";
  Runner(int threads, bool) : executor_(static_cast<size_t>(threads)) {}

  void build(const bench::Shape& shape, bench::Laps&) {
    tasks_.reserve(shape.nodes);
    for (bench::u32 node = 0; node < shape.nodes; ++node) {
      tasks_.push_back(graph_.emplace([node] { bench::body(node); }));
    }
    for (const bench::Edge& edge : shape.edges) tasks_[edge.from].precede(tasks_[edge.to]);
    tasks_ = {};
  }
  void run() { executor_.run(graph_).wait(); }

 private:
  tf::Executor executor_;
  tf::Taskflow graph_;
  std::vector<tf::Task> tasks_;
};

}  // namespace

int main(int argc, char** argv) { return bench::main_of<Runner>(argc, argv); }
