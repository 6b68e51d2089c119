// The bench of graph runs, for libsoma without the wall: what the C interface adds is the rest.
#include "base/pool.hpp"
#include "base/text.hpp"
#include "bench/graph_bench.hpp"
#include "compiler/compile.hpp"
#include "run/node_call.hpp"
#include "run/run.hpp"

namespace {

class Runner {
 public:
  static constexpr const char* name = "core";
  Runner(int threads, bool dataflow) : pool_(given(soma::Pool::create(threads))) {
    options_.parallelize_dag = dataflow;
  }

  void build(const bench::Shape& shape, bench::Laps& laps) {
    soma::Graph graph;
    for (bench::u32 node = 0; node < shape.nodes; ++node) {
      soma::GraphNode& made = graph.nodes.emplace_back();
      made.id = std::to_string(node);
      made.op = bench::work.checked ? made.id.view() : "body";
    }
    for (const bench::Edge& edge : shape.edges) {
      soma::GraphEdge& made = graph.edges.emplace_back();
      made.from = edge.from;
      made.to = edge.to;
    }
    laps.mark("graph");
    soma::Compilation compilation = soma::compile(graph, options_);
    if (!compilation.plan) throw std::runtime_error(compilation.diagnostics.text());
    plan_ = *std::move(compilation.plan);
    laps.mark("compile");
    graph = {};
    laps.mark("release");
    numbers_.resize(bench::work.checked ? shape.nodes : 1);
    for (bench::u32 node = 0; node < numbers_.size(); ++node) {
      numbers_[node] = node;
      soma::NodeOp op;
      op.name = bench::work.checked ? std::to_string(node) : "body";
      op.user = &numbers_[node];
      op.forward = [](void* user, soma::NodeCall&) -> soma::Status {
        bench::body(*static_cast<const bench::u32*>(user));
        return {};
      };
      require(ops_.add(std::move(op)));
    }
    soma::RunOptions options;
    options.pool = pool_.get();
    run_ = given(soma::Run::create(plan_, ops_, options));
    laps.mark("create");
  }
  void run() {
    require(run_->start({}, nullptr));
    given(run_->finish());
  }

 private:
  static void require(const soma::Status& status) {
    if (!status.ok()) throw std::runtime_error(status.error().message());
  }
  template <typename T>
  static T given(soma::Result<T> result) {
    if (!result.ok()) throw std::runtime_error(result.error().message());
    return *std::move(result);
  }

  std::unique_ptr<soma::Pool> pool_;
  soma::CompileOptions options_;
  soma::Plan plan_;
  soma::Ops ops_;
  std::vector<bench::u32> numbers_;
  std::unique_ptr<soma::Run> run_;
};

}  // namespace

int main(int argc, char** argv) { return bench::main_of<Runner>(argc, argv); }
