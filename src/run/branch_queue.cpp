// Hands out branches so that those that may wait for each other really run at the same time.
//
// A hand on its way (promised) has been summoned for a branch that waits, or, under launch=always,
// for any: so many branches are kept for such hands, and the others go to whoever asks first. The
// lowest branch goes first, so that an error early in the plan is found early. Where nobody needs a
// thread for one branch, neighbours that can all begin are handed out together, as many as make a
// thread's part of what is ready.
#include "run/branch_queue.hpp"

#include <algorithm>
#include <bit>

namespace soma {

// ---- Sets

void BranchSet::reset(u32 branches) {
  words_.assign((size_t{branches} + 63) / 64, 0);
  lowest_ = words_.size();
  size_ = 0;
}

void BranchSet::add(u32 branch) {
  words_[branch / 64] |= u64{1} << branch % 64;
  lowest_ = std::min(lowest_, size_t{branch / 64});
  ++size_;
}

u32 BranchSet::lowest() {
  while (words_[lowest_] == 0) ++lowest_;
  return static_cast<u32>(lowest_ * 64) + static_cast<u32>(std::countr_zero(words_[lowest_]));
}

BranchSet::Run BranchSet::take(u32 most) {
  const u32 first = lowest();
  u32 count = 0;
  while (count < most && first + count < words_.size() * 64) {
    const u32 branch = first + count;
    const u64 bit = u64{1} << branch % 64;
    if ((words_[branch / 64] & bit) == 0) break;
    words_[branch / 64] &= ~bit;
    ++count;
  }
  size_ -= count;
  return {first, count};
}

void BranchSet::remove_from(u32 branch) {
  for (size_t word = branch / 64; word < words_.size(); ++word) {
    const u64 kept = word == branch / 64 ? (u64{1} << branch % 64) - 1 : 0;
    size_ -= static_cast<u32>(std::popcount(words_[word] & ~kept));
    words_[word] &= kept;
  }
}

// ---- Order

BranchOrder::BranchOrder(const Plan& plan, u32 item) {
  plan.each_child(item, [this](u32 child) { items.push_back(child); });
  items.push_back(plan.items[item].end);
  waits_for.assign(size(), 0);
  const bool is_dataflow = plan.items[item].variant == Variant::Dataflow;
  if (is_dataflow) after = &plan.dataflows[plan.items[item].detail];
  for (u32 branch = 0; branch < size(); ++branch) {
    if (after) waits_for[branch] = static_cast<u32>((*after)[branch].size());
    if (waits_for[branch] == 0) first_ready.push_back(branch);
  }
  if (!after) return;
  first_follower.assign(size_t{size()} + 1, 0);
  for (const std::vector<u32>& all : *after) {
    for (const u32 before : all) ++first_follower[before + 1];
  }
  for (size_t i = 1; i < first_follower.size(); ++i) first_follower[i] += first_follower[i - 1];
  followers.resize(first_follower.back());
  std::vector<u32> at(first_follower.begin(), first_follower.end() - 1);
  for (u32 branch = 0; branch < size(); ++branch) {
    for (const u32 before : (*after)[branch]) followers[at[before]++] = branch;
  }
}

u32 BranchOrder::number_of(u32 item) const {
  return static_cast<u32>(std::ranges::upper_bound(items, item) - items.begin()) - 1;
}

// ---- The queue

// What lies before the first branch is done. Most queues begin with their wave: what that is like
// was found out once, as the threads that are to help wait meanwhile, and not for long.
void BranchQueue::begin(const BranchOrder& order, const Terms& terms) {
  order_ = &order;
  terms_ = terms;
  waits_for_ = order.waits_for;
  for (BranchSet* set : {&pinned_, &waiting_, &others_}) set->reset(order.size());
  pinned_waiting_ = promised_ = 0;
  unfinished_ = terms.end - terms.first;
  const auto begin = [this, &terms](u32 branch) {
    const bool has_begun = terms.is_begun && branch == terms.first;
    if (waits_for_[branch] == 0 && !has_begun) make_ready(branch);
  };
  if (terms.first == 0 && terms.end == order.size()) {
    for (const u32 branch : order.first_ready) begin(branch);
    return;
  }
  for (u32 branch = terms.first; branch < terms.end; ++branch) {
    if (order.after) {
      for (const u32 before : (*order.after)[branch]) waits_for_[branch] -= before < terms.first;
    }
    begin(branch);
  }
}

void BranchQueue::make_ready(u32 branch) {
  const u8 has = traits(branch);
  if ((has & has_pinned) != 0) {
    pinned_.add(branch);
    pinned_waiting_ += (has & has_waits) != 0;
  } else if ((has & has_waits) != 0) {
    waiting_.add(branch);
  } else {
    others_.add(branch);
  }
}

// Those that no promised hand will take.
u32 BranchQueue::free_branches() const {
  const u32 ready = waiting_.size() + others_.size();
  return ready - std::min(ready, promised_);
}

BranchSet::Run BranchQueue::claim(Hand hand) {
  if (hand == Hand::Summoned) {
    if (promised_ == 0) return {none, 0};
    --promised_;
    if (!waiting_.empty()) return waiting_.take(1);
    return others_.empty() ? BranchSet::Run{none, 0} : others_.take(1);
  }
  if (hand == Hand::Caller && !pinned_.empty()) return pinned_.take(1);
  const u32 free = free_branches();
  if (free == 0) return {none, 0};
  if (others_.empty()) return waiting_.take(1);
  return others_.take(terms_.one_by_one ? 1 : std::max(free / (2 * terms_.threads), u32{1}));
}

bool BranchQueue::finish(BranchSet::Run run) {
  bool follows = false;
  for (u32 branch = run.first; branch < run.first + run.count; ++branch) {
    if (waits_for_[branch] == finished) continue;
    waits_for_[branch] = finished;
    --unfinished_;
    if (!order_->after) continue;
    for (u32 i = order_->first_follower[branch]; i < order_->first_follower[branch + 1]; ++i) {
      const u32 follower = order_->followers[i];
      if (follower >= terms_.end || waits_for_[follower] == finished) continue;
      if (--waits_for_[follower] != 0) continue;
      make_ready(follower);
      follows = true;
    }
  }
  return follows;
}

// What comes after it was never made ready, as it waits for this one.
void BranchQueue::block(u32 branch) {
  std::vector<u32> open = {branch};
  while (!open.empty()) {
    const u32 one = open.back();
    open.pop_back();
    if (waits_for_[one] == finished) continue;
    waits_for_[one] = finished;
    --unfinished_;
    if (!order_->after) continue;
    for (u32 i = order_->first_follower[one]; i < order_->first_follower[one + 1]; ++i) {
      if (order_->followers[i] < terms_.end) open.push_back(order_->followers[i]);
    }
  }
}

void BranchQueue::drop_from(u32 branch) {
  for (u32 one = std::max(branch, terms_.first); one < terms_.end; ++one) {
    if (waits_for_[one] == finished) continue;
    waits_for_[one] = finished;
    --unfinished_;
  }
  for (BranchSet* set : {&pinned_, &waiting_, &others_}) set->remove_from(branch);
}

// If the caller is to run a branch that waits, the others need a hand that does not.
u32 BranchQueue::missing_hands(bool owner_is_free) const {
  u32 hands = waiting_.size();
  if (hands > 0 && owner_is_free && pinned_.empty() && others_.empty()) --hands;
  if (pinned_waiting_ > 0 && !others_.empty()) ++hands;
  return hands - std::min(hands, promised_);
}

u32 BranchQueue::idle_branches(bool owner_is_free) const {
  const u32 free = free_branches();
  return owner_is_free && pinned_.empty() && free > 0 ? free - 1 : free;
}

}  // namespace soma
