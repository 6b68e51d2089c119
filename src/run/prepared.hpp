// The states that nodes' ops prepare before their code runs.
#pragma once

#include "cache/cache.hpp"
#include "run/run_state.hpp"

namespace soma {

// Stands before the code of the nodes that it is about, and within what looks whether they run at
// all (cached.hpp), so that nothing is prepared for a value that is there already.
class Prepared {
 public:
  // Once the run is bound, which outlives it. nullptr: no node has an op that prepares.
  static std::unique_ptr<Prepared> of(RunState& run);
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  ~Prepared();                      // gives the nodes their code back

  // Where states come from and go to, for modes that cache them; nullptr: nowhere.
  void use_cache(Cache* cache) { cache_ = cache; }
  // What is prepared for the call of a node at hand; nullptr: nothing.
  const Value* state(u32 node) const;
  void clear();                     // lets go of states

 private:
  struct Node {
    Prepared* owner = nullptr;
    NodePrepare prepare;
    Bound code;
    std::optional<DigestBytes> digest = {};  // for keys; nothing: its state is not kept
    std::optional<Value> state = {};
  };

  explicit Prepared(RunState& run);
  static Status forward(void* node, NodeCall& call);
  Status make_state(const Node& node, NodeCall& call, Value& state) const;

  RunState& run_;
  Cache* cache_ = nullptr;
  std::vector<Node> nodes_;         // in the order of the plan
};

}  // namespace soma
