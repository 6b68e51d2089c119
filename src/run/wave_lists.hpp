// Lists of waves in which nothing is searched for: each wave knows its place in them.
#pragma once

#include <vector>

#include "run/wave.hpp"

namespace soma {

// In no order.
template <u32 Wave::*place>
class WaveBag {
 public:
  bool empty() const { return waves_.empty(); }
  Wave& last() const { return *waves_.back(); }
  auto begin() const { return waves_.begin(); }
  auto end() const { return waves_.end(); }
  void reserve(size_t waves) { waves_.reserve(waves); }

  // There is room for it, or it is there already.
  void add(Wave& wave) {
    if (wave.*place != Wave::nowhere) return;
    wave.*place = static_cast<u32>(waves_.size());
    waves_.push_back(&wave);
  }
  void remove(Wave& wave) {
    if (wave.*place == Wave::nowhere) return;
    waves_.back()->*place = wave.*place;
    waves_[wave.*place] = waves_.back();
    waves_.pop_back();
    wave.*place = Wave::nowhere;
  }

 private:
  std::vector<Wave*> waves_;
};

// Those in which there may be work, in the order of the plan: so all that lie within a part of it
// are neighbours, and the first is an outer one. Who looks for work removes what has none any more,
// so looks together cost no more than all that was ever added.
class WaveRow {
 public:
  // Makes the wave's node, so that adding can't fail.
  void prepare(Wave& wave) { wave.row_node = waves_.extract(waves_.emplace(0, &wave)); }
  void add(Wave& wave) {
    if (wave.row_node.empty()) return;
    wave.row_node.key() = wave.region().item;
    wave.row_place = waves_.insert(std::move(wave.row_node));
    wave.is_offered.store(true, std::memory_order_relaxed);
  }
  void remove(Wave& wave) {
    if (wave.row_node.empty()) wave.row_node = waves_.extract(wave.row_place);
    wave.is_offered.store(false, std::memory_order_relaxed);
  }
  // The first with work of those that begin in items [item, item_end).
  Wave* first(u32 item = 0, u32 item_end = Wave::nowhere) {
    for (auto at = waves_.lower_bound(item); at != waves_.end() && at->first < item_end;) {
      Wave& wave = *at->second;
      // First, so that who makes work from now on offers it, or it is seen here.
      wave.is_offered.store(false, std::memory_order_relaxed);
      if (wave.can_share()) {
        wave.is_offered.store(true, std::memory_order_relaxed);
        return &wave;
      }
      ++at;
      remove(wave);
    }
    return nullptr;
  }

 private:
  Wave::Row waves_;                // by where they begin
};

}  // namespace soma
