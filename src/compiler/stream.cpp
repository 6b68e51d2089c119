// Turns chains of nodes that have a stream mode into streams, which run over chunks.
//
// Problem: between two nodes that could each work on a piece at a time, the whole value lies in
// memory, and the second waits for the last row of the first. Idea: a maximal chain of streamed
// neighbours becomes a Stream. Neighbours are a chain if the second reads all of what the first
// yields and nothing else, both are placed on one target, and the first is read by nobody else: so
// a streamed node with several sources is an error, and so is one with several readers of which
// some are streamed too, since a value can't be both whole and in pieces. A loop that takes a
// node's value as its signal or carry is a reader too. A chain ends where its value is read by
// nodes that take it whole. Steps and constructs have no chunks to speak of. Why right: in the
// Stream the nodes stand as they stood, and only values that one node alone reads are no longer
// whole. Must come before the other rewriting passes, which see a Stream as one. Cost: linear.
#include "base/text.hpp"
#include "compiler/passes.hpp"
#include "compiler/rewrite.hpp"

namespace soma {

namespace {

class Streamer {
 public:
  Streamer(const Plan& plan, u32 chunk_size, Diagnostics& diagnostics)
      : plan_(plan), chunk_size_(chunk_size), diagnostics_(diagnostics) {
    find_readers();
    for (const PlanItem& item : plan_.items) {
      if (item.variant == Variant::Branch) is_branch_[item.node] = true;
    }
  }

  bool check() {
    const size_t before = diagnostics_.errors();
    for (u32 node = 0; node < plan_.nodes.size(); ++node) {
      if (is_streamed(node)) check_node(node);
    }
    return diagnostics_.errors() == before;
  }

  std::vector<PlanItem> streamed() const {
    return rewrite(plan_.items, [this](ItemWriter& writer, u32 at, u32 limit) {
      const u32 end = end_of_chain(at, limit);
      if (end == at) return at;
      writer.open(Variant::Stream, no_node, chunk_size_);
      writer.copy(plan_.items, at, end);
      writer.close();
      return end;
    });
  }

 private:
  bool is_streamed(u32 node) const { return plan_.nodes[node].stream_mode != StreamMode::None; }

  void find_readers() {
    readers_.assign(plan_.nodes.size(), 0);
    streamed_readers_.assign(plan_.nodes.size(), 0);
    is_branch_.assign(plan_.nodes.size(), false);
    for (u32 node = 0; node < plan_.nodes.size(); ++node) {
      for (const Source& source : plan_.sources_of(node)) {
        ++readers_[source.node];
        if (is_streamed(node)) ++streamed_readers_[source.node];
      }
    }
    for (const PlanLoop& loop : plan_.loops) {
      if (loop.signal != no_node) ++readers_[loop.signal];
      if (loop.carry != no_node) ++readers_[loop.carry];
    }
  }

  void check_node(u32 node) {
    const PlanNode& spec = plan_.nodes[node];
    if (spec.kind != NodeKind::Function || is_branch_[node]) {
      diagnostics_
          .error(Reason::stream_construct,
                 text("node {} is a {} and has a stream mode", quoted(spec.id),
                      is_branch_[node] ? "branch" : node_kind_name(spec.kind)))
          .node(spec.id)
          .advise("only functions are streamed: leave the mode out");
      return;
    }
    const size_t sources = plan_.sources_of(node).size();
    const bool splits = streamed_readers_[node] > 0 && readers_[node] > 1;
    if (sources <= 1 && !splits) return;
    diagnostics_
        .error(Reason::stream_fan,
               sources > 1 ? text("streamed node {} reads {} values", quoted(spec.id), sources)
                           : text("the value of streamed node {} is read {} times, also by a "
                                  "streamed node",
                                  quoted(spec.id), readers_[node]))
        .node(spec.id)
        .advise("streams are chains: end this one before the fan");
  }

  u32 end_of_chain(u32 at, u32 end) const {
    const u32 first = at;
    while (at < end && plan_.items[at].variant == Variant::Execute &&
           is_streamed(plan_.items[at].node) && (at == first || is_chained(at))) {
      ++at;
    }
    return at;
  }
  bool is_chained(u32 at) const {
    const std::span<const Source> sources = plan_.sources_of(plan_.items[at].node);
    if (sources.size() != 1 || sources[0].node != plan_.items[at - 1].node) return false;
    const PlanNode& before = plan_.nodes[sources[0].node];
    const bool takes_all = sources[0].output == 0 || before.outputs().size() == 1;
    return takes_all && before.target() == plan_.nodes[plan_.items[at].node].target();
  }

  const Plan& plan_;
  const u32 chunk_size_;
  Diagnostics& diagnostics_;
  std::vector<u32> readers_, streamed_readers_;  // by node
  std::vector<bool> is_branch_;                  // by node
};

}  // namespace

void stream(Plan& plan, i64 chunk_size, Diagnostics& diagnostics) {
  constexpr i64 chunk_size_max = i64{1} << 31;
  if (chunk_size < 1 || chunk_size > chunk_size_max) {
    diagnostics
        .error(Reason::stream_chunk_size, text("a chunk can't have {} rows", chunk_size))
        .advise(text("it has 1 to {}", chunk_size_max));
    return;
  }
  bool has_any = false;
  for (const PlanNode& node : plan.nodes) {
    has_any = has_any || node.stream_mode != StreamMode::None;
  }
  if (!has_any) return;
  Streamer streamer(plan, static_cast<u32>(chunk_size), diagnostics);
  if (streamer.check()) plan.items = streamer.streamed();
}

}  // namespace soma
