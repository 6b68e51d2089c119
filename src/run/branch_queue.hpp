// Which branches of a wave can begin, and who may begin them.
#pragma once

#include "run/course.hpp"

namespace soma {

// Who asks for a branch: the thread that waits for the run, one that helps, or one that was
// summoned for a branch that must begin.
enum class Hand : u8 { Caller, Helper, Summoned };

// Branches by their numbers, lowest first.
class BranchSet {
 public:
  void reset(u32 branches);
  void add(u32 branch);
  // The lowest and those right behind it, at most so many. Not of an empty set.
  struct Run {
    u32 first, count;
  };
  Run take(u32 most);
  u32 lowest();                   // not of an empty set
  void remove_from(u32 branch);
  u32 size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  std::vector<u64> words_;
  size_t lowest_ = 0;             // no word before it has a branch
  u32 size_ = 0;
};

// What does not change from run to run: the branches of a wave, and of a Dataflow which of them
// come after which.
struct BranchOrder {
  BranchOrder(const Plan& plan, u32 item);
  u32 size() const { return static_cast<u32>(items.size()) - 1; }
  u32 number_of(u32 item) const;  // of the branch that an item lies in

  std::vector<u32> items;         // where each begins; one more
  const std::vector<std::vector<u32>>* after = nullptr;  // nullptr: all may begin at once
  std::vector<u32> first_follower, followers;
  std::vector<u32> waits_for;     // by branch: after how many others it comes
  std::vector<u32> first_ready;   // those after none
};

// Guarded by its wave's mutex.
class BranchQueue {
 public:
  static constexpr u32 none = ~u32{0};
  // What holds for the nodes of an item; both may.
  static constexpr u8 has_pinned = 1;  // there is one that only the caller may call
  static constexpr u8 has_waits = 2;   // there is one that may wait for another branch
  static constexpr u8 has_steps = 4;   // there is a step

  // Branches [first, end). If `is_begun`, the queue's owner is in the first already. `traits` by
  // item; empty: none has any. `threads` share them, as many at a time as is good, or one by one.
  struct Terms {
    u32 first = 0, end = 0;
    bool is_begun = false;
    std::span<const u8> traits = {};
    u32 threads = 1;
    bool one_by_one = true;
  };
  void begin(const BranchOrder& order, const Terms& terms);

  // The next branches that this hand may begin; count 0: none.
  BranchSet::Run claim(Hand hand);
  // They have ended: what follows them may begin. Returns whether anything follows.
  bool finish(BranchSet::Run run);
  // It got as far as it can for now: it has ended, and what comes after it, at any distance, will
  // not begin.
  void block(u32 branch);
  // Nobody needs the branches from this one on.
  void drop_from(u32 branch);

  bool is_over() const { return unfinished_ == 0; }  // but for dropped ones that still run
  bool can_share() const { return free_branches() > 0; }
  // Branches that may wait for others must not wait for a thread: how many threads have to be
  // summoned now; and how many more branches could have one. `owner_is_free`: who asks will claim a
  // branch himself.
  u32 missing_hands(bool owner_is_free) const;
  u32 idle_branches(bool owner_is_free) const;
  void promise(u32 hands) { promised_ += hands; }
  void withdraw(u32 hands) { promised_ -= hands < promised_ ? hands : promised_; }
  const BranchOrder& order() const { return *order_; }

 private:
  static constexpr u32 finished = ~u32{0};  // in place of a count

  void make_ready(u32 branch);
  u32 free_branches() const;
  u8 traits(u32 branch) const {
    return terms_.traits.empty() ? u8{0} : terms_.traits[order_->items[branch]];
  }

  const BranchOrder* order_ = nullptr;
  Terms terms_;
  std::vector<u32> waits_for_;    // by branch: how many before it have not ended
  BranchSet pinned_, waiting_, others_;
  u32 pinned_waiting_ = 0;        // of the pinned ones that were made ready
  u32 promised_ = 0;              // hands that are on their way
  u32 unfinished_ = 0;
};

}  // namespace soma
