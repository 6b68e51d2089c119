// When a run will have ended, as far as that can be said.
#pragma once

#include "plan/plan.hpp"
#include "run/observe.hpp"

namespace soma {

// Hears a run's events in their order, one call at a time, and keeps what it learns for the next
// execution. Allocates when it is made, and never after that.
class Forecast {
 public:
  // `threads`: how many the run has at most; 0: as many as it can use.
  Forecast(const Plan& plan, u64 threads);
  Forecast(const Forecast&) = delete;
  Forecast& operator=(const Forecast&) = delete;
  ~Forecast();

  // An execution begins. What a journal has may be read where it was computed before, so times of
  // what it records say nothing.
  void begin(bool has_journal);
  void hear(const Event& event);
  // How long until the end, seen at this time; nothing, if something is not known of what is left.
  // Looks anew if the last look is long enough ago, and else counts on.
  std::optional<i64> eta_ns(i64 at_ns);

  // So far apart are two looks, at least; of large plans farther, so that looking, which takes some
  // 20 ns an item, takes no more than a hundredth of the time.
  static constexpr i64 interval_ns = 100'000'000;
  static constexpr i64 interval_per_item_ns = 2'000;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace soma
