// Proves when work is told to stop: asked, out of time, or by the tick; and the tick's pace.
#include "base/cancel.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>

#include "base/clock.hpp"

using namespace soma;

namespace {

struct Seen {
  int calls = 0;
  bool goes_on = true;
  std::string phase;
  u64 done = 0, total = 0;

  static bool tick(void* user, const char* phase, u64 done, u64 total) {
    auto& seen = *static_cast<Seen*>(user);
    ++seen.calls;
    seen.phase = phase;
    seen.done = done;
    seen.total = total;
    return seen.goes_on;
  }
};

}  // namespace

TEST_CASE("a request stops until it is taken back") {
  Cancel cancel;
  CHECK(cancel.check().ok());
  std::thread([&] { cancel.request(); }).join();
  CHECK(cancel.check().error().reason() == Reason::cancelled);
  CHECK(cancel.requested());
  cancel.reset();
  CHECK(cancel.check().ok());
}

TEST_CASE("a deadline stops when it has passed") {
  Cancel cancel;
  cancel.set_deadline(now_ns() + 3'600'000'000'000);
  CHECK(cancel.check().ok());
  cancel.set_deadline(now_ns() - 1);
  CHECK(cancel.check().error().reason() == Reason::deadline);
  cancel.reset();
  CHECK(cancel.check().ok());
}

TEST_CASE("the tick comes every 20 ms, knows how far the work is, and may stop it") {
  Cancel cancel;
  Seen seen;
  cancel.set_tick({Seen::tick, &seen});
  cancel.report("pack", 3, 8);
  CHECK(cancel.check().ok());
  CHECK(seen.calls == 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(25));
  for (int i = 0; i < 100; ++i) CHECK(cancel.check().ok());
  CHECK(seen.calls == 1);
  CHECK(seen.phase == "pack");
  CHECK(seen.done == 3);
  CHECK(seen.total == 8);
  seen.goes_on = false;
  std::this_thread::sleep_for(std::chrono::milliseconds(25));
  CHECK(cancel.check().error().reason() == Reason::cancelled);
  CHECK(cancel.check().error().reason() == Reason::cancelled);
  CHECK(seen.calls == 2);
}
