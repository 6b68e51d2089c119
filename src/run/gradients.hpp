// Gradients on their way back: where they are kept, and how they add up.
#pragma once

#include "run/gradient_call.hpp"

namespace soma {

// Adds gradients: numbers, lists by their elements, maps by their keys; null is zero, and so is a
// member that one of two maps lacks. All else is the host's, if it said how to add. As deep as
// memory goes.
class GradientSum {
 public:
  explicit GradientSum(const RunState& run) : run_(run) {}
  // run_gradient, or what the host's code fails with. `node`: whose gradients they are.
  Result<Value> of(const Value& a, const Value& b, u32 node);

 private:
  struct Level;
  Result<Value> of_parts(const Value& a, const Value& b);
  Result<Value> by_host(const Value& a, const Value& b);
  Result<Value> of_whole(const Value& a, const Value& b);

  const RunState& run_;
  u32 node_ = no_node;
};

// The gradients that have come for each value of a run so far. They are added when the sum is asked
// for, in the opposite of the order in which they came: that of the plan.
class Gradients {
 public:
  Gradients(const RunState& run, size_t places) : sum_(run), first_(places, none) {}

  // `member`: of the value at that place, if it is one's gradient; else the whole value's.
  void add(size_t place, Value gradient, std::string_view member = {});
  bool has(size_t place) const { return first_[place] != none; }
  // The sum, which is gone then: null if none has come. `node`: whose value it is, for errors.
  Result<Value> take(size_t place, u32 node);
  void drop(size_t place);

 private:
  static constexpr u32 none = ~u32{0};
  struct Part {
    Value gradient;
    std::string_view member;
    u32 next = none;                // in the place's list, or in that of spare ones
  };
  Value remove_first(size_t place);
  Result<Value> take_members(size_t place, u32 node);

  GradientSum sum_;
  std::vector<u32> first_;          // by place: the one that came last
  std::vector<Part> parts_;
  u32 spare_ = none;
};

}  // namespace soma
