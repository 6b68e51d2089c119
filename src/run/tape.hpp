// What the nodes of an execution read and yielded, and the way it took: for the way back.
#pragma once

#include "run/run_state.hpp"

namespace soma {

// Stands before the code of the nodes that it is about, so that a run without one pays nothing.
class Tape {
 public:
  struct Record {
    Value input, yielded;
    std::optional<Value> state = {};  // if its op prepared one
  };
  struct Node {
    Bound code;
    NodeVjp vjp;
    std::vector<Record> records;    // one for each time that it ran, in their order
  };

  // Once the run is bound, which outlives it. nullptr: the plan's mode keeps no tape, or no node
  // that is declared as differentiable has an op with a vjp.
  static std::unique_ptr<Tape> of(RunState& run);
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
  ~Tape();                          // gives the nodes their code back

  enum class State : u8 {
    Blank,      // nothing has been executed, or that was abandoned
    Recording,
    Torn,       // the last execution has not ended well
    Foreign,    // the last value came from a journal, and no node ran
    Complete,
  };
  // Before an execution, and after it. Only what is complete is kept.
  void begin(bool is_foreign);
  void end(bool well);
  void clear();                     // lets go of all that it holds
  Status check() const;             // run_no_gradient, unless it is complete

  // ---- For strands: what a construct decided, each time that it did
  struct Choice {
    u64 number = 0;                 // Loop: passes; Branch: the arm; Step: the hand-off, or `none`
    bool is_member = false;         // Branch: the arm got the member "value" of what was decided
  };
  static constexpr u64 none = ~u64{0};
  void note(u32 construct, Choice choice) { choices_[construct].push_back(choice); }

  // ---- For the way back
  // In the order of the plan; nullptr: nothing is kept of that node.
  const Node* find(u32 node) const { return at_[node] == no_node ? nullptr : &nodes_[at_[node]]; }
  std::span<const Choice> choices(u32 construct) const { return choices_[construct]; }
  // It lies in a Stream, where it runs once for each chunk.
  bool is_streamed(u32 node) const { return run_.course.is_in_stream(node); }

 private:
  explicit Tape(RunState& run);
  static Status forward(void* node, NodeCall& call);

  RunState& run_;
  std::vector<Node> nodes_;
  std::vector<u32> at_;             // by node of the plan
  std::vector<std::vector<Choice>> choices_;  // by construct
  State state_ = State::Blank;
};

}  // namespace soma
