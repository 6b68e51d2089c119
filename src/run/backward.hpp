// Traces a gradient back through an execution.
#pragma once

#include "base/problems.hpp"
#include "run/gradients.hpp"
#include "run/tape.hpp"

namespace soma {

// Once; another for another gradient. The run and its tape, which is complete, outlive it.
class Backward {
 public:
  Backward(RunState& run, const Tape& tape);

  // The gradient of the run's input, from that of its value: of several leaves a map by their ids.
  // run_no_gradient, for all nodes at once that have no vjp; run_gradient; run_node_failed and
  // run_exception of a vjp; cancelled, deadline.
  Result<Value> trace(Value gradient);

 private:
  // A region that the walk is in; the innermost last.
  struct Frame {
    u32 construct = Course::whole;
    u32 begin = 0;                  // its first node
    u32 region = 0;                 // by number, with the whole plan's behind all others
    u64 passes = 0;                 // of a loop: which one it is
  };

  void find_constructs();
  Status seed(Value gradient);
  Status check() const;             // whether the caller wants it to go on
  Status walk();
  Status enter(u32 construct);
  Status leave();
  Status leave_body(Frame& frame);
  Status visit(u32 node);
  Result<Value> gradient_of_input(u32 node, const NodeVjp& vjp, const Tape::Record& record,
                                  const Value& gradient);
  Result<Value> take(u32 node);
  Result<Value> sum_at(size_t place, u32 node);
  void drop(u32 node);
  Status pass_on(u32 node, Value gradient);
  Status pass_on_members(u32 node, const Value& gradient);
  void add_to(const Source& source, Value gradient);
  void push(u32 construct, u32 region, u64 passes);
  void skip(u32 begin, u32 end);
  void miss(u32 node);
  Error missing() const;

  const Region& region(u32 number) const { return course_.region(number); }
  // Places of gradients: of what nodes yield, what constructs hand to their regions, and what a
  // loop's carry has for the next pass.
  size_t fed(u32 construct) const {
    return run_.plan.nodes.size() + (construct == Course::whole ? 0 : size_t{construct} + 1);
  }
  size_t carried(u32 loop) const { return fed(loop) + constructs_.size(); }

  RunState& run_;
  const Plan& plan_;
  const Course& course_;
  const Tape& tape_;
  const std::span<const Construct> constructs_;
  Gradients gradients_;
  std::vector<u32> before_;         // by construct: the one before it in its region, or whole
  std::vector<u32> last_;           // by region: the last one directly in it, or whole
  std::vector<u32> carries_for_;    // by node: the loop whose carry it is, or whole
  std::vector<size_t> records_, choices_;  // by node, construct: how many are still to come
  std::vector<Frame> frames_;
  u32 at_ = 0;                      // behind the node that comes next
  u32 next_ = Course::whole;        // the construct that comes next
  u64 visits_ = 0;
  u64 done_ = 0, total_ = 0;        // records
  std::vector<u32> missing_;        // nodes without a vjp; then it is only marked what is reached
  std::vector<bool> is_missing_;
};

}  // namespace soma
