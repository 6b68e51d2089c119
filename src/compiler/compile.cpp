// The compiler as prose: which pass comes after which, and what holds between them.
#include "compiler/compile.hpp"

#include "base/clock.hpp"
#include "compiler/passes.hpp"

namespace soma {

namespace {

class Compiler {
  // Runs a pass and notes how long it took.
  template <typename Pass>
  auto timed(std::string_view name, Pass pass) {
    struct Timer {
      ~Timer() { passes.push_back({name, now_ns() - started_ns, {}}); }
      std::vector<PassReport>& passes;
      std::string_view name;
      i64 started_ns = now_ns();
    } timer{out_.passes, name};
    return pass();
  }

  void dump(const Plan& plan) {
    if (with_dumps_) out_.passes.back().dump = plan.display();
  }
  Diagnostics& found() { return out_.diagnostics; }

 public:
  Compiler(const CompileOptions& options, bool with_dumps)
      : options_(options), with_dumps_(with_dumps) {
    out_.passes.reserve(16);      // more than there are: a timer can't fail
  }

  Compilation compile(const Graph& graph) && {
    // From here on subgraphs are inlined and every edge has two ends.
    const Draft draft = timed("inline", [&] { return Draft::of(graph, found()); });

    // These need no order, so they speak even of graphs that have none.
    timed("validate", [&] { validate(draft, options_, found()); });
    timed("schema", [&] { check_schema(draft, found()); });

    // From here on there is no cycle.
    std::optional<RegionLevel> whole = timed("order", [&] { return order(draft, found()); });
    if (!whole) return std::move(out_);

    // From here on every node has one owner, and every level an order.
    const Ownership ownership =
        timed("regions", [&] { return own(draft, *std::move(whole), found()); });
    const std::vector<PlanLoop> loops =
        timed("loops", [&] { return resolve_loops(draft, ownership.regions, found()); });
    timed("gradients", [&] { check_gradients(draft, ownership.regions, loops, found()); });
    if (found().has_errors()) return std::move(out_);

    // From here on there is a plan, in which each node has its place in time for good.
    Decomposition made = timed("decompose", [&] {
      return decompose(draft, ownership, loops, options_.parallelize_dag, found());
    });
    Plan plan = std::move(made.plan);
    dump(plan);
    plan.mode = options_.mode;
    timed("origin", [&] {
      plan.origin = find_origin(graph, draft, plan, std::move(made.places));
    });

    // Chains first, since a stream is none any more; composites before remotes, so that remote
    // chains fuse too.
    if (options_.chunk_size) {
      timed("stream", [&] { stream(plan, *options_.chunk_size, found()); });
      dump(plan);
    }
    if (options_.mode == PlanMode::Differentiable) {
      timed("composite", [&] { fuse_differentiable(plan); });
      dump(plan);
    }
    timed("distribute", [&] { distribute(plan, found()); });
    dump(plan);
    if (found().has_errors()) return std::move(out_);

    // The passes are not believed: verify knows what a plan is, and nothing of how it was made.
    const Status valid = timed("verify", [&] { return plan.verify(); });
    if (!valid) {
      found().error(Reason::internal, "the compiler made a plan that can't be: " +
                                          valid.error().message());
      return std::move(out_);
    }
    out_.plan = std::move(plan);
    return std::move(out_);
  }

 private:
  const CompileOptions& options_;
  const bool with_dumps_;
  Compilation out_;
};

}  // namespace

Compilation compile(const Graph& graph, const CompileOptions& options, bool with_dumps) {
  return Compiler(options, with_dumps).compile(graph);
}

}  // namespace soma
