// Has ops prepare their states, or finds those that were prepared before.
//
// Problem. Some code first makes something of its settings and its input, a table, a parsed
// program, and then works with it. Where the work has to be done again each time, as in a plan that
// gradients are traced through, what was made need not be made again.
//
// Idea. An op may have a second function, which yields that: the state. It is called right before
// the node's code, which then sees it as its state. In modes that cache states it is first looked
// up under the digest of the node (op, version, settings, declared state) and that of its input,
// with a name of its own, so that it is never taken for the node's value; and put there, if the
// node says that it is cacheable and deterministic. Of the modes, inference looks for values too,
// and before that (cached.cpp): what is found there needs no state. The mode that is differentiable
// looks for states only, and no_cache for nothing.
//
// Of a stateful node in a stream the state is what the first chunk begins with; all other nodes
// have one prepared for each call, of what they read in it, so that a chunk's value depends on
// nothing else.
//
// Why a state that is found is what preparing would have yielded: the same as of values, which see.
// What is opaque has no content to be kept or found by.
#include "run/prepared.hpp"

#include <algorithm>
#include <new>

#include "cache/key.hpp"
#include "run/flow.hpp"
#include "run/node_call.hpp"
#include "value/value_binary.hpp"

namespace soma {

std::unique_ptr<Prepared> Prepared::of(RunState& run) {
  if (run.binding->prepares().empty()) return nullptr;
  return std::unique_ptr<Prepared>(new Prepared(run));
}

Prepared::Prepared(RunState& run) : run_(run) {
  const std::span<const NodePrepare> prepares = run.binding->prepares();
  nodes_.reserve(prepares.size());  // the run holds their addresses
  for (const NodePrepare& prepare : prepares) {
    const PlanNode& node = run.plan.nodes[prepare.node];
    Node& made = nodes_.emplace_back();
    made.owner = this;
    made.prepare = prepare;
    if (node.cacheable && node.deterministic) made.digest = node_digest(node);
    made.code = run.binding->replace(prepare.node, {forward, &made});
  }
  run.prepared = this;
}

Prepared::~Prepared() {
  run_.prepared = nullptr;
  for (const Node& node : nodes_) run_.binding->replace(node.prepare.node, node.code);
}

const Value* Prepared::state(u32 node) const {
  const auto at = std::ranges::lower_bound(nodes_, node, {},
                                           [](const Node& one) { return one.prepare.node; });
  const bool is_there = at != nodes_.end() && at->prepare.node == node && at->state;
  return is_there ? &*at->state : nullptr;
}

void Prepared::clear() {
  for (Node& node : nodes_) node.state.reset();
}

Status Prepared::forward(void* self, NodeCall& call) {
  Node& node = *static_cast<Node*>(self);
  node.state.reset();               // so that who prepares sees what is declared
  if (call.chunk().index == 0 || !call.keeps_state()) {
    if (node.owner->run_.values.names_outputs(call.index())) {
      SOMA_TRY(node.owner->run_.values.check_outputs(call.index()));
    }
    Value state;
    SOMA_TRY(node.owner->make_state(node, call, state));
    if (call.was_told_to_stop()) return {};
    if (call.keeps_state()) {
      SOMA_TRY(call.set_state(std::move(state)));
    } else {
      node.state = std::move(state);
    }
  }
  return node.code.forward(node.code.user, call);
}

// Looking for it and keeping it never make a run fail: without memory for that it does without.
Status Prepared::make_state(const Node& node, NodeCall& call, Value& state) const {
  std::optional<CacheKey> key;
  if (cache_ && node.digest) {
    try {
      const std::optional<DigestBytes> input = value_digest(call.input());
      if (input) key = state_key(*node.digest, *input);
    } catch (const std::bad_alloc&) {
    }
  }
  if (key) {
    if (std::optional<CacheEntry> found = cache_->get(*key)) {
      state = std::move(found->value);
      return {};
    }
  }
  SOMA_TRY(node.prepare.code(node.prepare.user, call));
  state = std::exchange(call.output(), Value());
  if (!key || call.was_told_to_stop()) return {};
  try {
    CacheEntry entry;
    entry.digest = value_digest(state);
    if (!entry.digest) return {};
    entry.value = state;
    cache_->put(*key, entry).ok();
  } catch (const std::bad_alloc&) {
  }
  return {};
}

}  // namespace soma
