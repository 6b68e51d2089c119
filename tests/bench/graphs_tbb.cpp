// The bench of graph runs, for oneTBB's flow graph.
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>

#include <deque>

#include "bench/graph_bench.hpp"

namespace {

namespace flow = oneapi::tbb::flow;

class Runner {
 public:
  static constexpr const char* name = "tbb";
  Runner(int threads, bool)
      : limit_(Control::max_allowed_parallelism, static_cast<size_t>(threads)) {}

  void build(const bench::Shape& shape, bench::Laps&) {
    for (bench::u32 node = 0; node < shape.nodes; ++node) {
      nodes_.emplace_back(graph_, [node](const flow::continue_msg&) { bench::body(node); });
    }
    for (const bench::Edge& edge : shape.edges) flow::make_edge(nodes_[edge.from], nodes_[edge.to]);
    for (bench::u32 node = 0; node < shape.nodes; ++node) {
      if (shape.begin[node] == shape.begin[node + 1]) first_.push_back(&nodes_[node]);
    }
  }
  void run() {
    for (Node* node : first_) node->try_put(flow::continue_msg());
    graph_.wait_for_all();
  }

 private:
  using Control = oneapi::tbb::global_control;
  using Node = flow::continue_node<flow::continue_msg>;
  Control limit_;
  flow::graph graph_;
  std::deque<Node> nodes_;
  std::vector<Node*> first_;
};

}  // namespace

int main(int argc, char** argv) { return bench::main_of<Runner>(argc, argv); }
