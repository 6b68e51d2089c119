// The bench of graph runs, for OpenMP's tasks, of which each run makes all anew.
#include "bench/graph_bench.hpp"

namespace {

using bench::u32;

class Runner {
 public:
  static constexpr const char* name = "openmp";
  Runner(int threads, bool) : threads_(threads) {}

  void build(const bench::Shape& shape, bench::Laps&) {
    shape_ = &shape;
    marks_.resize(shape.nodes);
  }
  void run() {
#pragma omp parallel num_threads(threads_)
#pragma omp single
    for (u32 node = 0; node < shape_->nodes; ++node) submit(node);
  }

 private:
  void submit(u32 node) {
    [[maybe_unused]] char* const mark = marks_.data();  // g++ does not see it in depend
    const bench::Edge* const before = shape_->edges.data() + shape_->begin[node];
    const u32 count = shape_->begin[node + 1] - shape_->begin[node];
    if (count == 0) {
#pragma omp task firstprivate(node) depend(out : mark[node])
      bench::body(node);
    } else if (count == 1) {
#pragma omp task firstprivate(node) depend(in : mark[before[0].from]) depend(out : mark[node])
      bench::body(node);
    } else {
#pragma omp task firstprivate(node) depend(out : mark[node]) \
    depend(iterator(u32 at = 0 : count), in : mark[before[at].from])
      bench::body(node);
    }
  }

  const int threads_;
  const bench::Shape* shape_ = nullptr;
  std::vector<char> marks_;          // their addresses stand for nodes
};

}  // namespace

int main(int argc, char** argv) { return bench::main_of<Runner>(argc, argv); }
