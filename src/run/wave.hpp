// A wave or a stream that several threads share: who has which branches, and which of them failed
// first.
#pragma once

#include <map>
#include <mutex>

#include "run/flow.hpp"

namespace soma {

class Strand;

// A part of a wave that one thread runs: some of its branches, one after the other.
struct Share {
  Region region;
  BranchSet::Run run = {0, 0};     // of a queue: which branches these are; of a stream: which node
};

class Wave {
 public:
  // What is shared: the branches of `item` in the items [first, item_end).
  struct Terms {
    Strand* owner = nullptr;
    u32 item = 0, first = 0, item_end = 0;
    bool is_begun = false;         // its owner is in the first already
    bool in_loop = false;          // for progress: a loop counts its nodes itself
    u32 threads = 1;               // that may come, for the size of shares
    u32 nodes_min = 1;             // of a share
  };
  Wave(const Plan& plan, const Course& course) : plan_(plan), course_(course) {}

  // Branches in their order, many at a time, without locks: if any thread may run any of them.
  // Otherwise one by one, from a queue (branch_queue.hpp).
  void begin(const Terms& terms);
  void begin_queue(const Terms& terms, const BranchOrder& order, std::span<const u8> traits,
                   bool one_by_one);
  // Or it is a stream: a share is one of its nodes for one chunk.
  void begin_stream(const Terms& terms, Flow& flow);

  // What its owner is in, if it is begun.
  Share begun() const;
  std::optional<Share> claim(Hand hand);
  // What was claimed has ended well. Returns whether there is more to share than before, and it has
  // to be offered.
  bool finish(const Share& share);
  // It was broken off, because of an earlier branch of another wave.
  void give_up(const Share& share);
  // The branch with this node, in this share, failed: those behind it need not run, and stop if
  // they do. Or it waits for an answer: then only those that come after it in a Dataflow don't run.
  struct Failure {
    u32 node = no_node;
    std::optional<Error> error = {};  // none: the caller asked to stop (RunState::asked_to_stop)
    bool is_suspension = false;
  };
  void fail(const Share& share, Failure failure);
  // No branch has to run any more.
  void drop();

  // Whether a walk at this node has to stop: a branch before it failed.
  bool stops(u32 node) const {
    return node >= dropped_from_.load(std::memory_order_relaxed) && node < region_.end;
  }
  bool can_share();
  bool is_over();                  // nothing is left to claim, now or later
  // Of the first branch that failed, or else of the first that waits for an answer.
  std::optional<Failure> take_failure();
  const Region& region() const { return region_; }
  bool in_loop() const { return in_loop_; }
  u32 item() const { return item_; }
  Strand* owner() const { return owner_; }
  Flow* flow() const { return flow_; }

  // ---- Promises (branch_queue.hpp)
  u32 missing_hands(bool owner_is_free);
  u32 idle_branches(bool owner_is_free);
  void promise(u32 hands);
  void withdraw(u32 hands);

  // ---- Helpers inside; the owner waits for them
  void enter() { inside_.fetch_add(1, std::memory_order_relaxed); }
  void leave();
  // Nobody is at work any more: whoever waits in it is given up.
  void give_up_all() { inside_.store(0, std::memory_order_relaxed); }
  bool is_empty() const { return inside_.load(std::memory_order_acquire) == 0; }
  // Waits a little for somebody to leave or to finish, unless that happened since `seen`.
  u32 changes() const { return changes_.load(std::memory_order_acquire); }
  void await_change(u32 seen, i64 longest_ns);

  // ---- Where it is in the crew's lists (wave_lists.hpp), guarded by the crew's mutex
  static constexpr u32 nowhere = ~u32{0};
  using Row = std::multimap<u32, Wave*>;
  u32 open_place = nowhere, pinned_place = nowhere, stopped_place = nowhere;
  Row::node_type row_node;         // while it is not in the row
  Row::iterator row_place;         // while it is
  // It is in the row, and whoever looks there will see work that is made under this wave's mutex.
  std::atomic<bool> is_offered{false};

 private:
  // Of the branch that an item lies in, which is no branch before `first`.
  u32 branch_end(u32 first, u32 item) const;
  std::optional<Share> claim_loose();
  void drop_from(u32 node);        // under the mutex
  void set(const Terms& terms);    // under the mutex
  void fail_here(const Share& share, u32 node);  // under the mutex
  void tell();

  const Plan& plan_;
  const Course& course_;
  Region region_;
  Strand* owner_ = nullptr;
  u32 item_ = 0;
  bool in_loop_ = false;
  u32 threads_ = 1, nodes_min_ = 1;
  alignas(64) std::atomic<u32> cursor_{0};         // the item of the first branch that nobody has
  std::atomic<u32> inside_{0};
  std::atomic<u32> changes_{0};
  std::atomic<bool> owner_sleeps_{false};
  std::atomic<u32> dropped_from_{no_node};
  std::mutex mutex_;                               // guards all below
  BranchQueue queue_;
  bool has_queue_ = false;
  Flow* flow_ = nullptr;           // of a stream
  std::optional<Failure> failure_, suspension_;
};

}  // namespace soma
