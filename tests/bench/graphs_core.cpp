// The bench of graph runs, for libsoma without the wall: what the C interface adds is the rest.
// A command of its own:
//   compile  what each pass costs, cold and warm, beside the least that a compiler has to do
#include "base/pool.hpp"
#include "base/text.hpp"
#include "bench/compile_floor.hpp"
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

// ---- Compiling: how long each pass takes, beside the least that could be done

soma::Graph graph_of(const bench::Shape& shape) {
  soma::Graph graph;
  graph.nodes.reserve(shape.nodes);
  for (bench::u32 node = 0; node < shape.nodes; ++node) {
    soma::GraphNode& made = graph.nodes.emplace_back();
    made.id = std::to_string(node);
    made.op = "body";
  }
  graph.edges.reserve(shape.edges.size());
  for (const bench::Edge& edge : shape.edges) {
    soma::GraphEdge& made = graph.edges.emplace_back();
    made.from = edge.from;
    made.to = edge.to;
  }
  return graph;
}

// Of one round after the other: nanoseconds a node of each pass, of all, and of the floor.
struct Compiled {
  std::vector<std::string_view> passes;
  std::vector<std::vector<double>> took_ns;
  std::vector<double> all_ns, floor_ns, ratios;
};

void compile_once(const soma::Graph& graph, const soma::CompileOptions& options,
                  const bench::Shape& shape, Compiled& out) {
  const bench::i64 begun_ns = bench::now_ns();
  const soma::Compilation made = soma::compile(graph, options);
  const auto all_ns = static_cast<double>(bench::now_ns() - begun_ns);
  if (!made.plan) throw std::runtime_error(made.diagnostics.text());
  out.took_ns.resize(made.passes.size());
  for (size_t i = 0; i < made.passes.size(); ++i) {
    if (i == out.passes.size()) out.passes.push_back(made.passes[i].pass);
    out.took_ns[i].push_back(static_cast<double>(made.passes[i].took_ns) / shape.nodes);
  }
  out.all_ns.push_back(all_ns / shape.nodes);
}

// The first round, in a process that has compiled nothing yet, is told apart from the others.
int compile_command(const bench::Options& options, const bench::Shape& natural) {
  const bench::Shape shape = options.shuffled ? bench::shuffled(natural) : natural;
  const soma::Graph graph = graph_of(shape);
  soma::CompileOptions compile_options;
  compile_options.parallelize_dag = options.dataflow;
  Compiled out;
  const bench::Usage before = bench::Usage::now();
  for (int round = 0; round <= options.pairs; ++round) {
    compile_once(graph, compile_options, shape, out);
    const bench::i64 begun_ns = bench::now_ns();
    bench::CompileFloor().reduce(shape);
    out.floor_ns.push_back(static_cast<double>(bench::now_ns() - begun_ns) / shape.nodes);
    out.ratios.push_back(out.all_ns.back() / out.floor_ns.back());
  }
  const auto warm = [](const std::vector<double>& rounds) {
    return bench::median({rounds.begin() + 1, rounds.end()});
  };
  bench::print_head("compile", Runner::name, options, natural);
  std::printf(",\"cold_ns\":%.1f,\"warm_ns\":%.1f,\"floor_ns\":%.1f,\"ratio\":%.3f", out.all_ns[0],
              warm(out.all_ns), warm(out.floor_ns), warm(out.ratios));
  for (size_t i = 0; i < out.passes.size(); ++i) {
    std::printf(",\"%s\":[%.1f,%.1f]", std::string(out.passes[i]).c_str(), out.took_ns[i][0],
                warm(out.took_ns[i]));
  }
  std::printf(",\"foreign\":%.4f}\n", bench::Usage::now().foreign(before));
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string command = argc > 1 ? argv[1] : "";
  bench::Options options;
  if (command != "compile" || !bench::parse(argc, argv, options)) {
    return bench::main_of<Runner>(argc, argv);
  }
  return compile_command(options, bench::shape_of(options.shape));
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}
