// Claims of branches, and the error of the first declared of those that fail.
//
// Loose waves. All branches lie in one row, so a cursor over their items is all there is to claim
// from: a thread takes a run of branches by moving the cursor, as many as make its part of what is
// left, so that there are few claims and the last ones are small. That needs O(threads) claims for
// any number of branches.
//
// Errors. Branches are claimed in their order, so when one fails, all before it have been claimed
// and run on, and all that nobody has are behind it: the cursor jumps to the end. Who already runs
// one behind it stops at its next node. The error with the lowest node is kept; a later one can't
// belong to an earlier branch, and an earlier one replaces it. So the error does not depend on who
// was faster, as long as those before the first declared failing branch run to their end, which
// they do.
#include "run/wave.hpp"

#include <algorithm>

#include "base/spin.hpp"

namespace soma {

void Wave::begin(const Terms& terms) {
  const std::lock_guard lock(mutex_);
  set(terms);
  has_queue_ = false;
  const u32 first = terms.is_begun ? plan_.items[terms.first].end : terms.first;
  cursor_.store(first, std::memory_order_release);
}

void Wave::begin_queue(const Terms& terms, const BranchOrder& order, std::span<const u8> traits,
                       bool one_by_one) {
  const std::lock_guard lock(mutex_);
  set(terms);
  has_queue_ = true;
  BranchQueue::Terms branches;
  branches.first = order.number_of(terms.first);
  branches.end = order.number_of(terms.item_end - 1) + 1;
  branches.is_begun = terms.is_begun;
  branches.traits = traits;
  branches.threads = terms.threads;
  branches.one_by_one = one_by_one;
  queue_.begin(order, branches);
  cursor_.store(terms.item_end, std::memory_order_release);
}

void Wave::begin_stream(const Terms& terms, Flow& flow) {
  const std::lock_guard lock(mutex_);
  set(terms);
  has_queue_ = false;
  flow_ = &flow;
  cursor_.store(terms.item_end, std::memory_order_release);
}

void Wave::set(const Terms& terms) {
  flow_ = nullptr;
  owner_ = terms.owner;
  item_ = terms.item;
  region_ = course_.items(terms.first, terms.item_end);
  in_loop_ = terms.in_loop;
  threads_ = terms.threads;
  nodes_min_ = terms.nodes_min;
  failure_.reset();
  suspension_.reset();
  dropped_from_.store(no_node, std::memory_order_relaxed);
}

// Outwards from the item and onwards from `first` at the same time, whichever comes there sooner:
// waves may nest deeply, but then they have few branches each, or have many, but then those are
// mostly small. All claims of a wave together never cost more than its branches.
u32 Wave::branch_end(u32 first, u32 item) const {
  while (plan_.items[first].end <= item) {
    if (course_.parent(item) == item_) return plan_.items[item].end;
    item = course_.parent(item);
    first = plan_.items[first].end;
  }
  return plan_.items[first].end;
}

Share Wave::begun() const {
  const u32 first = region_.item;
  const Region branch = course_.items(first, plan_.items[first].end);
  return {branch, {has_queue_ ? queue_.order().number_of(first) : 0, has_queue_ ? 1u : 0u}};
}

std::optional<Share> Wave::claim(Hand hand) {
  if (!has_queue_ && !flow_) return claim_loose();
  const std::lock_guard lock(mutex_);
  if (flow_) {
    const u32 stage = flow_->claim(hand);
    if (stage == Flow::none) return std::nullopt;
    const u32 item = region_.item + stage;
    return Share{course_.items(item, item + 1), {stage, 1}};
  }
  const BranchSet::Run run = queue_.claim(hand);
  if (run.count == 0) return std::nullopt;
  const std::vector<u32>& items = queue_.order().items;
  return Share{course_.items(items[run.first], items[run.first + run.count]), run};
}

std::optional<Share> Wave::claim_loose() {
  u32 first = cursor_.load(std::memory_order_acquire);
  while (first < region_.item_end) {
    const u32 begin = course_.items(first, first).begin;
    const u32 nodes = std::max((region_.end - begin) / (2 * threads_), nodes_min_);
    const u32 last = begin + std::min(std::max(nodes, u32{1}), region_.end - begin) - 1;
    const u32 end = branch_end(first, course_.item_of(last));
    if (cursor_.compare_exchange_weak(first, end, std::memory_order_acq_rel)) {
      return Share{course_.items(first, end)};
    }
  }
  return std::nullopt;
}

bool Wave::finish(const Share& share) {
  if (!has_queue_ && !flow_) return false;
  bool follows = false;
  {
    const std::lock_guard lock(mutex_);
    if (flow_) {
      flow_->finish(share.run.first);
      const bool is_known = is_offered.load(std::memory_order_relaxed) && !flow_->has_pinned();
      follows = threads_ > 1 && !is_known && flow_->can_share();
    } else {
      follows = queue_.finish(share.run);
    }
  }
  tell();
  return follows;
}

void Wave::give_up(const Share& share) {
  if (flow_) {
    drop();
  } else {
    finish(share);
  }
}

void Wave::fail(const Share& share, Failure failure) {
  {
    const std::lock_guard lock(mutex_);
    std::optional<Failure>& first = failure.is_suspension ? suspension_ : failure_;
    bool is_first = !first || failure.node < first->node;
    if (flow_ && share.run.count == 0) {
      is_first = !first;
      flow_->drop();
    } else if (flow_) {
      is_first = flow_->end_badly(share.run.first);
    } else if (failure.is_suspension) {
      // Around steps, each share is one branch of a queue.
      queue_.block(share.run.first);
    } else {
      fail_here(share, failure.node);
    }
    if (is_first) first = std::move(failure);
  }
  tell();
}

void Wave::fail_here(const Share& share, u32 node) {
  const u32 behind = branch_end(std::max(share.region.item, region_.item), course_.item_of(node));
  if (has_queue_) {
    const u32 failed = queue_.order().number_of(course_.item_of(node));
    if (share.run.count > 0) queue_.finish({share.run.first, failed + 1 - share.run.first});
    queue_.drop_from(failed + 1);
  } else {
    cursor_.store(region_.item_end, std::memory_order_release);
  }
  drop_from(course_.items(behind, behind).begin);
}

void Wave::drop() {
  {
    const std::lock_guard lock(mutex_);
    if (has_queue_) queue_.drop_from(0);
    if (flow_) flow_->drop();
    cursor_.store(region_.item_end, std::memory_order_release);
    drop_from(region_.begin);
  }
  tell();
}

void Wave::drop_from(u32 node) {
  dropped_from_.store(std::min(node, dropped_from_.load(std::memory_order_relaxed)),
                      std::memory_order_relaxed);
}

bool Wave::can_share() {
  if (!has_queue_ && !flow_) return cursor_.load(std::memory_order_relaxed) < region_.item_end;
  const std::lock_guard lock(mutex_);
  return flow_ ? flow_->can_share() : queue_.can_share();
}

bool Wave::is_over() {
  if (!has_queue_ && !flow_) return cursor_.load(std::memory_order_relaxed) >= region_.item_end;
  const std::lock_guard lock(mutex_);
  return flow_ ? flow_->is_over() : queue_.is_over();
}

std::optional<Wave::Failure> Wave::take_failure() {
  const std::lock_guard lock(mutex_);
  std::optional<Failure>& first = failure_ ? failure_ : suspension_;
  return std::exchange(first, std::nullopt);
}

// ---- Promises

u32 Wave::missing_hands(bool owner_is_free) {
  const std::lock_guard lock(mutex_);
  return has_queue_ ? queue_.missing_hands(owner_is_free) : 0;
}

u32 Wave::idle_branches(bool owner_is_free) {
  const std::lock_guard lock(mutex_);
  return has_queue_ ? queue_.idle_branches(owner_is_free) : 0;
}

void Wave::promise(u32 hands) {
  const std::lock_guard lock(mutex_);
  queue_.promise(hands);
}

void Wave::withdraw(u32 hands) {
  const std::lock_guard lock(mutex_);
  queue_.withdraw(hands);
}

// ---- Waiting

void Wave::leave() {
  if (inside_.fetch_sub(1, std::memory_order_acq_rel) == 1) tell();
}

void Wave::tell() {
  changes_.fetch_add(1);
  if (owner_sleeps_.load()) futex_wake_all(changes_);
}

void Wave::await_change(u32 seen, i64 longest_ns) {
  constexpr i64 spin_ns = 50'000, yield_ns = 200'000;
  Spin spin(spin_ns, yield_ns);
  while (changes() == seen) {
    if (spin.wait()) continue;
    owner_sleeps_.store(true);
    if (changes_.load() == seen) futex_wait_for(changes_, seen, longest_ns);
    owner_sleeps_.store(false);
    return;
  }
}

}  // namespace soma
