// The nodes of a run that have a stream mode.
#pragma once

#include <map>

#include "run/binding.hpp"
#include "run/flow.hpp"
#include "run/observe.hpp"

namespace soma {

class Streams {
 public:
  Streams(RunState& run, Values& values);
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  // Once the nodes are bound: puts itself before their code, for good.
  void cover(Binding& binding);
  // The stream that an item is.
  Flow& flow(u32 item) { return *flows_.at(item); }
  // What a node works on, for who calls it or is called; nullptr: it has no stream mode.
  Chunk* chunk(u32 node);
  // Forgets what is under way.
  void clear();

 private:
  struct Node {
    Streams* owner = nullptr;
    Flow* flow = nullptr;         // none: the plan has no stream there, so it is called once
    u32 stage = 0;
    Chunk alone = {};             // without a flow
    Bound code = {};
  };
  static Status forward(void* self, NodeCall& call);
  void tell(Event::Kind kind, const NodeCall& call, const Chunk& chunk) const;

  RunState& run_;
  std::map<u32, std::unique_ptr<Flow>> flows_;  // by item
  std::map<u32, Node> nodes_;                   // by node
};

}  // namespace soma
