// What the code of a vector-Jacobian product sees while it runs.
#pragma once

#include "run/run_state.hpp"

namespace soma {

// The same for the code that adds two gradients: it reads a list of both, and yields their sum.
class GradientCall {
 public:
  // Of the node whose gradient it is; none if gradients of the run's input are added. `state`: that
  // was prepared; or nullptr.
  GradientCall(const RunState& run, u32 node, const Value& input, const Value& yielded,
               const Value& gradient, const Value* state = nullptr)
      : run_(run), node_(node), input_(input), yielded_(yielded), gradient_(gradient),
        state_(state) {}
  GradientCall(const GradientCall&) = delete;
  GradientCall& operator=(const GradientCall&) = delete;

  bool has_node() const { return node_ != no_node; }
  const PlanNode& node() const { return run_.plan.nodes[node_]; }
  std::string path() const { return run_.path(node_); }
  std::vector<u64> passes() const { return run_.passes_around(node_); }

  const Value& input() const { return input_; }        // what the node read
  const Value& yielded() const { return yielded_; }    // … and yielded
  const Value& gradient() const { return gradient_; }  // of what it yielded; never null
  // What the node's code saw as its state when it was called, or as that of its first chunk.
  Value state() const {
    if (state_) return *state_;
    const bool declares_one = has_node() && !node().state().empty();
    return declares_one ? Value::bytes(node().state()) : Value();
  }
  // The gradient of what it read, of the same shape: of a map a map, in which members that are
  // missing are zero. Null is zero.
  Value& output() { return output_; }

  // Whether to go on, as in NodeCall.
  Status check() {
    Status status = run_.cancel->check();
    was_told_to_stop_ = was_told_to_stop_ || !status.ok();
    return status;
  }
  bool was_told_to_stop() const { return was_told_to_stop_; }

 private:
  const RunState& run_;
  const u32 node_;
  const Value& input_;
  const Value& yielded_;
  const Value& gradient_;
  const Value* const state_;
  Value output_;
  bool was_told_to_stop_ = false;
};

}  // namespace soma
