// Proves that the clock by ticks tells the system's time: at once, after long pauses, never back.
#include "base/tick_clock.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

using namespace soma;

namespace {

constexpr i64 trusted_after_ns = 10'000'000;

void await(i64 until_ns) {
  while (now_ns() < until_ns) std::this_thread::yield();
}

// How far the clock is from the system's, both asked without a pause in between: the least of some
// tries, as the thread may be interrupted between the two.
i64 error_ns(TickClock& clock) {
  i64 least_ns = INT64_MAX;
  for (int i = 0; i < 200; ++i) {
    const i64 before_ns = now_ns();
    const i64 told_ns = clock.now_ns();
    const i64 after_ns = now_ns();
    const i64 outside_ns = std::max({before_ns - told_ns, told_ns - after_ns, i64{0}});
    least_ns = std::min(least_ns, outside_ns);
  }
  return least_ns;
}

}  // namespace

TEST_CASE("the time is the system's, from the first look on and after any pause") {
  const TickOrigin since = TickOrigin::here();
  TickClock clock(since);
  CHECK(error_ns(clock) == 0);              // the system's own
  await(since.at_ns + trusted_after_ns);
  CHECK(error_ns(clock) < 1'000);           // from here on by the counter
  for (const i64 pause_ns : {200'000, 900'000, 1'100'000, 30'000'000}) {
    await(now_ns() + pause_ns);
    CHECK(error_ns(clock) < 1'000);
  }
}

TEST_CASE("time never goes back, whatever is looked at in between") {
  const TickOrigin since = TickOrigin::here();
  await(since.at_ns + trusted_after_ns);
  TickClock clock(since);
  i64 last_ns = 0;
  bool is_in_order = true;
  for (const i64 end_ns = now_ns() + 20'000'000; last_ns < end_ns;) {
    const i64 told_ns = clock.now_ns();
    is_in_order = is_in_order && told_ns >= last_ns;
    last_ns = told_ns;
  }
  CHECK(is_in_order);
}

TEST_CASE("without a counter to trust the system is asked") {
  for (const TickOrigin since : {TickOrigin{}, TickOrigin{~u64{0} / 2, now_ns() - 1'000'000'000}}) {
    TickClock clock(since);
    CHECK(error_ns(clock) == 0);
  }
}
