// What the code of a node sees while it runs.
#pragma once

#include <atomic>

#include "run/values.hpp"

namespace soma {

class Strand;
struct Chunk;

class NodeCall {
 public:
  NodeCall(Strand& strand, const Plan& plan, Values& values)
      : strand_(strand), plan_(plan), values_(values) {}
  NodeCall(const NodeCall&) = delete;
  NodeCall& operator=(const NodeCall&) = delete;
  ~NodeCall() {
    if (keepsake_.drop) keepsake_.drop(keepsake_.data);
  }

  const PlanNode& node() const { return plan_.nodes[index()]; }
  u32 index() const { return node_.load(std::memory_order_relaxed) & ~resting; }

  // Valid until the call returns. Put together when it is first asked for: code that reads nothing
  // pays nothing.
  const Value& input() { return input_of_ == index() ? *input_ : read_input(); }
  // The same to keep. If nobody else will read it, the caller is its sole owner and may change it
  // in place. Once; input() is null afterwards.
  Value take_input();
  Value& output() { return values_.slot_to_set(index()); }

  // Whether to go on: cancelled, the deadline, or a branch declared before this one has failed. For
  // code that takes long; between nodes the run asks by itself.
  Status check() const;
  // It said no to this call: what the code yields then may be half of it.
  bool was_told_to_stop() const;
  // Which chunk of a stream this call is for: the only one, if the node is in none.
  const Chunk& chunk() const;
  // Of a stateful node what the call for the chunk before has left, and this one leaves for the
  // next; for the first, and for all other nodes, what its op has prepared, or else what the node
  // declares: bytes, or null.
  bool keeps_state() const { return node().stream_mode == StreamMode::Stateful; }
  Value state() const;
  Status set_state(Value state);    // run_input, if the node is not stateful
  Value declared_state() const;
  const Value* prepared_state() const;  // nullptr: none
  // "refine[3]/judge": ids, and of the loops around it the pass.
  std::string path() const;
  u32 thread() const;               // as events tell it
  // The passes of the loops around the node, the outermost first, counted from 1.
  std::vector<u64> passes() const;
  // What code keeps from call to call: one for all nodes that one strand calls. All code that is
  // bound to one run's nodes has to mean the same by it.
  struct Keepsake {
    void* data = nullptr;
    void (*drop)(void* data) = nullptr;  // with the strand
  };
  Keepsake& keepsake() { return keepsake_; }

 private:
  friend class Strand;
  const Value& read_input();
  // Before the node's code runs. What the one before read is let go of by who reads next, or when
  // the strand has something else to do.
  void begin(u32 node) { node_.store(node, std::memory_order_release); }
  void let_go();
  // Between two calls, on behalf of this node.
  void rest(u32 node) {
    let_go();
    node_.store(node | resting, std::memory_order_release);
  }
  void rest() {
    node_.store(node_.load(std::memory_order_relaxed) | resting, std::memory_order_release);
  }
  // What another thread sees: the node that is being called, or no_node.
  u32 called() const {
    const u32 node = node_.load(std::memory_order_acquire);
    return (node & resting) == 0 ? node : no_node;
  }
  static constexpr u32 resting = u32{1} << 31;

  Strand& strand_;
  const Plan& plan_;
  Values& values_;
  std::atomic<u32> node_{resting};  // other threads look at where this one is
  const Value* input_ = nullptr;
  u32 input_of_ = no_node;            // the node whose input that is
  Value made_;
  Keepsake keepsake_;
};

}  // namespace soma
