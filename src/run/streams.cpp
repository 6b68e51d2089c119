// Stands before the code of nodes that have a stream mode: gives them their chunk, and looks at
// what they make of it. How chunks get from node to node: flow.cpp.
#include "run/streams.hpp"

#include "base/text.hpp"
#include "run/node_call.hpp"
#include "run/run_state.hpp"

namespace soma {

namespace {

Error at_chunk(const Chunk& chunk, Error error) {
  if (chunk.count > 1) error = std::move(error).context(text("chunk {}", chunk.index));
  return std::move(error).with("chunk", text("{}", chunk.index));
}

}  // namespace

Streams::Streams(RunState& run, Values& values) : run_(run) {
  for (const Region& stream : run.course.streams()) {
    flows_[stream.item] = std::make_unique<Flow>(run.plan, stream, values);
  }
}

void Streams::cover(Binding& binding) {
  for (u32 node = 0; node < run_.plan.nodes.size(); ++node) {
    if (run_.plan.nodes[node].stream_mode != StreamMode::None) nodes_[node].owner = this;
  }
  for (const auto& [item, flow] : flows_) {
    const Region& stream = flow->stream();
    for (u32 node = stream.begin; node < stream.end; ++node) {
      nodes_.at(node).flow = flow.get();
      nodes_.at(node).stage = node - stream.begin;
    }
  }
  for (auto& [at, node] : nodes_) binding.cover(at, {forward, &node}, node.code);
}

Chunk* Streams::chunk(u32 node) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return nullptr;
  Node& it = found->second;
  return it.flow ? &it.flow->chunk(it.stage) : &it.alone;
}

void Streams::clear() {
  for (auto& [item, flow] : flows_) flow->clear();
  for (auto& [at, node] : nodes_) node.alone.state = Value();
}

Status Streams::forward(void* self, NodeCall& call) {
  Node& node = *static_cast<Node*>(self);
  Chunk& chunk = node.flow ? node.flow->chunk(node.stage) : node.alone;
  if (call.keeps_state() && chunk.index == 0) chunk.state = call.declared_state();
  if (!node.flow) return node.code.forward(node.code.user, call);
  node.flow->provide(node.stage);
  node.owner->tell(Event::Kind::ChunkStarted, call, chunk);
  Status status = node.code.forward(node.code.user, call);
  if (status.ok()) status = node.flow->accept(node.stage);
  if (!status.ok()) return at_chunk(chunk, std::move(status).error());
  node.owner->tell(Event::Kind::ChunkFinished, call, chunk);
  return {};
}

void Streams::tell(Event::Kind kind, const NodeCall& call, const Chunk& chunk) const {
  if (!run_.is_watched()) return;
  Event event;
  event.kind = kind;
  event.node = call.index();
  event.thread = call.thread();
  event.chunk = chunk.index;
  event.chunks = chunk.count;
  run_.notify(event);
}

}  // namespace soma
