// A stream at work: which of its nodes may take the next chunk, and where chunks wait meanwhile.
#pragma once

#include "run/branch_queue.hpp"
#include "run/values.hpp"

namespace soma {

class Binding;

// What code sees of the stream that its node is in.
struct Chunk {
  u64 index = 0;                // counted from 0, since the stream's beginning or the last barrier
  u64 count = 1;                // of them
  Value state;                  // of a stateful node, from chunk to chunk
  bool is_last() const { return index + 1 == count; }
};

// Guarded by the mutex of the wave that shares the stream, but for what says otherwise.
class Flow {
 public:
  static constexpr u32 none = ~u32{0};
  // Chunks that may wait before a node, besides the one that it works on: as soon as there are so
  // many, the node before it takes no more.
  static constexpr size_t waiting_max = 2;

  // `stream`: the item and the nodes.
  Flow(const Plan& plan, const Region& stream, Values& values);
  const Region& stream() const { return stream_; }

  // Before any thread takes part.
  void begin(Value input, const Binding& binding);
  // When none does any more: what the last node yielded, in one piece. Only if all went well.
  Value result();
  void clear() noexcept;

  // A node that can go on, or none; nearest to the end first, so that few chunks wait.
  u32 claim(Hand hand);
  void finish(u32 stage) noexcept;
  // Whether this failure comes before all that were told so far.
  bool end_badly(u32 stage) noexcept;
  // Nobody needs the rest.
  void drop() noexcept { is_dropped_ = true; }
  bool can_share() { return has_ready(others_); }
  bool has_pinned() const { return has_pinned_; }
  bool is_over();

  // ---- Without the mutex: by who has claimed that stage
  Chunk& chunk(u32 stage) { return stages_[stage].chunk; }
  // Puts what the node reads where it looks for it.
  void provide(u32 stage);
  // Once the node has yielded: run_stream, if that is nothing to be joined; and makes room for it.
  Status accept(u32 stage);

 private:
  struct Stage {
    Value whole;                // cut into chunks for this node; of a barrier: all of its input
    std::vector<Value> waiting;
    Chunk chunk;                // the one that it works on, or did last
    u64 begun = 0;              // chunks
    std::optional<ValueKind> yields;  // what it yielded for each chunk so far
    bool is_barrier = false, is_pinned = false, is_running = false;
    bool is_listed = false;     // among those that are ready
  };

  u32 node(u32 stage) const { return stream_.begin + stage; }
  bool is_fed_whole(u32 stage) const { return stage == 0 || stages_[stage - 1].is_barrier; }
  bool is_ready(u32 stage) const;
  bool has_room_behind(u32 stage) const;
  void look_at(u32 stage) noexcept;
  bool has_ready(BranchSet& places);
  // In the lists of those that are ready: the last stage first.
  u32 place(u32 stage) const { return static_cast<u32>(stages_.size()) - 1 - stage; }
  u64 count_chunks(u32 stage, const Value& whole) const;
  u32 end_of_part(u32 stage) const;
  void make_room(u32 stage, const Value& whole);
  void feed(u32 stage, Value whole) noexcept;

  const Region stream_;
  const u64 chunk_rows_;
  Values& values_;
  std::vector<Stage> stages_;
  BranchSet pinned_, others_;   // that are ready, unless something failed since
  u32 running_ = 0;
  bool has_pinned_ = false;     // a node that only the caller may call
  std::vector<Value> yielded_;  // by the last node
  u64 failed_ = ~u64{0};        // the first chunk that did
  bool is_dropped_ = false;
};

}  // namespace soma
